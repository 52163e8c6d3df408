"""What xformers prints when its kernels do not load: the torch that they are for, and the one that is there.

https://github.com/open-mmlab/PIA/issues/30 (a torch for the CPU), https://github.com/ashleykleynhans/runpod-worker-a1111/issues/21.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envdoctor.checks.hit import Hit
from envdoctor.world.dependencies import dependencies, versions

RUN = "error-of-the-run"
_PAGE = ("xformers-built-for-another-torch",)
_BUILT = re.compile(
    r"PyTorch (?P<built>\d[\d.]{2,12})(?:\+(?P<label>\w{2,12}))? with CUDA \d{3,5} "
    r"\(you have (?P<have>\d[\d.]{2,12})(?:\+(?P<other>\w{2,12}))?\)"
)


def judge_xformers(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[Hit, int, str]]:
    """The finding of the first such line, with the command for it."""
    found = next(((number, line, shown) for number, line in lines if (shown := _BUILT.search(line)) is not None), None)
    if found is None:
        return
    number, line, shown = found
    built, label, have, other = shown["built"], shown["label"] or "", shown["have"], shown["other"] or ""
    index = f" --index-url https://download.pytorch.org/whl/{label}" if label else ""
    if other == "cpu":
        headline = f"This torch is a build for the CPU, and xformers' kernels are for torch {built} with CUDA"
        advice = f'pip install --force-reinstall "torch=={built}"{index}, with the torchvision and torchaudio that go with it'
    else:
        headline = f"xformers' kernels are for torch {built}{f'+{label}' if label else ''}, and torch {have} is there"
        there = f" --index-url https://download.pytorch.org/whl/{other}" if other else ""
        back = f'pip install "torch=={built}"{index}, with the torchvision that goes with it'
        fitting = _release_for(have)
        advice = f'pip install --force-reinstall --no-deps "xformers=={fitting}"{there}; or {back}' if fitting else back
    detail = "xformers imports all the same and has no kernels: memory_efficient_attention finds no operator"
    hit = Hit(
        RUN, True, detail=detail, packages=("xformers", "torch"), edge="xformers:built-for", headline=headline, advice=advice, over=_PAGE
    )
    yield hit, number, line.strip()[:300]


def _release_for(torch: str) -> str:
    """The last release of xformers that was built for a torch, as its metadata has it; empty where none was."""
    return next(
        (
            one
            for one in reversed(versions("xformers"))
            if any(asked.name == "torch" and str(asked.specifier) == f"=={torch}" for asked in dependencies("xformers", one) or ())
        ),
        "",
    )
