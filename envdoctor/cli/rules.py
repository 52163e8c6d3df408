"""``envdoctor rules``: the list, and the lint for rule authors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from envdoctor.checks import CHECK_IDS
from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.probes.registry import PROBES
from envdoctor.releases import release_texts
from envdoctor.report.plain import printable
from envdoctor.rulebook import Rulebook, load_rulebook, rule_files, shipped_rules


def run(options: argparse.Namespace) -> int:
    if options.action == "lint":
        return _lint(options)
    if options.action == "verify":
        from envdoctor.cli.verify_rules import run as verify

        return verify(options)
    if options.paths:
        raise EnvdoctorError("rules", found=f"{options.paths[0]!r}", expected="no path after `rules`", next_step="rules lint PATH")
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    emit(options, _json(book) if options.format == "json" else _text(book))
    return 0


def _json(book: Rulebook) -> str:
    rows = [
        {
            "id": rule.id,
            "title": rule.title,
            "severity": rule.severity,
            "effect": rule.effect,
            "packages": list(rule.packages),
            "confidence": rule.confidence,
        }
        for rule in book.rules
    ]
    return json.dumps({"schema_version": 1, "digest": book.digest, "rules": rows}, indent=1) + "\n"


def _text(book: Rulebook) -> str:
    lines = []
    for rule in book.rules:
        lines += [f"{rule.severity:<8} {rule.id}  [{rule.confidence}]", f"         {printable(rule.title)}"]
    return "\n".join([*lines, "", f"{len(book.rules)} rules; envdoctor explain RULE shows one"]) + "\n"


def _lint(options: argparse.Namespace) -> int:
    """Lint every rule file named.

    Raises:
        SeveralErrors: with everything that is wrong with any of them.
    """
    from envdoctor.lint import lint_file

    files = [file for path in options.paths or [str(shipped_rules())] for file in _files(Path(path))]
    errors = []
    for file in files:
        errors += lint_file(file, release_texts, probes=frozenset(PROBES), checks=CHECK_IDS)
    if errors:
        raise SeveralErrors(errors)
    emit(options, json.dumps({"schema_version": 1, "linted": len(files)}) + "\n" if options.format == "json" else f"{len(files)} rule files, nothing wrong\n")
    return 0


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return rule_files(path)
