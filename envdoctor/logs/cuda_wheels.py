"""Which distribution of NVIDIA's brings a library of CUDA beside the torch that ran: its names follow the major of torch's CUDA.

The metadata of torch 2.8.0 to 2.13.0 on PyPI: up to 2.10 everything ends in -cu12; from 2.11 on cuDNN, NCCL, cuSPARSELt and NVSHMEM end in
-cu13, and the rest (cuda-toolkit, nvidia-cublas) has no ending.
"""

from __future__ import annotations

import re

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.world.dependencies import dependencies

_ENDING_IN_13 = frozenset(("nvidia-cudnn", "nvidia-nccl", "nvidia-cusparselt", "nvidia-nvshmem"))
_USUAL = "12"


def wheel_beside_torch(library: str, facts: Facts) -> str:
    """The distribution of ``nvidia-nccl`` and its like for the stated torch."""
    major = _major(facts)
    return library if int(major) >= 13 and library not in _ENDING_IN_13 else f"{library}-cu{major}"


def _major(facts: Facts) -> str:
    torch, cuda = facts.value("packages.torch"), facts.value("cuda")
    if isinstance(torch, Exact):
        if (label := re.search(r"\+cu(\d\d)\d", torch.text)) is not None:
            return label[1]
        required = dependencies("torch", torch.text.partition("+")[0]) or ()
        return next((one.name[-2:] for one in required if re.fullmatch(r"nvidia-[\w-]+-cu\d\d", one.name)), _USUAL)
    toolkit = re.match(r"(1[1-9])\.", cuda.text) if isinstance(cuda, Exact) else None
    return toolkit[1] if toolkit is not None else _USUAL
