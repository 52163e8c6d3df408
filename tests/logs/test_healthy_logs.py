"""Logs of runs that ended well, with the warnings that such runs print: no finding is an error of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from envdoctor.engine.diagnosis import Diagnosis
from envdoctor.facts.fact import Facts
from envdoctor.logs import reading as log_reading
from envdoctor.logs.derived import derive_findings
from envdoctor.logs.explanation import explain
from envdoctor.logs.reading import read_log
from envdoctor.logs.signatures import Signatures, signatures
from envdoctor.logs.stated import read_statements
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts

LOGS = Path(__file__).parent.parent.parent / "fixtures" / "logs" / "healthy.jsonl.gz"


@pytest.mark.large
def test_a_run_that_ended_well_has_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tuple(load_rulebook().rules)
    prepared = signatures(rules).by_anchor  # for all logs once
    monkeypatch.setattr(log_reading, "signatures", lambda _: Signatures(prepared))
    rows = [json.loads(line) for line in gzip.decompress(LOGS.read_bytes()).splitlines()]
    assert len(rows) >= 200
    assert sum("arning" in row["text"] for row in rows) >= 100
    accused = []
    for number, row in enumerate(rows):
        reading = read_log([row["text"].encode()], rules)
        stated = read_statements(reading, "a log")
        facts = Facts({fact.name: fact for fact in stated.facts})
        derived = derive_findings(reading, facts)
        found = explain(Diagnosis((), ()), reading, derived, rules, facts, facts, release_texts, "a log").findings
        accused += [
            (number, one.rule.id, one.status, reading.shown.get(one.rule.id))
            for one in found
            if one.severity == "error" and one.status == "matched"
        ]
    assert accused == []
