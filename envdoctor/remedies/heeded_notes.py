"""Notes of the same report that speak against a remedy: no package is moved for a note, and one that moves anyway keeps to the ranges that
releases declare where it can."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.checks.capped_later import RULE as CAPPED
from envdoctor.checks.soft_minimums import EXTRA, MINIMUM
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import replace
from envdoctor.remedies.remedy import Remedy

# What a later release, or an extra, declares of a package; other notes are of what somebody may use.
_OF_RANGES = frozenset((CAPPED, EXTRA, MINIMUM))


def notes_against(remedy: Remedy, findings: Sequence[Finding]) -> list[Finding]:
    """The decided notes about ranges whose pins name other releases of a package that the remedy moves, as if they were to be cleared."""
    notes = (one for one in findings if one.rule.id in _OF_RANGES and one.severity == "note" and one.status in ("matched", "confirmed"))
    return [replace(one, severity="warning") for one in notes if _speaks_against(one, remedy)]


def _speaks_against(note: Finding, remedy: Remedy) -> bool:
    specs = [(spec, remedy.pins[name].removeprefix("==").partition("+")[0]) for name, spec in note.pins if name in remedy.pins]
    return bool(specs) and not any(version_condition(spec).admits(exact(pin)) for spec, pin in specs)


def heeding(remedies: Sequence[Remedy], others: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """The remedies after the first of the others that clears as much and moves no further package, where there is one."""
    first = remedies[0]
    for one in others:
        if one.pins.keys() <= first.pins.keys() and one.pins != first.pins and set(first.clears) <= set(one.clears):
            cleared = tuple(name for name in one.clears if name in first.clears)
            return (replace(one, clears=cleared), *(other for other in remedies if other.pins != one.pins))
    return tuple(remedies)
