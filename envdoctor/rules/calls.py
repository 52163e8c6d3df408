"""The patterns of calls that rules wait for, and of a script's uses those that one of them means."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import ASKS_FOR_MPS, CODE_USES, DOES_ABOUT_FILES, FIXES_THE_COMMIT, LOADS_WITH_VLLM, narrow, read_use
from envdoctor.records import replace
from envdoctor.rules.rulebook import awaited_patterns


@lru_cache(maxsize=8)
def list_awaited(extra: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """The patterns that checks, the shipped rules and those of other directories wait for.

    Raises:
        EnvdoctorError: a rule file that cannot be read.
    """
    return tuple(dict.fromkeys((*awaited_patterns(extra), *LOADS_WITH_VLLM, *FIXES_THE_COMMIT, *DOES_ABOUT_FILES, *ASKS_FOR_MPS)))


def keep_awaited(facts: Facts, patterns: tuple[str, ...]) -> Facts:
    """The facts with those uses of a script that a rule waits for, and of their arguments those that it asks about.

    What no rule waits for would drown the rest; a script that shows nothing of it says nothing, unless it shows all that it loads.
    """
    fact = facts.by_name.get(CODE_USES)
    # What was stated by hand is for its author to choose.
    if fact is None or not isinstance(fact.value, tuple) or not fact.places:
        return facts
    index = _index(patterns)
    found = zip(fact.value, fact.places, strict=True)
    kept = [(told, place) for use, place in found if (near := _near(use, index)) and (told := narrow(use, near))]
    if not kept and facts.value("plan.script") is True:
        return facts.with_facts([replace(fact, value=(), places=())])
    if not kept:
        return facts.without(CODE_USES)
    placed = dict(sorted(kept, key=lambda row: -(row[1].line or 0)))
    uses = tuple(sorted(placed))
    first = min((placed[use] for use in uses), key=lambda place: place.line or 0)
    return facts.with_facts([replace(fact, value=uses, origin=first, places=tuple(placed[use] for use in uses))])


@lru_cache(maxsize=8)
def _index(patterns: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """The patterns by the last part of their names, and those of a package by it; where that part has a star by their first one, and
    those of another kind by it; under "" those that only a comparison tells."""
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        use = read_use(pattern)
        first, last = _ends(use.name)
        if use.kind not in ("name", "def", "env"):
            found.setdefault(f"{use.kind}:", []).append(pattern)
            continue
        if "*" in last:
            found.setdefault(f"{first}.*" if first.isidentifier() else "", []).append(pattern)
            continue
        found.setdefault(last, []).append(pattern)
        if first == last:
            found.setdefault(f"{first}.", []).append(pattern)
    return {key: tuple(listed) for key, listed in found.items()}


def _near(use: str, index: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The patterns that may mean a use."""
    told = read_use(use)
    first, last = _ends(told.name)
    return tuple(dict.fromkeys(pattern for key in (last, f"{first}.", f"{first}.*", f"{told.kind}:", "") for pattern in index.get(key, ())))


def _ends(name: str) -> tuple[str, str]:
    return name.partition(".")[0], name.rpartition(".")[2]
