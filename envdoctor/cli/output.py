"""Where a report goes."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.report import FORMATS
from envdoctor.report.plain import defuse

if TYPE_CHECKING:
    from envdoctor.report.model import Report

_NARROW, _WIDE = 60, 140


def write(options: argparse.Namespace, report: Report) -> None:
    """Render the report in the format asked for."""
    if options.format == "text":
        emit(options, as_text(options, report))
        return
    render: Callable[[Report], str] = import_module(f"envdoctor.report.{options.format}").render
    emit(options, render(report))


def as_text(options: argparse.Namespace, report: Report) -> str:
    """The report for people, as they asked for it."""
    colour = is_coloured(options)
    links = colour and options.output is None and is_terminal()
    render = _text_of(report)
    return render(report, width=width(), colour=colour, links=links, detail=options.detail, seconds=seconds_so_far(options))


def _text_of(report: Report) -> Callable[..., str]:
    if report.mended is not None:
        from envdoctor.report.fix_text import render

        return render
    from envdoctor.report import text

    return text.render


# Options and arguments that name what is read.
_INPUTS = ("targets", "facts", "log", "model", "plan", "data", "config", "baseline", "paths")


def refuse_overwriting(options: argparse.Namespace) -> None:
    """What is read must not be written over.

    Raises:
        EnvdoctorError: an output is the same file as an input.
    """
    given = vars(options)
    for option in ("output", "write_baseline", "lock"):
        place = given.get(option)
        if not isinstance(place, str) or not os.path.isfile(place):
            continue
        for name in _INPUTS:
            value = given.get(name)
            texts = value if isinstance(value, list) else [value]
            if (option, name) != ("write_baseline", "baseline") and any(isinstance(one, str) and _is_same(one, place) for one in texts):
                flag = f"--{option.replace('_', '-')} {place}"
                raise EnvdoctorError(flag, found="a file that is read as well", expected="another file", next_step="name another one")


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def error_text(format_name: str, error: EnvdoctorError) -> str:
    """What a format says of a run that could not be done; empty where it has no way to say so."""
    if format_name not in FORMATS[1:]:
        return ""
    told: Callable[[EnvdoctorError], str] | None = getattr(import_module(f"envdoctor.report.{format_name}"), "render_error", None)
    return "" if told is None else told(error)


def emit(options: argparse.Namespace, text: str) -> None:
    """Print, or write to ``--output``.

    Raises:
        EnvdoctorError: the file cannot be written.
    """
    text = defuse(text, vars(options).get("format", "text"))
    if options.output is None:
        # A terminal in a narrow encoding must still show the report.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        return
    from envdoctor.files.writing import write_whole

    write_whole(Path(options.output), text, next_step="check --output")


def is_coloured(options: argparse.Namespace) -> bool:
    """Whether text is printed with colours: as ``--color`` says, else as the environment says, else on a terminal.

    NO_COLOR and FORCE_COLOR count where they are not empty (https://no-color.org, https://force-color.org); a file is never coloured
    unless ``--color always`` asks for it.
    """
    asked = vars(options).get("color", "auto")
    if asked != "auto":
        return bool(asked == "always")
    if options.output is not None or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal()


def is_terminal() -> bool:
    """Whether what is printed goes to a terminal that understands more than text."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def seconds_so_far(options: argparse.Namespace) -> float:
    """How long the run has taken, from where the command line was read."""
    return time.monotonic() - float(options.started)


def width() -> int:
    """80 columns where nobody looks at a terminal, else its width within reason."""
    if not sys.stdout.isatty():
        return 80
    return max(_NARROW, min(_WIDE, os.get_terminal_size(sys.stdout.fileno()).columns))
