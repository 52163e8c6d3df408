"""Companions that a package compares when it is imported, and does not declare: OpenMMLab's packages and jax."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.checks.refused_at_import import BY_ANOTHER
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.asserted_ranges import asserted_ranges, asserting_packages, releases_that_admit

_PACKAGE = "packages."


def asserted_at_import(facts: Facts) -> tuple[Hit, ...]:
    """Every stated companion that lies outside the range which a stated release asserts."""
    return tuple(_hits(facts))


def _hits(facts: Facts) -> Iterator[Hit]:
    unused = facts.value(NOT_LOADED)
    for fact_name in [name for name in facts.by_name if name.startswith(_PACKAGE)]:
        name, value = fact_name.removeprefix(_PACKAGE), facts.by_name[fact_name].value
        if name not in asserting_packages() or not isinstance(value, Exact):
            continue
        # Every import of the scripts is of a package that the atlas has read, and of these none loads OpenMMLab's.
        if isinstance(unused, tuple) and (name in unused or name != "jax"):
            continue
        for companions, told in asserted_ranges(name, value.text.partition("+")[0]):
            for companion in companions:
                found = facts.value(f"{_PACKAGE}{companion}")
                if isinstance(found, Exact) and not version_condition(told).admits(exact(found.text.partition("+")[0])):
                    yield _hit(facts, name, value, companion, found, told)


def _hit(facts: Facts, name: str, release: Exact, companion: str, found: Exact, told: str) -> Hit:
    place = facts[f"{_PACKAGE}{name}"].origin
    public = exact(found.text.partition("+")[0])
    admitting = [one for one, admits in releases_that_admit(name, companion).items() if version_condition(admits).admits(public)]
    ways = ((companion, told), *([(name, " || ".join(f"=={one}" for one in admitting))] if admitting else []))
    return Hit(
        BY_ANOTHER,
        True,
        ((f"{_PACKAGE}{name}", f"asserts {companion}{told}"), (f"{_PACKAGE}{companion}", f"not {told}")),
        detail=f"{name} {release} asserts {companion}{told} when it is imported, and {companion} {found} is stated",
        packages=(name, companion),
        pins=ways,
        file=place.file,
        line=place.line,
        yields=True,
        edge=f"{name}:{companion}",
        headline=f"{name} {release} refuses {companion} {found} when it is imported",
    )


CHECKS = (asserted_at_import,)
