"""``envdoctor report``: a block to paste into an issue, with nothing in it that says whose machine it is of."""

from __future__ import annotations

import argparse
import getpass
import os
import platform
from contextlib import suppress
from pathlib import Path

from envdoctor.app.check import check
from envdoctor.cli.output import emit
from envdoctor.cli.requests import read_request
from envdoctor.report.issue_block import render
from envdoctor.report.model import Report
from envdoctor.report.scrubbing import Known

# Variables that hold what nobody else may know, by their names.
_SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
_LEAST_SECRET = 6


def run(options: argparse.Namespace) -> int:
    emit(options, render(_report(options), _list_known()))
    return 0


def _report(options: argparse.Namespace) -> Report:
    if options.log is None:
        return check(read_request(options))
    from envdoctor.app.diagnose import diagnose
    from envdoctor.cli.diagnose import read_blocks

    return diagnose(read_request(options), read_blocks(options.log), "the log")


def _list_known() -> Known:
    """The names of this user and this machine, and the values of variables that are called secret."""
    secrets = tuple(
        value for name, value in os.environ.items() if any(word in name.upper() for word in _SECRET) and len(value) >= _LEAST_SECRET
    )
    names = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME")}
    names |= {platform.node(), platform.node().partition(".")[0]}
    with suppress(OSError, KeyError, RuntimeError):  # no entry in the table of users
        names |= {getpass.getuser(), Path.home().name}
    return Known(tuple(sorted(filter(None, names))), secrets)
