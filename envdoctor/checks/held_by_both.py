"""A companion that two stated releases ask for in different releases: whichever it becomes, one of them goes without."""

from __future__ import annotations

from envdoctor.checks.declared_together import agreeing, compatible, demands_hold
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.records import replace
from envdoctor.world.releases import as_of, release_texts

_PACKAGE = "packages."


def with_who_holds_it(facts: Facts, hit: Hit, stated: dict[str, Exact], wanted: str) -> Hit:
    """An unmet requirement with the stated release that requires just what is there, where no release suits both."""
    from envdoctor.world.dependencies import dependencies

    by, other = hit.packages[:2]
    found = stated.get(other)
    if found is None or not hit.detail:
        return hit
    for name, value in stated.items():
        for one in () if name in (by, other) or "+" in value.text else dependencies(name, value.text) or ():
            if one.name != other or not one.specifier or not demands_hold(facts, one.marker):
                continue
            if version_condition(one.specifier).admits(found) and not compatible(other, one.specifier, wanted, release_texts(other)):
                sides = ((by, one.specifier), (name, wanted))
                pins = tuple((package, fitting) for package, against in sides if (fitting := agreeing(package, other, against, as_of())))
                return replace(
                    hit,
                    because=(*hit.because, (f"{_PACKAGE}{name}", f"requires {other}{one.specifier}")),
                    detail=f"{by} {stated[by]} requires {other}{wanted}, and {name} {value} requires {other}{one.specifier}: "
                    f"{other} {found} is stated, and no release suits both",
                    packages=(by, name, other),
                    pins=pins,
                    by_hand=f"{_apart(by, name)}, or tell the installer which {other} to take (uv: override-dependencies)",
                    headline=f"{by} and {name} require different releases of {other}",
                )
    return hit


def _apart(one: str, other: str) -> str:
    return f"install {one} and {other} in environments of their own"


__all__ = ["with_who_holds_it"]
