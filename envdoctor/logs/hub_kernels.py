"""Kernels that the package kernels fetches ready built from the hub, of which there is none for this torch and machine.

The name of a build says for what: ``torch29-cxx11-cu128-x86_64-linux`` (kernels/utils.py of 0.9.0 and 0.11.0, variants.py of 0.17.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.clap_messages import COMMAND_LINE

_LACKS = re.compile(
    r"[Kk]ernel (?:at path )?`(?P<where>[^`\n]{2,400})`.{0,80}? does not have (?:one of )?build(?: variants?)?:? ?"
    r"(?P<builds>[\w.,\- ]{4,300})"
    r"|Cannot find a build variant for this system in (?P<there>[^\s:]{2,400})"
)
_REPOSITORY = re.compile(r"models--(?P<owner>[\w.-]{1,60}?)--(?P<name>[\w.-]{1,80}?)(?=/|$)")
_BUILD = re.compile(
    r"torch(?P<major>\d)(?P<minor>\d{1,2})(?:-cxx\d\d)?-(?P<device>cpu|cu\d{2,3}|rocm\d{2,3}|xpu\w{0,12}|metal\w{0,6}|cann\w{0,8})"
    r"-(?P<machine>x86_64|aarch64|arm64)-(?P<system>linux|windows|darwin)"
)
_ITSELF = "build it for this machine as its page on the hub says, and import that in place of get_kernel()"


def judge_kernels(lines: Sequence[tuple[int, str]], facts: Facts) -> tuple[Hit, int, str] | None:
    """For what the kernel was asked that has no such build; None where no line says so."""
    for number, line in lines:
        if (found := _LACKS.search(line)) is None:
            continue
        where = found["where"] or found["there"]
        owner = _REPOSITORY.search(where)
        name = f"{owner['owner']}/{owner['name']}" if owner is not None else where
        build = _BUILD.search(found["builds"] or "")
        why, way = _tell(build, facts) if build is not None else _untold(facts)
        headline = f"The hub has no build of the kernel {name} for this torch and machine"
        detail = f"asked for was {build[0]}: {why}" if build is not None else why
        hit = Hit(COMMAND_LINE, True, (), detail=detail, packages=("kernels",), edge=f"kernels:{name}"[:120], headline=headline, advice=way)
        return hit, number, line.strip()[:300]
    return None


def _tell(build: re.Match[str], facts: Facts) -> tuple[str, str]:
    plain = "the model's own attention (attn_implementation='sdpa', or the project's setting for scaled_dot_product_attention) does without"
    release = f"{build['major']}.{build['minor']}"
    if build["device"] == "cpu":
        return (
            "the torch that ran is a build for the CPU, and such kernels are built for GPUs",
            f"a torch for CUDA where there is an NVIDIA GPU (torch.version.cuda is None now); without one {plain}",
        )
    if build["machine"] != "x86_64" and build["system"] == "linux":
        return (
            f"the machine is {build['machine']}, and many kernels are built for x86_64 alone",
            f"the folder build/ of its repository lists what there is; {_ITSELF}; or {plain}",
        )
    if build["system"] != "linux":
        return (
            f"the system is {build['system']}, and most kernels are built for Linux alone",
            f"the folder build/ of its repository lists what there is; on Windows WSL2; or {plain}",
        )
    return (
        f"the torch that ran is {release} for {build['device']}: each build is for one torch and one CUDA, and none is for these",
        f"the folder build/ of its repository lists them (torch29-cxx11-cu128 is torch 2.9 for CUDA 12.8): take a torch of one of these, a "
        f"later revision of the kernel where this torch is newer than all, or {plain}",
    )


def _untold(facts: Facts) -> tuple[str, str]:
    machine = facts.text("machine") or ""
    return (
        "its builds are for some torch, CUDA, processor and system each, and what is here is not among them"
        + (f" ({machine})" if machine else ""),
        f"the lines below, and the folder build/ of its repository, list what there is: take a torch of one of these; {_ITSELF}",
    )
