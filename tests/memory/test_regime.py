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


def of_the_notebook(config: dict[str, object] | None = None, **facts: object) -> Planned:
    """A QLoRA run that trains on two rows of 2,048 and evaluates in eights, as seven notebooks do (benchmarks/unseen/memory-7.json)."""
    values = {name.replace("__", "."): value for name, value in facts.items()}
    plan = {
        "plan.method": "qlora",
        "plan.quant": "4bit",
        "plan.load_dtype": "float16",
        "plan.fp16": True,
        "plan.batch_size": 2,
        "plan.seq_len": 2048,
        "plan.gradient_checkpointing": True,
        "plan.attn": "flash_attention_2",
        "plan.trainer": "transformers",
        "plan.evaluate": True,
        "packages.transformers": "4.38.2",
        "packages.torch": "2.1.0",
        "packages.peft": "0.8.2",
    }
    return planned(stated({**plan, **values}), read_architecture({**LLAMA_2_13B, **(config or {})}))


def evaluation(one: Planned) -> dict[Term, float]:
    found = next(moment for moment in one.estimate().moments if moment.name == "evaluation")
    return {term: count / GIB for term, count in found.terms.items()}


def test_an_evaluation_holds_the_keys_and_values_of_its_batch() -> None:
    # 40 layers, 8 rows of 2048, 2 x 5120 numbers of 16 bits: 12.5 GiB, and twice as much in accelerate's float32 copies of the tuple.
    assert evaluation(of_the_notebook())["activations"] == pytest.approx(37.5, rel=0.01)
    # A DynamicCache is no tuple of tensors.
    assert evaluation(of_the_notebook(packages__transformers="4.49.0"))["activations"] == pytest.approx(12.5, rel=0.01)
    # Without mixed precision nothing is copied.
    plain = of_the_notebook(plan__fp16=False, plan__bf16=False, plan__load_dtype="float16", plan__kbit_preparation=False)
    assert evaluation(plain)["activations"] == pytest.approx(12.5, rel=0.01)


@pytest.mark.parametrize(
    ("config", "facts"),
    [
        ({"use_cache": False}, {}),
        ({}, {"plan__use_cache": False}),
        ({}, {"packages__transformers": "5.0.0"}),
        ({}, {"plan__trainer": "trl", "packages__trl": "0.24.0", "packages__transformers": "4.57.1"}),
        ({}, {"plan__trainer": "llamafactory"}),
    ],
)
def test_an_evaluation_without_a_cache_is_its_logits(config: dict[str, object], facts: dict[str, object]) -> None:
    found = evaluation(of_the_notebook(config, **facts))
    assert found.get("activations", 0.0) < 1.0
    assert found["logits"] > 4.0


def test_torch_keeps_the_blocks_of_a_larger_evaluation_beside_those_of_the_training() -> None:
    # 63.3 GiB were reserved in the notebook with this model.
    with_it, without = of_the_notebook(plan__lora_r=64).estimate(), of_the_notebook(plan__lora_r=64, plan__evaluate=False).estimate()
    assert with_it.reserved.expected == pytest.approx(63.3 * GIB, rel=0.1)
    assert with_it.reserved.expected > without.reserved.expected + 40 * GIB
    as_large = of_the_notebook(plan__lora_r=64, plan__eval_batch_size=2).estimate()
    assert as_large.reserved.expected < with_it.reserved.expected / 2


def test_ligers_loss_is_for_training_alone() -> None:
    with_liger, without = of_the_notebook(plan__liger=True, plan__use_cache=False), of_the_notebook(plan__use_cache=False)
    assert evaluation(with_liger)["logits"] == pytest.approx(evaluation(without)["logits"], rel=0.05)
