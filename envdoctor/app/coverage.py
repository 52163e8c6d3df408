"""How much of a situation the rules can speak of."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.report.model import Coverage
from envdoctor.world.releases import newest, tracked


def measure_coverage(*several: Facts) -> Coverage:
    """How many packages of the situations the rules can speak of, and which are newer than any release they know."""
    known, newer = set(), set()
    for facts in several:
        for name in facts:
            package = name.removeprefix("packages.")
            if package == name or package not in tracked():
                continue
            known.add(package)
            value, last = facts.value(name), newest(package)
            if isinstance(value, Exact) and last is not None and version_condition(f">{last}").admits(value):
                newer.add(package)
    return Coverage(len(known), tuple(sorted(newer)))
