"""From options to a request."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from envdoctor.app.project import apply_project, read_project
from envdoctor.app.request import Request
from envdoctor.cli.progress import ON_TERMINAL

# Options whose value goes into the request as it is.
_SAME = frozenset(
    "python root facts as_of resolve each full offline trust_remote_code probe prove strict allow_empty show_all".split()  # noqa: SIM905
)


def read_request(options: argparse.Namespace, *targets: str, settings: Sequence[str] = ()) -> Request:
    """What the options ask for; ``targets`` and ``settings`` stand before theirs. Options that a command lacks keep their defaults."""
    given = vars(options)
    return Request(
        **{name: value for name, value in given.items() if name in _SAME},
        targets=(*targets, *given.get("targets", ())),
        against=tuple(given.get("against", ())),
        settings=(*settings, *given.get("settings", ())),
        rule_directories=tuple(map(Path, given.get("rule_directories", ()))),
        fail_on=given.get("fail_on") or "error",
        baseline=_path(given.get("baseline")),
        write_baseline=_path(given.get("write_baseline")),
        read_stdin=lambda: sys.stdin.buffer.read(),
        watch=ON_TERMINAL,
    )


def read_project_request(options: argparse.Namespace) -> Request:
    """What the options ask for, on top of the settings of the project at hand.

    Raises:
        EnvdoctorError: settings that cannot be used.
    """
    given = vars(options)
    project = read_project(given.get("config"), isolated=bool(given.get("isolated")))
    return apply_project(read_request(options), project, profile=given["profile"], fail_on=given.get("fail_on"))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
