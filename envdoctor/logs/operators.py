"""Operators that a package registers with torch, where one is not there: ``torchao::...``, ``torch.ops.sgl_kernel``."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.beside_stated import neighbours_in_words
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named
from envdoctor.world.import_names import package_of

_NAMED = (
    re.compile(r"\boperator (?P<space>\w{3,40})::(?P<name>\w{3,100}) does not exist"),
    re.compile(r"'_OpNamespace' '(?P<space>\w{3,40})' object has no attribute '(?P<name>\w{3,100})'"),
    re.compile(r"(?:Could not find|No such operator|Failed to find) (?:schema for )?(?P<space>\w{3,40})::(?P<name>\w{3,100})"),
    re.compile(r"Tried to register an operator \((?P<space>\w{3,40})::(?P<name>\w{3,100})"),
)
# By the name that each gives its operators: csrc/ of sgl-kernel, torchao/ops.py, torchvision/extension.py, xformers/ops/common.py, ...
_SPACES = {
    "torchao": "torchao", "sgl_kernel": "sgl-kernel", "torchvision": "torchvision", "torchaudio": "torchaudio", "xformers": "xformers",
    "xformers_flash": "xformers", "flash_attn": "flash-attn", "bitsandbytes": "bitsandbytes", "torchcodec_ns": "torchcodec",
    "vllm": "vllm", "mamba_ssm": "mamba-ssm", "fbgemm": "fbgemm-gpu", "auto_gptq": "auto-gptq", "auto_round": "auto-round",
}  # fmt: skip
# Who brings the kernels of another one, each release those of one release: python/pyproject.toml of sglang.
_BROUGHT_BY = {"sgl-kernel": "sglang"}


def judge_operator(failure: Failure, facts: Facts) -> Hit | None:
    """Whose an operator is that is not there; possible, as why it was not registered is not told."""
    found = next((one for pattern in _NAMED if (one := pattern.search(failure.told))), None)
    package = _SPACES.get(found["space"], "") if found is not None else ""
    if found is None or not package:
        return None
    name = found["name"]
    framed = (package_of(frame.package or "") for frame in reversed(failure.frames))
    raised = next((name for name in framed if name not in ("", "torch", package)), "")
    user = _BROUGHT_BY.get(package, "")
    stated = facts.value(f"packages.{user}") if user else None
    if stated is not None or raised == user:
        raised = user or raised
    detail = f"{name} is an operator of {describe(package, facts)}, and it was not registered when it was asked for"
    if raised:
        detail += f"; {describe(raised, facts)} is on the way to it"
    if (since := _in_releases(package, name)) and since:
        detail += f"; {since}"
    first, *beside = (one for one in (package, raised) if one)
    near = [words for one in (first, *beside) if (words := neighbours_in_words(one, facts))]
    asks = (
        f"that {raised} and torch ask for, built for this torch" if raised and raised != package else "that its page names for this torch"
    )
    advice = f"the {package} {asks}: python -c 'import {found['space']}' shows why its library does not load"
    if near:
        advice += f"; else {', or '.join(near)}"
    headline = f"An operator of {package} is not there: {found['space']}::{name}"
    return Hit("error-raised-by-package", None, (), detail=detail, packages=named(package, raised), edge=f"{package}:operator:{name}",
               headline=headline, advice=advice)  # fmt: skip


def _in_releases(package: str, name: str) -> str:
    """In which releases a package defines a function of that name, in words; empty where the atlas does not tell."""
    bound = open_package(package)
    if bound is None:
        return ""
    pattern = re.compile(rf"(?m)^f {re.escape(name)} ")
    there = 0
    where = ""
    for module, text in bound.modules(f"f {name} ", keep=False):
        if pattern.search(text) and (told := look_up(f"{module}:{name}")) is not None and (owner := owner_of(module)) is not None:
            there, where = there | told.there, where or module
            volume = owner.volume
    if not there or there == volume.all:
        return ""
    return f"{where} has a function of that name in {write(there, volume.releases)}"
