"""Packages whose compiled part is for another torch than the one that is there, though no metadata says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.built_for_torch import BuiltFor, built_for, minors_in_label, packages
from envdoctor.world.releases import release_texts

FAILS = "built-for-another-torch"
IDLE = "compiled-part-for-another-torch"

_PACKAGE = "packages."
# Nobody but OpenMMLab's packages, which the atlas does not have, loads them: a script all of whose imports it has does not.
_OF_OPENMMLAB = ("mmcv", "mmcv-full")
_ITS_INDEX = (
    "its wheels are on OpenMMLab's index alone (-f https://download.openmmlab.com/mmcv/dist/cuXXX/torchX.Y/index.html, with the CUDA and "
    "the torch that are there): what the package index has is compiled from source"
)
_PYTORCH_LABEL = re.compile(r"(?:cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu)?", re.ASCII)


def built_for_torch(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that was compiled for a torch other than the stated one.

    A torch that somebody built by themselves, or before its release, is like none of PyTorch's; and of a package that has a label of its
    own only what this one says of torch is known.
    """
    torch = facts.value(f"{_PACKAGE}torch")
    if not isinstance(torch, Exact) or torch.key is None:
        return ()
    public, _, label = torch.text.partition("+")
    if not _PYTORCH_LABEL.fullmatch(label.lower()):
        return ()
    return tuple(_hits(facts, exact(public)))


def _hits(facts: Facts, torch: Exact) -> Iterator[Hit]:
    unused = facts.value(NOT_LOADED)
    for fact_name, fact in facts.by_name.items():
        if not isinstance(fact.value, Exact) or not fact_name.startswith(_PACKAGE):
            continue
        if isinstance(unused, tuple) and fact_name.removeprefix(_PACKAGE) in (*unused, *_OF_OPENMMLAB):
            continue
        name, label = fact_name.removeprefix(_PACKAGE), fact.value.text.partition("+")[2]
        if label:
            minors = minors_in_label(label)
            if minors and (torch.key or ())[:2] not in minors:
                yield _of_label(facts, name, fact.value, minors[0])
        elif name in packages():
            row = next((row for row in built_for(name) if version_condition(row.releases).admits(fact.value)), None)
            if row is not None and not version_condition(row.torch).admits(torch):
                yield _of_row(facts, name, fact.value, row)


def _of_row(facts: Facts, name: str, release: Exact, row: BuiltFor) -> Hit:
    torch = facts[f"{_PACKAGE}torch"].value
    public = exact(str(torch).partition("+")[0])
    fitting = " || ".join(one.releases for one in built_for(name) if version_condition(one.torch).admits(public))
    pins = ((name, fitting),) if fitting else ()
    pins = (*pins, ("torch", row.torch)) if _was_released(row.torch) else pins
    return _hit(facts, name, release, row.words, pins, rule=FAILS if row.fails else IDLE)


@lru_cache(maxsize=64)
def _was_released(torch: str) -> bool:
    """Whether there is a torch that a build was made for: some were made for one before its release."""
    wanted = version_condition(torch)
    return any(wanted.admits(exact(text)) for text in release_texts("torch"))


def _of_label(facts: Facts, name: str, release: Exact, minor: tuple[int, int]) -> Hit:
    first, second = minor
    return _hit(facts, name, release, f"{first}.{second}", (("torch", f">={first}.{second},<{first}.{second + 1}"),), rule=FAILS)


def _hit(facts: Facts, name: str, release: Exact, words: str, pins: tuple[tuple[str, str], ...], *, rule: str) -> Hit:
    torch = facts[f"{_PACKAGE}torch"].value
    place = facts[f"{_PACKAGE}{name}"].origin
    return Hit(
        rule,
        True,
        ((f"{_PACKAGE}{name}", f"compiled for torch {words}"), (f"{_PACKAGE}torch", f"not {words}")),
        detail=f"{name} {release} was compiled for torch {words}, and torch {torch} is stated",
        packages=(name, "torch"),
        pins=pins,
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        by_hand=_ITS_INDEX if name in _OF_OPENMMLAB else "",
        headline=f"{name} {release} was compiled for torch {words}, not for {torch}",
    )


CHECKS = (built_for_torch,)
