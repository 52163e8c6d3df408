"""``envdoctor diagnose``: the rule that explains a traceback, a training log or a pasted bug report."""

from __future__ import annotations

import argparse
import codecs
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from envdoctor.app.diagnose import diagnose
from envdoctor.cli.output import write
from envdoctor.cli.requests import read_request
from envdoctor.errors import EnvdoctorError

_BLOCK = 1 << 20


_WAITING = "envdoctor: paste the log, then press {}; or give the name of a file: envdoctor diagnose train.log"


def run(options: argparse.Namespace) -> int:
    report = diagnose(read_request(options), read_blocks(options.log), "<stdin>" if options.log == "-" else options.log)
    write(options, report)
    return report.exit_code()


def read_blocks(log: str) -> Iterator[bytes]:
    """The bytes of a log in blocks that end where a line ends; one that has no end goes on in the next block.

    Raises:
        EnvdoctorError: the file cannot be read.
    """
    if log == "-":
        if sys.stdin.isatty():
            print(_WAITING.format("Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D on an empty line"), file=sys.stderr)
        yield from _whole_lines(sys.stdin.buffer)
        return
    try:
        with open(log, "rb") as file:
            if os.path.isdir(log):
                raise IsADirectoryError(21, "a directory")
            yield from _whole_lines(file)
    except OSError as error:
        raise EnvdoctorError(
            log, found=error.strerror or str(error), expected="a log that can be read, or - for stdin", next_step="check the path"
        ) from error


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Windows' PowerShell writes UTF-16, which its first two bytes say."""
    start = file.read(2)
    wide = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace") if wide else None
    rest = b""
    while data := start + file.read(_BLOCK):
        start = b""
        data = data if decoder is None else decoder.decode(data).encode()
        whole, newline, tail = data.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = tail
        elif len(rest) > _BLOCK:
            yield rest
            rest = data
        else:
            rest += data
    if rest:
        yield rest
