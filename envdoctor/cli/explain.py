"""``envdoctor explain RULE``: the page of one rule."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from envdoctor.cli.output import emit, is_coloured, width
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.suggest import suggest
from envdoctor.report.page import as_object, render
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import Rulebook, load_rulebook


def run(options: argparse.Namespace) -> int:
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    rule = _find(book, options.rule)
    if options.format == "json":
        emit(options, json.dumps({"schema_version": 1, "rule": as_object(rule)}, indent=2) + "\n")
    else:
        emit(options, render(rule, width=width(), colour=is_coloured(options)))
    return 0


def _find(book: Rulebook, name: str) -> Rule:
    rule = book.find(name)
    if rule is None:
        next_step = suggest(name, [rule.id for rule in book.rules], otherwise="envdoctor rules WORD lists those with a word")
        raise EnvdoctorError("explain", found=repr(name), expected="the id of a rule", next_step=next_step)
    return rule
