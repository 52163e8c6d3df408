"""Run a command as a user would, and keep what was printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from envdoctor.cli import main
from envdoctor.engine.diagnosis import Finding
from envdoctor.remedies import search
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.universe import Problem
from envdoctor.rules import outlines, rulebook
from envdoctor.rules.rule import Rule


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


# Reports are compared whole, and pins are judged by all rules: one more would change them. These are the rules by which they were taken;
# a test about a later rule adds its id, and everybody else's rule changes no test.
SETTLED = frozenset(Path(__file__).with_name("settled_rules.txt").read_text(encoding="utf-8").split())


def run(capsys: pytest.CaptureFixture[str], *words: str, every_rule: bool = False) -> Ran:
    """By the settled rules and those that code decides, unless ``every_rule`` that is shipped is asked for."""
    capsys.readouterr()
    with _shipped_rules_read_once(every_rule):
        status = main(words)
    captured = capsys.readouterr()
    return Ran(status, captured.out, captured.err)


@lru_cache(maxsize=2)
def _shipped(every_rule: bool) -> dict[str, Any]:
    """The rules that come with envdoctor as they are kept: hundreds of runs here need the same."""
    if every_rule:
        return rulebook._compiled(rulebook.shipped_rules())[0]
    found = _shipped(True)
    return found | {"rules": [row for row in found["rules"] if row[1].get("id") in SETTLED or "check" in row[1]]}


_OUTLINES: dict[int, Rule] = {}
_REMEDIES: dict[tuple[object, ...], tuple[Remedy, ...]] = {}


def forget_pins() -> None:
    """Search pins anew, of situations that were shown before too."""
    _REMEDIES.clear()


@contextmanager
def _shipped_rules_read_once(every_rule: bool) -> Iterator[None]:
    """How rules are found and kept is tested in ``test_rulebook.py``, with rules of its own; how pins are found, in ``tests/remedies``.

    Here the same situation is shown in one way after another: its pins are searched once.
    """
    compiled, outlined, search_for = rulebook._compiled, outlines._outlined, search.find_remedies
    found = _shipped(every_rule)
    shipped = rulebook.shipped_rules()
    tables = {id(table) for _, table in _shipped(True)["rules"]}  # which are kept, and so keep their places

    def compiled_once(directory: Path) -> tuple[dict[str, Any], Path | None]:
        return (found, None) if directory == shipped else compiled(directory)

    def outlined_once(place: str, table: Mapping[str, Any]) -> Rule:
        rule = _OUTLINES.get(id(table)) or outlined(place, table)
        if id(table) in tables:
            _OUTLINES[id(table)] = rule
        return rule

    def searched_once(problem: Problem, findings: Iterable[Finding], **how: bool) -> tuple[Remedy, ...]:
        findings = tuple(findings)
        if len(problem.rules) != len(found["rules"]):  # there are rules of the test's own
            return search_for(problem, findings, **how)
        key = (every_rule, problem.stated.closed, repr(problem.stated.by_name), repr(findings), *sorted(how.items()))
        if key not in _REMEDIES:
            _REMEDIES[key] = search_for(problem, findings, **how)
        return _REMEDIES[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rulebook, "_compiled", compiled_once)
        patch.setattr(outlines, "_outlined", outlined_once)
        patch.setattr(search, "find_remedies", searched_once)
        yield
