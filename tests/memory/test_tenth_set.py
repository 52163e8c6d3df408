"""Runs of Megatron and of ZeRO-3 with all of it on the CPU that others measured: its loss, its experts, and where gradients go."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import planned
from tests.memory.models import stated

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
CASES = {one.number: one for one in import_module("memory_cases").load(ROOT / "benchmarks" / "unseen" / "memory-10.json")}


@pytest.mark.parametrize(
    ("number", "within"),
    # Megatron at 2,048 and 4,096 tokens; cut in two, without sequence parallelism; gradients that leave the GPU.
    # Adapters beside experts that two ranks share: Qwen3-30B-A3B and GLM-4.7-Flash, and with eager attention.
    # A loop that takes its loss alone from Liger.
    [
        (27, 0.03),
        (28, 0.01),
        (21, 0.02),
        (22, 0.05),
        (23, 0.25),
        (14, 0.25),
        (1, 0.01),
        (2, 0.01),
        (3, 0.01),
        (4, 0.01),
        (5, 0.01),
        (8, 0.02),
        (9, 0.12),
    ],
)
def test_runs_that_are_shared_out_are_met(number: int, within: float) -> None:
    case = CASES[number]
    facts = {f"{table}.{name}": value for table, values in case.facts.items() for name, value in values.items()}
    packages = {name: f"=={value}" for name, value in facts.items() if name.startswith("packages.")}
    allocated = planned(stated({**facts, **packages}), read_architecture(case.config)).estimate().allocated
    assert allocated.expected / 2**30 == pytest.approx(case.measured, rel=within)
