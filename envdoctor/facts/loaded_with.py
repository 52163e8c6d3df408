"""What a script loads with some releases of a package alone: a Trainer that a call of trl, or a fit(), makes from a release on.

The fact ``loaded_with`` keeps it as ``trainer-made: trl >=0.12``. Where another release is asked about, ``not_loaded`` is told anew by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Fact, Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.facts.vocabulary import LOADED_WITH, NOT_LOADED
from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class LoadedWith:
    """What ``not_loaded`` does not name where this release of a package is there."""

    name: str
    package: str
    releases: str

    def __str__(self) -> str:
        return f"{self.name}: {self.package} {self.releases}"


def loaded_with(facts: Facts) -> Iterator[LoadedWith]:
    """What releases of packages load beside what any release does."""
    rows = facts.value(LOADED_WITH)
    for row in rows if isinstance(rows, tuple) else ():
        name, _, wanted = str(row).partition(": ")
        package, _, releases = wanted.partition(" ")
        yield LoadedWith(name, package, releases)


def with_what_is_loaded(facts: Facts) -> Facts:
    """The facts, ``not_loaded`` being what the stated releases do not load."""
    rows, idle = list(loaded_with(facts)), facts.value(NOT_LOADED)
    if not rows or not isinstance(idle, tuple):
        return facts
    loaded = {row.name for row in rows if _is_there(facts, row)}
    named = dict.fromkeys(row.name for row in rows)
    told = (*(one for one in idle if one not in named), *(name for name in named if name not in loaded))
    return facts.with_facts([Fact(NOT_LOADED, told, facts[NOT_LOADED].origin)])


def _is_there(facts: Facts, row: LoadedWith) -> bool:
    release = facts.value(f"packages.{row.package}")
    return isinstance(release, Exact) and version_condition(row.releases).admits(release)


__all__ = ["LoadedWith", "loaded_with", "with_what_is_loaded"]
