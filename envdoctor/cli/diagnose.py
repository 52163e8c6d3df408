"""``envdoctor diagnose``: the rule that explains a traceback, a training log or a pasted bug report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator

from envdoctor.app.diagnose import diagnose
from envdoctor.cli.output import write
from envdoctor.cli.requests import read_request
from envdoctor.errors import EnvdoctorError

_LONGEST_LINE = 1 << 16


def run(options: argparse.Namespace) -> int:
    report = diagnose(read_request(options), _lines(options.log), "<stdin>" if options.log == "-" else options.log)
    write(options, report)
    return report.exit_code()


def _lines(log: str) -> Iterator[str]:
    """The lines of a log, none longer than 64 KiB in memory.

    Raises:
        EnvdoctorError: the file cannot be read.
    """
    if log == "-":
        yield from _decoded(iter(lambda: sys.stdin.buffer.readline(_LONGEST_LINE), b""))
        return
    try:
        with open(log, "rb") as file:
            if os.path.isdir(log):
                raise IsADirectoryError(21, "a directory")
            yield from _decoded(iter(lambda: file.readline(_LONGEST_LINE), b""))
    except OSError as error:
        raise EnvdoctorError(
            log, found=error.strerror or str(error), expected="a log that can be read, or - for stdin", next_step="check the path"
        ) from error


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    encoding = "utf-8"
    for number, line in enumerate(lines):
        if number == 0 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise EnvdoctorError("the log", found="UTF-16", expected="UTF-8 text", next_step="convert it: iconv -f UTF-16 -t UTF-8")
        yield line.decode(encoding, errors="replace").rstrip("\n")
