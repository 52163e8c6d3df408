"""GitLab's Code Quality report: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.

There is no way to say in it that a run failed, and an empty list would say that all is well: an error that ends the run is told on
stderr alone, and no report is written.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from envdoctor.report.location import checkout, fingerprints, places
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.words import advised, annotated, headline, level, paragraph, reasons

_SEVERITY = {"error": "critical", "warning": "major", "note": "minor"}


def render(report: Report, *, root: Path | None = None) -> str:
    """A list with one entry a finding, worst first; what a probe refuted, and what is excused, is left out."""
    shown = places(report, root or checkout())
    entries = []
    for diagnosed, place, mark in zip(report.findings, shown, fingerprints(report, shown), strict=True):
        if not annotated(diagnosed):
            continue
        entries.append(
            {
                "description": paragraph([headline(diagnosed), *reasons(diagnosed), *islice(advised(diagnosed), 1)]),
                "check_name": printable(diagnosed.finding.rule.id),
                "fingerprint": mark,
                "severity": _severity(diagnosed, report),
                "location": {"path": printable(place.file), "lines": {"begin": place.line}},
            }
        )
    return json.dumps(entries, indent=2) + "\n"


def _severity(diagnosed: Diagnosed, report: Report) -> str:
    """info: only possible; minor: a note; major: a warning; critical: an error; blocker: an error that a probe has shown."""
    finding = diagnosed.finding
    if finding.status == "possible" and not report.strict:
        return "info"
    if finding.status == "confirmed" and finding.severity == "error":
        return "blocker"
    return _SEVERITY[level(diagnosed, report)]
