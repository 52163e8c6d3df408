"""``envdoctor fix``: the pins, or the change of plan, that clear all findings at once."""

from __future__ import annotations

import argparse

from envdoctor.app.fix import fix
from envdoctor.cli.output import write
from envdoctor.cli.requests import read_project_request


def run(options: argparse.Namespace) -> int:
    report = fix(read_project_request(options), written=options.write)
    write(options, report)
    return report.exit_code()
