"""Where a report goes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.report import FORMATS

if TYPE_CHECKING:
    from envdoctor.report.model import Report

_NARROW, _WIDE = 60, 100


def write(options: argparse.Namespace, report: Report) -> None:
    """Render the report in the format asked for."""
    if options.format == "text":
        render_text = _text_of(report)
        emit(options, render_text(report, width=width(), colour=options.output is None and coloured()))
        return
    render: Callable[[Report], str] = import_module(f"envdoctor.report.{options.format}").render
    emit(options, render(report))


def _text_of(report: Report) -> Callable[..., str]:
    if report.mended is not None:
        from envdoctor.report.fix_text import render

        return render
    from envdoctor.report import text

    return text.render


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
    if options.output is None:
        # A terminal in a narrow encoding must still show the report.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        return
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvdoctorError(
            options.output, found=error.strerror or str(error), expected="a file to write to", next_step="check --output"
        ) from error


def coloured() -> bool:
    """Colours only on a terminal, and not where the user declined them (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def width() -> int:
    """80 columns where nobody looks at a terminal, else its width within reason."""
    if not sys.stdout.isatty():
        return 80
    return max(_NARROW, min(_WIDE, os.get_terminal_size(sys.stdout.fileno()).columns))
