"""Frozen layers, reference models and evaluations: what a way of training adds to the step of a plan, or takes from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB, Estimate, Term
from envdoctor.memory.situation import Planned, planned
from tests.memory.models import LLAMA_2_13B, QWEN_HALF_B, stated
from tests.memory.test_advice import STACK

WEIGHTS = 24.24


def situation(**facts: object) -> Planned:
    values = {name.replace("__", "."): value for name, value in facts.items()}
    config = QWEN_HALF_B if values.pop("model", None) == "qwen" else LLAMA_2_13B
    known = {"plan.batch_size": 1, "plan.seq_len": 512, "plan.load_dtype": "bfloat16"}
    return planned(stated({**STACK, **known, **values}), read_architecture(config))


def term(computed: Estimate, name: Term) -> float:
    return max(moment.terms.get(name, 0.0) for moment in computed.moments) / GIB


def assumed(one: Planned) -> dict[str, object]:
    return {assumption.fact: assumption.assumed for assumption in one.assumptions}


def test_a_plan_that_freezes_layers_needs_little_more_than_the_weights() -> None:
    two = situation(plan__method="freeze")
    assert assumed(two)["plan.trained_layers"] == 2
    computed = two.estimate()
    assert term(computed, "weights") == pytest.approx(WEIGHTS, rel=0.01)
    # 2 of 40 layers of 317 million parameters, in bfloat16; the step makes a third copy for a moment.
    assert term(computed, "gradients") == pytest.approx(2 * 317e6 * 2 / GIB, rel=0.02)
    assert term(computed, "optimizer") == pytest.approx(3 * 2 * 317e6 * 2 / GIB, rel=0.02)
    assert computed.peak.total < 32 * GIB


def test_all_layers_but_embeddings_trained_are_nearly_a_full_training() -> None:
    every, full = situation(plan__method="freeze", plan__trained_layers=40), situation(plan__method="full")
    assert "plan.trained_layers" not in assumed(every)
    assert every.estimate().peak.total == pytest.approx(full.estimate().peak.total, rel=0.03)


@given(st.integers(min_value=1, max_value=40), st.integers(min_value=1, max_value=40))
def test_more_trained_layers_never_need_less(few: int, more: int) -> None:
    few, more = min(few, more), max(few, more)
    totals = [situation(plan__method="freeze", plan__trained_layers=layers).estimate().allocated for layers in (few, more)]
    assert totals[0].expected <= totals[1].expected
    assert totals[0].low <= totals[0].expected <= totals[0].high


@pytest.mark.parametrize(
    ("facts", "copies"),
    [
        ({"plan__method": "dpo"}, 2),
        ({"plan__method": "kto"}, 2),
        ({"plan__method": "full", "plan__objective": "dpo"}, 2),
        ({"plan__method": "orpo"}, 1),  # has no reference
        ({"plan__method": "dpo", "plan__lora_r": 8}, 1),  # the model without its adapter is the reference
        ({"plan__method": "lora", "plan__objective": "dpo"}, 1),
        ({"plan__method": "full"}, 1),
        ({"plan__method": "dpo", "plan__distributed": "zero3", "gpu__count": 4}, 0.5),
    ],
)
def test_a_reference_model_lies_beside_what_is_trained_in_full(facts: dict[str, object], copies: float) -> None:
    first = situation(**facts).estimate().moments[0]
    assert first.terms["weights"] / GIB == pytest.approx(copies * WEIGHTS, rel=0.01)


@pytest.mark.parametrize(("method", "rows"), [("dpo", 6), ("orpo", 6), ("kto", 3), ("full", 3), ("reward", 6)])
def test_pairs_pass_together_and_single_answers_do_not(method: str, rows: int) -> None:
    assert situation(plan__method="lora", plan__objective=method, plan__batch_size=3).plan.rows == rows


def test_a_method_that_does_not_say_what_is_trained_is_said_to_train_all() -> None:
    assert assumed(situation(plan__method="dpo"))["plan.lora_r"] == "none"
    assert "plan.lora_r" not in assumed(situation(plan__method="dpo", plan__lora_r=8))
    assert situation(plan__method="dpo", plan__lora_targets=("q_proj",)).plan.method == "adapter"
    assert situation(plan__method="pretrain", plan__lora_r=8).plan.method == "adapter"


def test_what_an_evaluation_needs_is_a_moment_of_its_own() -> None:
    facts = {"plan__method": "lora", "plan__evaluate": True, "plan__gradient_checkpointing": True, "plan__seq_len": 4096}
    many, few = situation(model="qwen", **facts, plan__eval_batch_size=16), situation(model="qwen", **facts, plan__eval_batch_size=1)
    assert many.estimate().peak.name == "evaluation"
    assert few.estimate().peak.name != "evaluation"
    assert many.estimate_with({"plan.eval_batch_size": 1}) == few.estimate()
    assert assumed(situation(model="qwen", **facts))["plan.eval_batch_size"] == 8
    without = situation(model="qwen", **{**facts, "plan__evaluate": False}, plan__eval_batch_size=16)
    assert "evaluation" not in {moment.name for moment in without.estimate().moments}


@pytest.mark.parametrize("trainer", ["own", "litgpt"])
def test_a_loop_of_ones_own_evaluates_in_the_batches_that_it_trains_on(trainer: str) -> None:
    facts: dict[str, object] = {"plan__method": "full", "plan__evaluate": True, "plan__batch_size": 2, "plan__seq_len": 2048}
    made = situation(model="qwen", **facts, plan__trainer=trainer)
    assert assumed(made)["plan.eval_batch_size"] == 2
    assert made.estimate() == made.estimate_with({"plan.eval_batch_size": 2})
    assert assumed(situation(model="qwen", **facts, plan__trainer="trl"))["plan.eval_batch_size"] == 8


def test_what_llama_factory_trains_is_float32_unless_it_says_otherwise() -> None:
    values = {**STACK, "plan.method": "full", "plan.trainer": "llamafactory", "plan.bf16": True, "model.config_dtype": "bfloat16"}
    one = planned(stated(values), read_architecture(LLAMA_2_13B))
    assert (one.plan.load_dtype, one.plan.autocast) == ("float32", "bfloat16")
    sharded = planned(stated({**values, "plan.distributed": "zero3", "gpu.count": 4}), read_architecture(LLAMA_2_13B))
    assert (sharded.plan.load_dtype, sharded.plan.autocast) == ("bfloat16", None)
    pure = planned(stated({**values, "plan.load_dtype": "bfloat16"}), read_architecture(LLAMA_2_13B))
    assert pure.plan.load_dtype == "bfloat16"
    # The reference and the frozen layers stay in 16 bits.
    frozen = planned(stated({**values, "plan.method": "freeze"}), read_architecture(LLAMA_2_13B)).estimate()
    assert term(frozen, "weights") == pytest.approx(WEIGHTS * 1.05, rel=0.01)
