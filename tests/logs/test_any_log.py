"""Any text is a log: nothing of it raises, whatever people paste, cut or garble."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Facts
from envdoctor.logs.derived import FAMILIES, derive_findings
from envdoctor.logs.reading import read_log
from envdoctor.logs.specifiers import is_specifier
from envdoctor.logs.stated import read_statements
from envdoctor.logs.unknown import tell_unknown
from envdoctor.rules.rulebook import load_rulebook

THREADS = Path(__file__).parent.parent.parent / "fixtures" / "logs" / "threads.jsonl"
LINES = sorted({line for row in THREADS.read_text(encoding="utf-8").splitlines() for line in json.loads(row)["error_lines"]})
GARBLED = st.sampled_from(LINES).flatmap(
    lambda line: st.tuples(
        st.integers(0, len(line)), st.integers(0, len(line)), st.sampled_from(["", "\x1b[", "==", ">=1.2+cu113", "(", "\\n", '"', "\r"])
    ).map(lambda cut: line[: min(cut[:2])] + cut[2] + line[max(cut[:2]) :])
)
PIECES = st.one_of(st.text(max_size=40), st.sampled_from(LINES), GARBLED)


def read_all(data: bytes) -> None:
    reading = read_log([data], ())
    stated = read_statements(reading, "a log")
    facts = Facts({fact.name: fact for fact in stated.facts})
    for one in derive_findings(reading, facts):
        assert all(is_specifier(text) for _, text in one.hit.pins)
        assert one.hit.said
        assert 0 < one.line <= reading.count
    list(tell_unknown(reading, facts))


@given(st.lists(PIECES, max_size=12))
def test_no_text_raises(lines: list[str]) -> None:
    read_all("\n".join(lines).encode("utf-8", "replace"))


@given(st.binary(max_size=400))
def test_no_bytes_raise(data: bytes) -> None:
    read_all(data)


@pytest.mark.parametrize(
    "piece",
    [
        "cannot import name 'a' ",
        '  File "',
        "requires ",
        "│ ",
        "[rank0]: ",
        "==1.",
        "_ZN",
        "Because a depends on ",
        "('x', ",
        "\\n",
        "loss nan ",
    ],
)
def test_no_repetition_keeps_it_busy(piece: str) -> None:
    read_all((piece * (200_000 // len(piece))).encode())
    read_all("\n".join([piece * 20] * 2_000).encode())


def test_every_family_is_listed() -> None:
    rules = {rule.id: rule for rule in load_rulebook().rules}
    assert {name: rules[name].confidence for name in FAMILIES} == dict.fromkeys(FAMILIES, "computed")
