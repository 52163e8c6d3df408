"""``envdoctor fit``: will this plan fit into the memory of this GPU, and which change makes it fit."""

from __future__ import annotations

import argparse
import sys

from envdoctor.app.fit import Question, fit
from envdoctor.cli.output import emit, is_coloured, width
from envdoctor.cli.requests import read_request
from envdoctor.report.fit import FitReport


def run(options: argparse.Namespace) -> int:
    targets = [options.model, *([] if options.plan is None else [options.plan])]
    gpu = [] if options.gpu is None else [f"gpu.name={options.gpu}"]
    request = read_request(options, *targets, settings=gpu)
    report = fit(request, Question(options.model, options.gpu, options.data, options.exact))
    emit(options, _rendered(options, report))
    return report.exit_code


def _rendered(options: argparse.Namespace, report: FitReport) -> str:
    if options.format == "json":
        from envdoctor.report.fit_json import render as as_json

        return as_json(report)
    if options.format == "html":
        from envdoctor.report.fit_html import render as as_page

        return as_page(report)
    from envdoctor.report.fit_text import render as as_text

    printed = options.output is None
    return as_text(report, width=width(), colour=is_coloured(options), blocks=not printed or _draws_blocks())


def _draws_blocks() -> bool:
    """Whether the terminal's encoding has the characters of a bar."""
    try:
        "█▏".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
