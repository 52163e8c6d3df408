"""The CUDA of a torch without a label: that of the package index names no build, and requires one release of NVIDIA's runtime.

Where just that release of the runtime is beside it, it is the index's: torch from PyTorch's own index has a label.
"""

from __future__ import annotations

import re

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.world.dependencies import dependencies

# cuda-toolkit since torch 2.11.
_RUNTIME = ("nvidia-cuda-runtime", "cuda-toolkit")


def cuda_beside(facts: Facts, torch: Exact) -> tuple[str, str] | None:
    """The CUDA, and the package that says so; None for a torch with a label, and where no such runtime is stated."""
    if "+" in torch.text:
        return None
    for one in dependencies("torch", torch.text) or ():
        beside = facts.value(f"packages.{one.name}") if one.name.startswith(_RUNTIME) else None
        if isinstance(beside, Exact) and one.specifier == f"=={beside.text}":
            return ".".join(beside.text.split(".")[:2]), f"{one.name} {beside.text}"
    return None


def cuda_of_index_build(torch: Exact) -> str | None:
    """The CUDA of the package index's build of a release, for Linux; None for one with a label, and where its metadata does not say it."""
    if "+" in torch.text:
        return None
    named = (one.specifier for one in dependencies("torch", torch.text) or () if one.name.startswith(_RUNTIME))
    pin = next((found for text in named if (found := re.fullmatch(r"==(\d+\.\d+)(?:\.[\d.*]+)?", text)) is not None), None)
    return pin[1] if pin is not None else None
