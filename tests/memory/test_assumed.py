"""A figure made of an assumption says so by its range."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.memory.assumed import LONG, SHORT, widened
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Assumption
from envdoctor.memory.fits import verdict
from envdoctor.memory.regime import Regime
from tests.memory.test_closed_form import LORA, MISTRAL


def test_rows_of_assumed_length_widen_the_range_and_leave_the_expected_figure() -> None:
    architecture = read_architecture(MISTRAL)
    plan = replace(LORA, rows=1, tokens=2048)
    stated = estimate(architecture, plan)
    found = widened(stated, architecture, plan, (Assumption("plan.seq_len", 2048),), Regime())
    assert found.allocated.expected == stated.allocated.expected
    assert found.allocated.low == estimate(architecture, replace(plan, tokens=SHORT)).allocated.low
    assert found.allocated.high == estimate(architecture, replace(plan, tokens=LONG)).allocated.high
    assert widened(stated, architecture, plan, (Assumption("plan.batch_size", 1),), Regime()) == stated


def test_a_guessed_length_of_rows_says_no_only_where_short_rows_do_not_fit_either() -> None:
    architecture = read_architecture(MISTRAL)
    plan = replace(LORA, rows=8, tokens=2048)
    stated = estimate(architecture, plan)
    found = widened(stated, architecture, plan, (Assumption("plan.seq_len", 2048),), Regime())
    between = (found.allocated.low + stated.allocated.expected) / 2
    assert verdict(stated, between).fits == "no"
    assert verdict(found, between).fits == "unknown"
    assert verdict(found, found.allocated.low).fits == "no"
