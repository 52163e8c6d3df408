"""What an installer's refusal comes to, each finding at the line that names both sides of it."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.logs.installer_rules import LEFT
from envdoctor.logs.reading import Reading
from envdoctor.logs.refusals import judge_refusal


def judge_refused(reading: Reading, facts: Facts) -> Iterator[tuple[Hit, int]]:
    """The findings of a refusal with their lines: pip tells of what it left broken one line each, for which its first says nothing."""
    if reading.refusal is None:
        return
    for hit in judge_refusal(reading.refusal, facts):
        yield hit, _line_of(hit, reading) if hit.rule == LEFT else reading.refusal.line


def _line_of(hit: Hit, reading: Reading) -> int:
    assert reading.refusal is not None
    by, _, name = hit.edge.partition(":")
    for number, line in reading.lines:
        words = [canonical(word.strip("(),;").partition("[")[0]) for word in line.split()]
        if by in words[:3] and any(word == name or word.startswith(tuple(f"{name}{sign}" for sign in "<>=!~")) for word in words[2:]):
            return number
    return reading.refusal.line
