"""How much of a situation the rules can speak of."""

from __future__ import annotations

from envdoctor.facts.fact import REQUIRED, Facts
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.report.model import Coverage
from envdoctor.world.releases import listed, newest, tracked


def measure_coverage(*several: Facts) -> Coverage:
    """How many packages of the situations have releases that are known, of how many, and which of a training stack are newer than these."""
    stated, known, newer = set(), set(), set()
    for facts in several:
        for name in facts:
            package = name.removeprefix("packages.")
            if package == name or not isinstance(facts.value(name), Exact | Ranged) or facts[name].origin.source.startswith(REQUIRED):
                continue
            stated.add(package)
            if package not in listed():
                continue
            known.add(package)
            if package not in tracked():
                continue
            value, last = facts.value(name), newest(package)
            if isinstance(value, Exact) and last is not None and version_condition(f">{last}").admits(value):
                newer.add(package)
    return Coverage(len(known), len(stated), tuple(sorted(newer)))
