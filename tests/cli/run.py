"""Run a command as a user would, and keep what was printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from envdoctor.cli import main
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
def _shipped(every_rule: bool) -> tuple[dict[str, Any], dict[str, tuple[Mapping[str, Any], Rule]]]:
    """The rules that come with envdoctor as they are kept, and their outlines by place: hundreds of runs here need the same."""
    found, _ = rulebook._compiled(rulebook.shipped_rules())
    if not every_rule:
        found = found | {"rules": [row for row in found["rules"] if row[1].get("id") in SETTLED or "check" in row[1]]}
    return found, {place: (table, outlines._outlined(place, table)) for place, table in found["rules"]}


@contextmanager
def _shipped_rules_read_once(every_rule: bool) -> Iterator[None]:
    """How rules are found and kept is tested in ``test_rulebook.py``, with rules of its own."""
    compiled, outlined = rulebook._compiled, outlines._outlined
    found, kept = _shipped(every_rule)
    shipped = rulebook.shipped_rules()

    def compiled_once(directory: Path) -> tuple[dict[str, Any], Path | None]:
        return (found, None) if directory == shipped else compiled(directory)

    def outlined_once(place: str, table: Mapping[str, Any]) -> Rule:
        own, outline = kept.get(place, (None, None))
        return outline if outline is not None and own is table else outlined(place, table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rulebook, "_compiled", compiled_once)
        patch.setattr(outlines, "_outlined", outlined_once)
        yield
