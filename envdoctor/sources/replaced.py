"""Which lines of a file are still believed where the stack has another release of a package than the file pins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.facts.fact import Fact
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.world.built_for_torch import built_for
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import release_texts

_PACKAGE = "packages."


def goes_with(
    fact: Fact, replaced: Mapping[str, Sequence[tuple[Fact, Fact]]], declared: Sequence[Fact], facts: Mapping[str, Fact], *, whole: bool
) -> bool:
    """Whether a declared fact is given up with the pins of its file that the stack replaces: by file, what it says and what is there.

    Pins of a file go together, with its Python. Where a ``whole`` stack is there, or more of the stated releases contradict a file than
    meet it, the file is about another stack. Where somebody states one release otherwise, an installer moved it, and with it what cannot
    stand beside it; the rest stays.
    """
    pairs = replaced.get(fact.origin.source)
    if pairs is None or not (fact.name == "python" or fact.name.startswith(_PACKAGE)):
        return False
    if whole or fact.name == "python":
        return True
    met = [one for one in declared if one.origin.source == fact.origin.source and _is_met(one, facts)]
    if len(pairs) > 1 and len(pairs) > len(met):
        return True
    return any(_excludes(fact, there) or _excludes(there, fact) for _, there in pairs)


def _is_met(declared: Fact, facts: Mapping[str, Fact]) -> bool:
    """Whether a line pins the very release that somebody else states."""
    there = facts.get(declared.name)
    if there is None or there.origin.source == declared.origin.source:
        return False
    pinned, stated = declared.value, there.value
    return isinstance(pinned, Exact) and isinstance(stated, Exact) and pinned.text.partition("+")[0] == stated.text.partition("+")[0]


def _is_built_for_another(name: str, release: Exact, torch: Exact) -> bool:
    """Whether a release has compiled parts for another torch than this one."""
    rows = [row for row in built_for(name) if version_condition(row.releases).admits(release)]
    return any(not version_condition(row.torch).admits(torch) for row in rows)


def _excludes(one: Fact, other: Fact) -> bool:
    """Whether a release requires another of a package than a second fact admits."""
    if not isinstance(one.value, Exact):
        return False
    name = other.name.removeprefix(_PACKAGE)
    if (
        name == "torch"
        and isinstance(other.value, Exact)
        and _is_built_for_another(one.name.removeprefix(_PACKAGE), one.value, other.value)
    ):
        return True
    asked = [
        wanted.specifier
        for wanted in dependencies(one.name.removeprefix(_PACKAGE), one.value.text.partition("+")[0]) or ()
        if wanted.name == name and wanted.specifier
    ]
    if isinstance(other.value, Exact):
        return bool(asked) and not any(version_condition(spec).admits(other.value) for spec in asked)
    if not isinstance(other.value, Ranged) or not other.value.text or "||" in other.value.text:
        return False
    known = release_texts(name)
    return bool(asked) and not any(satisfiable(f"{spec},{other.value.text}", known) for spec in asked)
