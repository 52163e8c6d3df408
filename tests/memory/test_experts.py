"""Experts that transformers 5 keeps as one parameter of a layer, beside weights of bitsandbytes: whether they are quantized, and where."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from sys import path

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.fits import verdict
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import spanned, undecided, weigh
from tests.memory.models import stated
from tests.memory.test_parallel import DENSE, SPARSE

ROOT = Path(__file__).resolve().parents[2]
path.insert(0, str(ROOT / "scripts"))
CASES = {one.number: one for one in import_module("memory_cases").load(ROOT / "benchmarks" / "unseen" / "memory-11.json")}
GIB = 2**30


def situation(config: dict[str, object], **facts: FactValue) -> Planned:
    given: dict[str, FactValue] = {
        "plan__method": "qlora",
        "plan__trainer": "axolotl",
        "plan__load_dtype": "bfloat16",
        "plan__bf16": True,
        "plan__batch_size": 1,
        "plan__seq_len": 512,
        "plan__packing": True,
        "plan__gradient_checkpointing": True,
        "plan__lora_targets": ("q_proj", "v_proj"),
        "packages__transformers": "==5.12.1",
        **facts,
    }
    return planned(stated({name.replace("__", "."): value for name, value in given.items()}), read_architecture(config))


def open_facts(found: Planned) -> set[str]:
    return {one.fact for one in undecided(found, found.estimate())}


def test_whether_experts_are_quantized_is_open_until_it_is_said() -> None:
    said, unsaid = situation(SPARSE, plan__quantize_experts=True), situation(SPARSE)
    assert said.estimate().peak.total < 0.7 * unsaid.estimate().peak.total
    assert open_facts(unsaid) == {"plan.quantize_experts"}
    assert open_facts(said) == open_facts(situation(SPARSE, plan__quantize_experts=False)) == set()
    # Of a model without experts, and of a trainer that leaves it to bitsandbytes, nothing is open.
    assert open_facts(situation(DENSE)) == open_facts(situation(SPARSE, plan__trainer="transformers")) == set()


def test_a_release_that_nobody_states_may_be_one_that_leaves_experts_as_they_are() -> None:
    unsaid = situation(SPARSE, packages__transformers="", plan__trainer="transformers")
    assert "packages.transformers" in open_facts(unsaid)
    computed = spanned(unsaid, unsaid.estimate(), weigh(unsaid, unsaid.estimate()))
    assert computed.allocated.high >= situation(SPARSE, plan__trainer="transformers").estimate().allocated.expected


def test_experts_of_a_layer_are_written_out_together() -> None:
    """And without checkpointing those of every layer stay until its backward: more than they are in 16 bits."""
    said = situation(SPARSE, plan__quantize_experts=True)
    one_layer = 3 * 32 * 512 * 1024 * 2
    loading = next(one for one in said.estimate().moments if one.name == "loading")
    assert loading.terms["other"] == one_layer
    kept = situation(SPARSE, plan__quantize_experts=True, plan__gradient_checkpointing=False)
    assert kept.estimate().peak.total > said.estimate().peak.total + 7 * one_layer


@pytest.mark.parametrize(("number", "where"), [(49, {}), (50, {"plan.expert_offload": True})])
def test_a_small_card_with_experts_of_four_bits_or_on_the_cpu_is_met(number: int, where: dict[str, FactValue]) -> None:
    """OLMoE-1B-7B on 12 GB, with a store of experts that is the run's own: 5.6 GiB, and 2.4 with the experts in pinned memory."""
    case = CASES[number]
    facts = {f"{table}.{name}": value for table, values in case.facts.items() for name, value in values.items()}
    packages = {name: f"=={value}" for name, value in facts.items() if name.startswith("packages.")}
    for told in ({}, {"plan.quantize_experts": True, **where}):
        found = planned(stated({**facts, **packages, **told}), read_architecture(case.config))
        computed = spanned(found, found.estimate(), weigh(found, found.estimate()))
        assert verdict(computed, 11.6 * GIB).fits in ("unknown", "yes")
    assert computed.allocated.low <= 1.01 * case.measured * GIB
    assert where or computed.allocated.expected == pytest.approx(case.measured * GIB, rel=0.05)
    assert "plan.expert_offload" in {one.fact for one in weigh(found, found.estimate())} or not where


def test_more_rows_never_take_less_of_quantized_experts() -> None:
    totals = [situation(SPARSE, plan__quantize_experts=True, plan__batch_size=rows).estimate().peak.total for rows in (1, 2, 4)]
    assert totals == sorted(totals)
