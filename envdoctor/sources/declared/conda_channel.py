"""Which channel conda takes torch from: the builds of PyTorch's own, the last of which is 2.5.1, set MKL no upper bound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envdoctor.facts.histories import satisfiable
from envdoctor.sources.declared.conda_spec import MatchSpec, on_pypi
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import release_texts

TORCH_OF_ITS_CHANNEL = "pytorch::torch"
"""What the fact ``present`` has beside ``torch`` where conda takes it from PyTorch's channel."""

# They have torch themselves: what stands before PyTorch's channel gives its own.
_OTHERS = frozenset(("conda-forge", "defaults", "main", "anaconda", "intel", "esri", "fastchan"))
_ITS_BUILD = re.compile(r"py3\.\d{1,2}_(?:cuda|cpu)")


def is_of_its_channel(specs: Iterable[MatchSpec], channels: Sequence[str]) -> bool:
    """Whether torch, or a torchvision or torchaudio that brings it, comes from PyTorch's channel, as far as these leave no choice."""
    of_torch = [spec for spec in specs if on_pypi(spec.name) in ("torch", "torchvision", "torchaudio")]
    spec = next((one for one in of_torch if on_pypi(one.name) == "torch"), next(iter(of_torch), None))
    if spec is None:
        return False
    if spec.channel:
        return _named(spec.channel).startswith("pytorch")
    if spec.build and "*" not in spec.build:
        return _ITS_BUILD.match(spec.build) is not None
    first = next((name for name in map(_named, channels) if name.startswith("pytorch") or name in _OTHERS), "")
    return first.startswith("pytorch")


def brings_torch(specs: Iterable[MatchSpec], asked_of_pip: str | None) -> bool:
    """Whether pip is content with the torch that conda's torchvision brings; ``None`` is a torch from somewhere else."""
    for spec in specs:
        pin = re.fullmatch(r"==([0-9.]+)", spec.specifier or "")
        if spec.name == "torchvision" and pin is not None and asked_of_pip is not None:
            needs = next((one.specifier for one in dependencies("torchvision", pin[1]) or () if one.name == "torch"), "")
            return bool(needs) and satisfiable(",".join(filter(None, (needs, asked_of_pip))), release_texts("torch"))
    return False


def _named(channel: str) -> str:
    """``pytorch`` of ``https://conda.anaconda.org/pytorch/linux-64``."""
    parts = [part for part in re.sub(r"^https?://[^/]+", "", channel.lower()).split("/") if part]
    return next((part for part in parts if part not in ("t", "pkgs")), "")
