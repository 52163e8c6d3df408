"""``envdoctor probe``: run probes by name."""

from __future__ import annotations

import argparse
import json

from envdoctor.app.probing import run_probes
from envdoctor.app.situations import gather
from envdoctor.cli.output import emit
from envdoctor.cli.requests import read_request
from envdoctor.probes.registry import PROBES, probe_named
from envdoctor.probes.verdict import Verdict
from envdoctor.report.json import verdict_object
from envdoctor.report.plain import printable

_OUTCOMES = {"refuted": "PASS", "confirmed": "FAIL", "inconclusive": "SKIP"}


def run(options: argparse.Namespace) -> int:
    if options.list:
        emit(options, _listing_json() if options.format == "json" else _listing())
        return 0
    for name in options.names:
        probe_named(name)
    request = read_request(options)
    gathered = gather(request)
    names = list(dict.fromkeys(options.names or PROBES))
    verdicts = list(run_probes(names, gathered.interpreter, gathered.derived, request.watch, trust=gathered.trust).values())
    emit(options, _json(verdicts) if options.format == "json" else _text(verdicts, gathered.patient))
    return int(any(verdict.verdict == "confirmed" for verdict in verdicts))


def _listing() -> str:
    lines = []
    for probe in PROBES.values():
        lines += [probe.name, f"  shows {probe.shows}", f"  needs {', '.join(probe.needs)}"]
        lines.append(f"  costs {probe.cost}")
        if not probe.proven:
            lines.append("  unproven on hardware")
    return "\n".join(lines) + "\n"


def _listing_json() -> str:
    rows = [
        {"name": p.name, "shows": p.shows, "needs": list(p.needs), "gpu": p.gpu, "cost": p.cost, "proven": p.proven}
        for p in PROBES.values()
    ]
    return json.dumps({"schema_version": 1, "probes": rows}, indent=2) + "\n"


def _json(verdicts: list[Verdict]) -> str:
    return json.dumps({"schema_version": 1, "probes": [verdict_object(verdict) for verdict in verdicts]}, indent=2, default=str) + "\n"


def _text(verdicts: list[Verdict], patient: str) -> str:
    lines = [f"envdoctor probe: {printable(patient)}"]
    for verdict in verdicts:
        lines += [f"{_OUTCOMES[verdict.verdict]}  {verdict.probe} ({verdict.seconds:.1f} s)", f"      {printable(verdict.reason)}"]
    return "\n".join(lines) + "\n"
