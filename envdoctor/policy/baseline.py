"""A baseline: the findings that a project had on the day it began to check, so that only new ones fail."""

from __future__ import annotations

import json
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import JsonError, UnreadableError, parse_json, read_bounded
from envdoctor.policy.excuse import EXPIRED
from envdoctor.report.location import fingerprints, places
from envdoctor.report.model import Report

_MOST_BYTES = 64 * 2**20


def baseline_text(report: Report, root: Path) -> str:
    """The baseline of a report: sorted, one finding a line, so that a change of it can be reviewed."""
    shown = places(report, root)
    rows = []
    for diagnosed, where, mark in zip(report.findings, shown, fingerprints(report, shown), strict=True):
        told = diagnosed.finding
        if told.status != "refuted" and told.rule.id != EXPIRED and not diagnosed.excused:
            rows.append({"file": where.file, "fingerprint": mark, "rule": told.rule.id})
    rows.sort(key=lambda row: (row["file"], row["rule"], row["fingerprint"]))
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return f'{{\n "schema_version": 1,\n "findings": [\n{lines}\n ]\n}}\n'


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints of a baseline.

    Raises:
        EnvdoctorError: unreadable, or no baseline.
    """
    expected, remedy = "a baseline", f"write one: envdoctor check ... --write-baseline {path}"
    try:
        table = parse_json(read_bounded(path, _MOST_BYTES)).value
    except UnreadableError as error:
        raise EnvdoctorError(str(path), found=str(error), expected=expected, next_step=remedy) from error
    except JsonError as error:
        where = f"{path}, line {error.line}, column {error.column}"
        raise EnvdoctorError(where, found=f"no JSON: {error.found}", expected=expected, next_step=remedy) from error
    rows = table.get("findings") if isinstance(table, dict) else None
    marks = [row.get("fingerprint") if isinstance(row, dict) else None for row in rows] if isinstance(rows, list) else [None]
    if not all(isinstance(mark, str) for mark in marks) or not isinstance(table, dict) or table.get("schema_version") != 1:
        raise EnvdoctorError(str(path), found="JSON of another form", expected=expected, next_step=remedy)
    return frozenset(mark for mark in marks if isinstance(mark, str))
