"""``envdoctor check``: which known-bad combination is this, why, and what cures it."""

from __future__ import annotations

import argparse

from envdoctor.app.check import check
from envdoctor.cli.output import write
from envdoctor.cli.requests import read_project_request


def run(options: argparse.Namespace) -> int:
    report = check(read_project_request(options))
    write(options, report)
    return report.exit_code()
