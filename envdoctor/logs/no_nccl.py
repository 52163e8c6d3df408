"""A torch without NCCL, where nobody says that the system is Windows: those for macOS, for CPUs and for some Jetsons have none either."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.tracebacks import Failure

RUN = "error-of-the-run"
# A page that is about Windows.
_OF_WINDOWS = ("windows-has-no-nccl",)
_SAYS = re.compile(r"Distributed package doesn'?t have NCCL")
_WINDOWS = re.compile(r"\b[A-Za-z]:[\\/]|\bwindows\b", re.IGNORECASE)
_MACOS = re.compile(r"/Users/|\bmacOS\b|\bdarwin\b|\bMPS\b", re.IGNORECASE)


def judge_no_nccl(failure: Failure, facts: Facts) -> Hit | None:
    """What it means that torch has no NCCL; None where it is Windows, of which a page knows more."""
    text = "\n".join((failure.told, *(frame.path for frame in failure.frames)))
    system = str(facts.value("os") or "")
    if not _SAYS.search(failure.told) or system == "windows" or (not system and _WINDOWS.search(text)):
        return None
    mac = system == "macos" or (not system and _MACOS.search(text) is not None)
    behind = (
        "torch for macOS is made without it"
        if mac
        else "it is in torch's CUDA builds for Linux alone: those for Windows, macOS and the CPU have none, nor have some for Jetson"
    )
    gloo = (
        "init_process_group(backend='gloo') in place of 'nccl' (ddp_backend='gloo' in TrainingArguments, process_group_backend='gloo' in "
    )
    advice = (
        f"{gloo}Lightning's DDPStrategy); or one process without torchrun; on Linux with an NVIDIA GPU a CUDA build of torch has it: "
        "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126"
    )
    if mac:
        advice = f"{gloo}Lightning's DDPStrategy); or one process without torchrun"
    return Hit(
        RUN, True, detail=behind, packages=("torch",), edge="torch:no-nccl", headline="This torch has no NCCL, which is asked for",
        advice=advice, over=_OF_WINDOWS,
    )  # fmt: skip
