"""Releases that their maintainers took back: an index keeps them for whoever names them, and gives them to nobody else (PEP 592)."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.checks.whole_lists import brought_otherwise
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.world.releases import yanked

YANKED = "release-yanked"

_PACKAGE = "packages."


def withdrawn(facts: Facts) -> tuple[Hit, ...]:
    """Every pinned or installed release that was yanked; a build with a label of its own is none of them, nor one of conda's."""
    hits = []
    by_conda = brought_otherwise(facts)
    for fact in facts.by_name.values():
        value = fact.value
        if not fact.name.startswith(_PACKAGE) or not isinstance(value, Exact):
            continue
        name = fact.name.removeprefix(_PACKAGE)
        reason = None if name in by_conda else yanked(name, value.text)
        if reason is not None:
            told = f'with the reason "{reason}"' if reason else "with no reason given"
            place = fact.origin
            hits.append(
                Hit(
                    YANKED,
                    True,
                    ((fact.name, "yanked"),),
                    detail=told,
                    packages=(name,),
                    pins=((name, f">{value}"), (name, f"<{value}")),
                    file=place.file,
                    line=place.line,
                    headline=f"{name} {value} was yanked by its maintainers",
                )
            )
    return tuple(hits)


CHECKS = (withdrawn,)
