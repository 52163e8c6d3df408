"""Packages that exist only in these tests, with a handful of releases each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.remedies import candidates
from envdoctor.rules.conditions import parse_condition
from envdoctor.rules.rule import Fix, Rule
from envdoctor.world.releases import Release


def release(version: str, *, yanked: bool = False, python: str | None = None) -> Release:
    return Release(version, "2024-01-01", yanked, python, True)


UNIVERSE: Mapping[str, tuple[Release, ...]] = {
    "alpha": tuple(release(version) for version in ("1.0", "1.1", "1.2", "2.0", "2.1")),
    "beta": (release("0.1"), release("0.2"), release("0.3", yanked=True), release("0.4"), release("0.5", python=">=3.11")),
    "gamma": (release("3.0"), release("3.1"), release("4.0")),
}


def known(package: str) -> tuple[str, ...]:
    """The versions of a package's releases, oldest first, yanked ones too."""
    return tuple(one.version for one in UNIVERSE.get(package, ()))


@contextmanager
def invented(packages: Mapping[str, tuple[Release, ...]] = UNIVERSE) -> Iterator[None]:
    """Within, these are the only releases that exist."""
    candidates._installable.cache_clear()
    with patch.object(candidates, "releases", lambda package: packages.get(package, ())):
        yield
    candidates._installable.cache_clear()


def stated(facts: Mapping[str, object], *, closed: bool = False) -> Facts:
    return Facts({name: Fact(name, parse_value(name, raw), Origin("test")) for name, raw in facts.items()}, closed)


def rule(name: str, affected: Mapping[str, object] | None, *fixes: Fix) -> Rule:
    return Rule(
        id=name,
        title="A title",
        severity="error",
        effect="crash",
        confidence="cited",
        details="Why.",
        condition=None if affected is None else parse_condition(affected),
        packages=tuple(text.split()[0] for text in (affected or {}).get("packages", [])),  # type: ignore[attr-defined]
        fixes=fixes,
    )
