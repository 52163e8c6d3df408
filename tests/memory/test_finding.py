"""The finding of ``check``: only where a plan cannot fit whatever nobody has stated."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import diagnose
from envdoctor.facts.fact import Fact, Origin
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB
from envdoctor.memory.finding import RULE, exceeding
from envdoctor.memory.fits import usable_memory, verdict
from envdoctor.memory.parameters import parameters
from envdoctor.memory.situation import planned
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts
from tests.each import each
from tests.memory.models import CHATGLM3_6B, GLM_4_9B, LLAMA_2_13B, QWEN_HALF_B, stated
from tests.memory.test_advice import PLANS, STACK

DDP_13B: Mapping[str, object] = {
    **STACK,
    "plan.method": "lora",
    "plan.quant": "none",
    "plan.load_dtype": "float16",
    "plan.distributed": "ddp",
    "gpu.name": "RTX 3090",
    "gpu.count": 3,
}


def hits(values: Mapping[str, object], config: Mapping[str, object] = LLAMA_2_13B) -> tuple[Hit, ...]:
    return exceeding(stated(values), config)


def test_replicas_of_13b_on_cards_of_24_gib_are_found() -> None:
    (hit,) = hits(DDP_13B)
    assert (hit.rule, hit.outcome, load_rulebook().find(RULE) is not None) == (RULE, True, True)
    assert "weights 24.2 GiB" in hit.detail
    assert "torch may use 23.6 GiB of RTX 3090" in hit.detail
    assert hit.plan
    book = load_rulebook(())
    assert set(hit.unless) <= {rule.id for rule in book.rules}  # they say the same, and why


@pytest.mark.parametrize(
    "change",
    [
        {"plan.method": None},
        {"plan.method": "something of my own"},
        {"plan.quant": None},  # it may be quantized
        {"plan.load_dtype": "float16", "plan.distributed": None},  # it may be shared out
        {"plan.distributed": None, "gpu.count": None},
        {"gpu.name": None},
        {"gpu.name": "RTX 3060"},  # sold with 8 and with 12
        {"gpu.name": "A100 80GB"},
        {"plan.quant": "4bit"},
        {"plan.distributed": "zero3"},
        {"accelerator": "cpu"},
        {"plan.method": "inference"},
    ],
)
def test_nothing_is_held_against_a_plan_that_nobody_stated(change: Mapping[str, object]) -> None:
    values = {name: value for name, value in {**DDP_13B, **change}.items() if value is not None}
    assert hits(values) == ()


def test_rows_that_are_only_evaluated_are_held_against_no_plan() -> None:
    lora = {**DDP_13B, "plan.distributed": "none", "gpu.name": "A100 40GB", "gpu.count": 1, "plan.seq_len": 4096, "plan.batch_size": 1}
    facts = {**lora, "plan.gradient_checkpointing": True, "plan.evaluate": True, "plan.eval_batch_size": 512}
    assert planned(stated(facts), read_architecture(LLAMA_2_13B)).estimate().peak.name == "evaluation"
    assert hits(facts) == ()


def test_a_config_that_tells_no_sizes_is_no_finding() -> None:
    assert hits(DDP_13B, {"model_type": "llama"}) == ()
    assert hits(DDP_13B, {}) == ()
    assert hits(DDP_13B, {**LLAMA_2_13B, "model_type": "never-heard-of"}) == ()


def test_training_whole_13b_on_one_card_is_found_where_nothing_can_be_moved_off_it() -> None:
    full = {**STACK, "plan.method": "full", "gpu.name": "A100 80GB", "gpu.count": 1, "plan.load_dtype": "bfloat16"}
    assert hits({**full, "plan.distributed": "none", "plan.optimizer": "adamw_torch"})
    assert hits({**full, "plan.optimizer": "adamw_torch"}) == ()  # DeepSpeed may hold it in the memory of the CPU


CARDS = st.sampled_from(("RTX 3090", "T4", "A100 80GB", "RTX 4060", "H200"))


@given(st.sampled_from((LLAMA_2_13B, GLM_4_9B, QWEN_HALF_B, CHATGLM3_6B)), PLANS, CARDS, st.data())
def test_a_finding_is_a_no_of_fit_whatever_is_stated_beside(
    config: Mapping[str, object], plan: Mapping[str, object], card: str, data: st.DataObject
) -> None:
    whole = {**STACK, **plan, "gpu.name": card}
    named = sorted(plan)
    kept = data.draw(st.sets(st.sampled_from(named)))
    part = {name: value for name, value in whole.items() if name not in named or name in kept}
    if not hits(part, config):
        return
    facts = stated(part).with_facts(Fact(name, fact.value, Origin("--set")) for name, fact in stated(whole).items())
    situation = planned(facts, read_architecture(config))
    memory = usable_memory(situation.facts)
    assert memory is not None
    assert verdict(situation.estimate(), memory).fits == "no", f"{memory / GIB:.1f} GiB"


SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
memory_cases = import_module("memory_cases")
MEASURED = [case for case in memory_cases.load(SCRIPTS.parent / "fixtures" / "memory" / "cases.json") if case.config]
OF_SIZE = [
    rule for rule in load_rulebook(()).rules if rule.id in ("weights-larger-than-one-gpu", "full-training-adam-states-larger-than-gpu")
]


def facts_of(case: Any) -> dict[str, object]:
    """What the measured run states, with the number of parameters that its weight files would tell."""
    tables = {"packages": {}, **case.facts}
    told: dict[str, object] = {f"{table}.{name}": value for table, values in tables.items() for name, value in values.items()}
    return {**told, "model.parameters": parameters(read_architecture(case.config)).total}


@each("case", MEASURED, ids=lambda case: str(case.number))
def test_no_run_that_was_measured_is_said_to_be_impossible(case: Any) -> None:
    values = facts_of(case)
    found = [hit.detail for hit in exceeding(stated(values), case.config)]
    judged = diagnose(derive(stated(values)), OF_SIZE, release_texts)
    found += [finding.rule.id for finding in judged.findings if finding.status == "matched"]
    assert case.ended == "oom" or found == []


def test_the_rules_of_size_are_asked_of_the_measured_runs() -> None:
    assert len(OF_SIZE) == 2
    (small,) = [rule for rule in OF_SIZE if rule.id.startswith("weights")]
    facts = {**DDP_13B, "plan.offload": "none", "model.parameters": parameters(read_architecture(LLAMA_2_13B)).total}
    assert [finding.rule.id for finding in diagnose(derive(stated(facts)), [small], release_texts).findings] == [small.id]
    assert len([case for case in MEASURED if case.ended != "oom"]) > 250
