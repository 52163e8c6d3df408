"""``envdoctor rules``: the list, what it has on a package or on words, and the lint for rule authors."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.files.paths import is_dir, is_file
from envdoctor.files.toml import read_toml
from envdoctor.probes.registry import PROBES
from envdoctor.report.plain import printable
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import Rulebook, load_rulebook, rule_files
from envdoctor.rules.unpacked import is_unpacked, shipped_files
from envdoctor.world.releases import release_texts

ACTIONS = ("list", "new", "lint", "verify", "reproduce", "refresh")
_ELSEWHERE = {"new": "new_rule", "verify": "verify_rules", "reproduce": "reproduce_rules", "refresh": "refresh_rules"}


def run(options: argparse.Namespace) -> int:
    if options.action is None:
        return _list(options, ())
    if options.action == "list":
        return _list(options, options.paths)
    if options.action == "lint":
        return _lint(options)
    if options.action in _ELSEWHERE:
        command: Callable[[argparse.Namespace], int] = import_module(f"envdoctor.cli.{_ELSEWHERE[options.action]}").run
        return command(options)
    return _list(options, (options.action, *options.paths))


def _list(options: argparse.Namespace, words: Sequence[str]) -> int:
    """List the rules that have all the words, or all rules.

    Raises:
        EnvdoctorError: no rule has them.
    """
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    rules = [rule for rule in book.rules if options.severity in (None, rule.severity)]
    if words:
        from envdoctor.cli.rule_search import with_words

        rules = with_words(rules, words, book)
    if words and not rules:
        from envdoctor.facts.suggest import suggest

        known = dict.fromkeys((*ACTIONS, *(package for rule in book.rules for package in rule.packages)))
        told = " ".join(words) + (f" --severity {options.severity}" if options.severity else "")
        next_step = suggest(words[0], known, otherwise="envdoctor rules lists all of them")
        raise EnvdoctorError("rules", found=f"no rule with {told!r}", expected="a package, or words of a rule", next_step=next_step)
    emit(options, _json(book, rules) if options.format == "json" else _text(rules))
    return 0


def _json(book: Rulebook, rules: Sequence[Rule]) -> str:
    rows = [
        {
            "id": rule.id,
            "title": rule.title,
            "severity": rule.severity,
            "effect": rule.effect,
            "packages": list(rule.packages),
            "confidence": rule.confidence,
        }
        for rule in rules
    ]
    return json.dumps({"schema_version": 1, "digest": book.digest, "rules": rows}, indent=1) + "\n"


def _text(rules: Sequence[Rule]) -> str:
    lines = []
    for rule in rules:
        lines += [f"{rule.severity:<8} {rule.id}  [{rule.confidence}]", f"         {printable(rule.title)}"]
    return "\n".join([*lines, "", f"{len(rules)} rule{'' if len(rules) == 1 else 's'}; envdoctor explain RULE shows one"]) + "\n"


def _lint(options: argparse.Namespace) -> int:
    """Lint every rule file named.

    Raises:
        SeveralErrors: with everything that is wrong with any of them.
    """
    from envdoctor.remedies.cure_lint import lint_cures
    from envdoctor.rules.lint import lint_confidence, lint_file

    files = rule_paths(options)
    book = load_rulebook().rules
    decided_by_code = frozenset(rule.id for rule in book if rule.check is not None)
    errors = []
    for file in files:
        try:
            table = read_toml(file)
        except EnvdoctorError as error:
            errors.append(error)
            continue
        wrong = lint_file(file, release_texts, probes=frozenset(PROBES), checks=decided_by_code, table=table)
        errors += wrong or [*lint_cures(file, book, release_texts, table), *([] if is_unpacked(file) else lint_confidence(file, table))]
    if errors:
        raise SeveralErrors(errors)
    emit(
        options,
        json.dumps({"schema_version": 1, "linted": len(files)}) + "\n"
        if options.format == "json"
        else f"{len(files)} rule files, nothing wrong\n",
    )
    return 0


def rule_paths(options: argparse.Namespace) -> list[Path]:
    """The rule files that were named: by path, by a directory, or by id; without a name all.

    Raises:
        EnvdoctorError: a name that is none of them.
    """
    directories = [shipped_files(), *map(Path, options.rule_directories)]
    if not options.paths:
        return [file for directory in directories for file in rule_files(directory)]
    return [file for name in options.paths for file in _named(name, directories)]


def _named(name: str, directories: list[Path]) -> list[Path]:
    path = Path(name)
    if is_file(path):
        return [path]
    if is_dir(path) or path.name != name or path.suffix:
        return rule_files(path)
    for directory in directories:
        for file in rule_files(directory):
            if file.stem == name:
                return [file]
    raise EnvdoctorError(name, found="no such file, directory or rule", expected="a rule", next_step="envdoctor rules lists them")


class Progress:
    """What a long command says as it goes, and what it gives in the end: lines of text, or one JSON object."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lines: list[str] = []

    def say(self, *lines: str) -> None:
        self.lines += map(printable, lines)
        if self.options.format == "text" and self.options.output is None:
            emit(self.options, "".join(f"{printable(line)}\n" for line in lines))
            sys.stdout.flush()

    def finish(self, as_json: Callable[[], str]) -> None:
        if self.options.format == "json":
            emit(self.options, as_json())
        elif self.options.output is not None:
            emit(self.options, "\n".join(self.lines) + "\n")
