"""``envdoctor fix``: the pins, or the change of plan, that clear all findings at once."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from envdoctor.app.fix import fix
from envdoctor.cli.output import write
from envdoctor.cli.requests import read_project_request


def run(options: argparse.Namespace) -> int:
    if options.prove:  # what was built is removed, and what runs is ended, also where somebody ends this
        signal.signal(signal.SIGTERM, _end)
    report = fix(read_project_request(options), written=options.write)
    write(options, report)
    return report.exit_code()


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
