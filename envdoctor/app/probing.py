"""Probes run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.app.watch import Watch

if TYPE_CHECKING:
    from pathlib import Path

    from envdoctor.facts.fact import Facts
    from envdoctor.probes.verdict import Verdict

VARY_SECONDS = 60.0
"""What finding a cure of a confirmed fault may cost, in seconds a probe."""


def run_probes(names: Sequence[str], interpreter: Path | None, facts: Facts, watch: Watch, *, trust: bool) -> dict[str, Verdict]:
    """Each named probe's verdict, in that order."""
    from envdoctor.probes.registry import PROBES, run_probe

    lines = _lines(facts) if any(PROBES[name].by_lines for name in names) else {}
    verdicts = {}
    for number, name in enumerate(names, start=1):
        with watch.stages(f"probe {number}/{len(names)} {name}", PROBES[name].cost) as told:
            verdicts[name] = run_probe(name, interpreter, facts, vary_seconds=VARY_SECONDS, trust=trust, lines=lines, told=told)
    return verdicts


def _lines(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The lines of Python that show what is computed of these releases, with the packages of each."""
    from envdoctor.checks.atlas import atlas_breaks

    return {hit.witness: hit.packages for hit in atlas_breaks(facts) if hit.witness and hit.outcome}
