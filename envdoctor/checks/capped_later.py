"""Stated releases that a later release of the same package excludes: what its authors ran into when the other one had come out.

trl 0.9.4 names no end for transformers; the next release of trl that names one asks for transformers below 4.47. Many such stacks run, and
some caps are mere caution: it is a sign, told where nothing else says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.checks.caps import learned
from envdoctor.checks.declared_together import agreeing, compatible
from envdoctor.checks.hit import Hit
from envdoctor.checks.stated_together import stated_releases
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import as_of, day_of, release_texts

RULE = "excluded-by-a-later-release"

_PACKAGE = "packages."
# Where something certain is told, a sign is not.
_UNLESS = ("import-breaks", "part-breaks", "declared-requirement-unmet")


def capped_later(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that names no end for another one, came before it, and was followed by a release that excludes it."""
    return tuple(_hits(facts))


def _hits(facts: Facts) -> Iterator[Hit]:
    stated = dict(stated_releases(facts))
    for name, value in stated.items():
        release = value.text.partition("+")[0]
        for cap, by in learned(name, release):
            if cap.marker or cap.name not in stated:
                continue
            public = stated[cap.name].text.partition("+")[0]
            if version_condition(cap.specifier).admits(exact(public)) or not _came_before(name, release, cap.name, public):
                continue
            if not _is_held_above(cap.name, cap.specifier, stated) and not _is_beside(cap.name, cap.specifier, public):
                yield _hit(facts, name, cap.name, cap.specifier, by)


def _is_held_above(other: str, cap: str, stated: Mapping[str, Exact]) -> bool:
    """Whether a stated release requires more than the cap allows: to follow the cap would break what is declared."""
    known = release_texts(other)
    demands = (one for name, value in stated.items() for one in dependencies(name, value.text.partition("+")[0]) or ())
    return any(one.name == other and not one.marker and not compatible(other, cap, one.specifier, known) for one in demands)


def _is_beside(other: str, cap: str, release: str) -> bool:
    """Whether a release is of the line that the cap ends in: it follows the newest of the day, and brings no break.

    protobuf refuses generated code from one major release to the next: tensorboardX 2.5.1 asks for 3.20.1 or older, and runs with 3.20.3.
    """
    same = 1 if other == "protobuf" else 2
    ends = ((found[1], found[2].split(".")) for found in re.finditer(r"(<=?)\s*(\d+(?:\.\d+)*)", cap))
    return any(
        len(end) > same
        and release.split(".")[:same] == end[:same]
        and (sign == "<=" or (other == "protobuf" and any(part != "0" for part in end[same:])))
        for sign, end in ends
    )


def _came_before(name: str, release: str, other: str, later: str) -> bool:
    first, second = day_of(name, release), day_of(other, later)
    return first is not None and second is not None and first < second


def _hit(facts: Facts, name: str, other: str, cap: str, by: str) -> Hit:
    release, found = facts[f"{_PACKAGE}{name}"].value, facts[f"{_PACKAGE}{other}"].value
    place = facts[f"{_PACKAGE}{name}"].origin
    fitting = agreeing(name, other, f"=={str(found).partition('+')[0]}", as_of())
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", f"{by} requires {other}{cap}"), (f"{_PACKAGE}{other}", f"not {cap}")),
        detail=f"{name} {release} names no end for {other}; {name} {by} does, with {other}{cap}, and {other} {found} is stated",
        packages=(name, other),
        pins=((other, cap), *([(name, fitting)] if fitting else [])),
        file=place.file,
        line=place.line,
        yields=True,
        unless=_UNLESS,
        edge=f"{name}:{other}",
        headline=f"{name} {by} excludes the stated {other}, which came after {name} {release}",
    )


CHECKS = (capped_later,)
