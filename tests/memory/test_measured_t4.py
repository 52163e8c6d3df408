"""Runs that others measured on a Tesla T4, to the byte: benchmarks/unseen/memory.json, judged once and an example since."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from statistics import median

from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import planned
from tests.memory.models import stated

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
memory_cases = import_module("memory_cases")
CASES = ROOT / "benchmarks" / "unseen" / "memory.json"


def test_what_a_source_states_in_full_is_met_to_two_percent() -> None:
    errors = {}
    for one in memory_cases.load(CASES):
        if one.quality == "A":
            facts = {f"{table}.{name}": value for table, values in one.facts.items() for name, value in values.items()}
            packages = {name: f"=={value}" for name, value in facts.items() if name.startswith("packages.")}
            expected = planned(stated({**facts, **packages}), read_architecture(one.config)).estimate().allocated.expected
            errors[one.number] = expected / 2**30 / (one.measured or 1.0) - 1
    assert len(errors) == 41
    assert median(map(abs, errors.values())) < 0.004
    assert {number: error for number, error in errors.items() if abs(error) > 0.02} == {}
