"""``envdoctor explain RULE``: the page of one rule."""

from __future__ import annotations

import argparse
import json
from difflib import get_close_matches
from pathlib import Path

from envdoctor.cli.output import coloured, emit, width
from envdoctor.errors import EnvdoctorError
from envdoctor.report.page import as_object, render
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import Rulebook, load_rulebook


def run(options: argparse.Namespace) -> int:
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    rule = _find(book, options.rule)
    if options.format == "json":
        emit(options, json.dumps({"schema_version": 1, "rule": as_object(rule)}, indent=2) + "\n")
    else:
        emit(options, render(rule, width=width(), colour=options.output is None and coloured()))
    return 0


def _find(book: Rulebook, name: str) -> Rule:
    rule = book.find(name)
    if rule is None:
        close = get_close_matches(name, [rule.id for rule in book.rules], n=3)
        expected = f"a rule, perhaps {', '.join(close)}" if close else "the id of a rule"
        raise EnvdoctorError("explain", found=repr(name), expected=expected, next_step="envdoctor rules lists them")
    return rule
