"""What makes a plan fit: never more memory, never what is not applicable, and the number that the user is given afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Origin
from envdoctor.memory.advice import Advice, advise
from envdoctor.memory.budget import usable_of
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB
from envdoctor.memory.fits import verdict
from envdoctor.memory.moves import Circumstances, moves
from envdoctor.memory.no_help import no_help
from envdoctor.memory.read_plan import read_plan
from envdoctor.memory.situation import Planned, planned
from tests.memory.models import CHATGLM3_6B, GLM_4_9B, LLAMA_2_13B, QWEN_HALF_B, stated

MODELS = {"llama": LLAMA_2_13B, "glm": GLM_4_9B, "qwen": QWEN_HALF_B, "chatglm": CHATGLM3_6B}
STACK = {"packages.torch": "2.5.0", "packages.transformers": "4.48.0", "packages.peft": "0.13.2"}


def situation(model: str, **plan: object) -> Planned:
    facts: dict[str, object] = {**STACK, "plan.lora_targets": ["query_key_value" if model == "chatglm" else "q_proj"]}
    facts |= {name.replace("__", "."): value for name, value in plan.items()}
    return planned(stated(facts), read_architecture(MODELS[model]))


def advised(one: Planned, card: float | None, **more: Any) -> tuple[Advice, ...]:
    memory = None if card is None else usable_of(card) * GIB
    circumstances = one.circumstances(**more)
    return advise(one.plan, one.estimate_with, memory, circumstances)


def useless(one: Planned, card: float) -> str:
    return "\n".join(no_help(one.plan, one.estimate_with, usable_of(card) * GIB, one.circumstances()))


PLANS = st.fixed_dictionaries(
    {
        "plan.method": st.sampled_from(("lora", "qlora", "full", "dora", "inference", "dpo", "prompt-tuning")),
        "plan.batch_size": st.integers(1, 16),
        "plan.seq_len": st.sampled_from((128, 512, 1000, 2048, 4096, 6001, 16384)),
        "plan.gradient_checkpointing": st.booleans(),
        "plan.attn": st.sampled_from(("eager", "sdpa", "flash_attention_2")),
        "plan.distributed": st.sampled_from(("none", "ddp", "zero1", "zero2", "zero3", "fsdp", "device_map")),
        "gpu.count": st.integers(1, 8),
        "plan.gradient_accumulation": st.integers(1, 4),
        "plan.optimizer": st.sampled_from(("adamw_torch", "adamw_8bit", "adafactor", "sgd")),
        "plan.load_dtype": st.sampled_from(("float32", "float16", "bfloat16")),
        "plan.quant": st.sampled_from(("none", "none", "8bit", "gptq")),
        "plan.liger": st.booleans(),
        "plan.offload": st.sampled_from(("none", "none", "optimizer", "both")),
        "plan.lora_r": st.sampled_from((8, 64)),
        "plan.lora_targets": st.just(["q_proj", "query_key_value"]),
    }
)
CARDS = st.sampled_from((8.0, 16.0, 24.0, 48.0, 80.0, 141.0))


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), PLANS, CARDS)
def test_every_advice_needs_less_and_fits_as_it_says(model: str, plan: Mapping[str, object], card: float) -> None:
    one = planned(stated({**STACK, **plan}), read_architecture(MODELS[model]))
    now, memory = one.estimate(), usable_of(card) * GIB
    told = advised(one, card)
    if verdict(now, memory).fits == "yes":
        assert told == ()
    for advice in told:
        size = advice.change.get("gpu.memory_gib")
        there = usable_of(float(str(size))) * GIB if size is not None else memory
        then = one.estimate_with(advice.change)
        assert advice.allocated == then.allocated
        assert advice.fits == verdict(then, there).fits
        assert advice.fits in ("yes", "tight")
        assert there > memory or then.allocated.expected < now.allocated.expected
        assert then.allocated.expected <= now.allocated.expected
        assert advice.cost
    if verdict(now, memory).fits == "tight":
        assert all(advice.fits == "yes" for advice in told)


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), PLANS, CARDS)
def test_whoever_states_the_change_is_given_the_number(model: str, plan: Mapping[str, object], card: float) -> None:
    architecture = read_architecture(MODELS[model])
    facts = stated({**STACK, **plan})
    for advice in advised(planned(facts, architecture), card):
        changed = facts.with_facts(Fact(name, value, Origin("--set")) for name, value in advice.change.items())
        assert estimate(architecture, read_plan(derive(changed), architecture)[0]).allocated == advice.allocated


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), PLANS, CARDS)
def test_nothing_that_is_not_applicable_is_proposed(model: str, plan: Mapping[str, object], card: float) -> None:
    for advice in advised(planned(stated({**STACK, **plan}), read_architecture(MODELS[model])), card):
        change = advice.change
        if change.get("plan.gradient_checkpointing") is True:
            assert plan["plan.gradient_checkpointing"] is False
            assert plan["plan.method"] != "inference"
        if plan["plan.method"] == "inference":
            assert not {"plan.optimizer", "plan.gradient_accumulation", "plan.liger", "plan.offload"} & set(change)
        if change.get("plan.distributed") in ("zero2", "zero3") and "plan.offload" not in change and "gpu.count" not in change:
            assert plan["gpu.count"] != 1
        if "gpu.count" in change:
            assert int(str(change["gpu.count"])) > int(str(plan["gpu.count"]))
        if "plan.batch_size" in change and "plan.gradient_accumulation" in change:
            before = int(str(plan["plan.batch_size"])) * int(str(plan["plan.gradient_accumulation"]))
            assert int(str(change["plan.batch_size"])) * int(str(change["plan.gradient_accumulation"])) == before
        if "plan.seq_len" in change:
            assert int(str(change["plan.seq_len"])) < int(str(plan["plan.seq_len"]))
        if change.get("plan.quant") == "4bit":
            assert change.get("plan.distributed") not in ("zero3", "fsdp")
            assert plan["plan.quant"] in ("none", "8bit")


def test_checkpointing_comes_first_and_is_enough_for_long_rows() -> None:
    one = situation("glm", plan__method="lora", plan__batch_size=1, plan__seq_len=8192, gpu__name="A100 80GB")
    first, *rest = advised(one, 48)
    assert dict(first.change) == {"plan.gradient_checkpointing": True}
    assert first.fits == "yes"
    assert "slower" in first.cost
    assert set(rest[-1].change) == {"gpu.memory_gib"}


def test_the_order_is_that_of_a_practitioner() -> None:
    one = situation("llama", plan__method="full", plan__batch_size=8, plan__seq_len=4096, plan__attn="eager", gpu__count=4)
    circumstances = Circumstances(method="full", kind="llama", half=True)
    names = [move.name for move in moves(one.plan, circumstances)]
    assert names == ["checkpointing", "attention", "batch", "liger", "length", "quant", "optimizer", "zero", "offload", "gpus"]


@pytest.mark.parametrize(
    ("facts", "taken"),
    [
        ({"plan__method": "lora", "plan__bf16": True, "gpu__name": "RTX 3090"}, "bfloat16"),
        ({"plan__method": "lora", "plan__fp16": True, "gpu__name": "RTX 3090"}, "bfloat16"),
        ({"plan__method": "lora", "plan__fp16": True, "gpu__name": "T4"}, "float16"),
        ({"plan__method": "inference", "gpu__name": "V100 32GB"}, "float16"),
        ({"plan__method": "full", "plan__bf16": True, "gpu__name": "A100 80GB"}, "bfloat16"),
        ({"plan__method": "full", "plan__fp16": True, "gpu__name": "T4"}, None),  # float16 weights cannot be trained
        ({"plan__method": "full", "plan__bf16": True, "plan__distributed": "zero2", "gpu__name": "A100 80GB x2"}, None),
    ],
)
def test_weights_of_float32_may_be_16_bits_where_the_card_computes_so(facts: Mapping[str, object], taken: str | None) -> None:
    one = situation("qwen", **{"plan__load_dtype": "float32", **facts})
    steps = [step for move in moves(one.plan, one.circumstances()) if move.name == "dtype" for step in move.steps]
    assert [step.change["plan.load_dtype"] for step in steps] == ([] if taken is None else [taken])
    assert not [move for move in moves(replace(one.plan, load_dtype="bfloat16"), one.circumstances()) if move.name == "dtype"]


def test_frozen_weights_in_16_bits_come_before_all_that_slows_a_run_down() -> None:
    one = situation("glm", plan__method="lora", plan__load_dtype="float32", plan__bf16=True, plan__batch_size=1, plan__seq_len=512)
    first = advised(one, 40)[0]
    assert dict(first.change) == {"plan.load_dtype": "bfloat16"}
    assert first.fits == "yes"


def test_a_smaller_batch_keeps_the_effective_batch() -> None:
    one = situation("qwen", plan__method="lora", plan__batch_size=32, plan__seq_len=2048, plan__gradient_checkpointing=True)
    batch = next(advice for advice in advised(one, 16) if "plan.batch_size" in advice.change)
    assert int(str(batch.change["plan.batch_size"])) * int(str(batch.change["plan.gradient_accumulation"])) == 32


def test_fused_loss_is_for_models_that_liger_knows() -> None:
    known = situation("qwen", plan__method="full", plan__batch_size=16, plan__seq_len=4096, plan__gradient_checkpointing=True)
    assert any("plan.liger" in advice.change for advice in advised(known, 24))
    own_code = situation("chatglm", plan__method="lora", plan__batch_size=16, plan__seq_len=4096, plan__gradient_checkpointing=True)
    assert not any("plan.liger" in advice.change for advice in advised(own_code, 16))


def test_where_no_change_is_enough_the_smallest_set_is() -> None:
    one = situation("llama", plan__method="full", plan__batch_size=1, plan__seq_len=4096, gpu__name="RTX 3090")
    first = advised(one, 24)[0]
    assert dict(first.change) == {"plan.gradient_checkpointing": True, "plan.method": "qlora", "plan.quant": "4bit", "plan.bf16": True}
    assert first.cost.count("speed not measured") == 1


def test_lengths_of_the_data_say_where_to_cut() -> None:
    one = situation("glm", plan__method="lora", plan__batch_size=1, plan__seq_len=32768, plan__gradient_checkpointing=True)
    told = advised(one, 80, lengths=((9000, 0.01), (4000, 0.05)))
    cut = next(advice for advice in told if "plan.seq_len" in advice.change)
    assert cut.cost == {9000: "1 % of the rows are cut", 4000: "5 % of the rows are cut"}[int(str(cut.change["plan.seq_len"]))]


def test_without_a_card_every_change_tells_what_it_leaves() -> None:
    one = situation("glm", plan__method="lora", plan__batch_size=4, plan__seq_len=4096)
    told = advised(one, None)
    assert [advice.fits for advice in told] == ["unknown"] * len(told)
    assert dict(told[0].change) == {"plan.gradient_checkpointing": True}


def test_replicas_of_13b_can_never_fit_24_gib() -> None:
    one = situation("llama", plan__method="lora", plan__batch_size=1, plan__seq_len=10, plan__distributed="ddp", gpu__count=3)
    assert verdict(one.estimate(), usable_of(24) * GIB).fits == "no"
    told = useless(one, 24)
    assert "every GPU holds a copy of all weights, 24.2 GiB; 23.6 GiB can never hold that" in told
    assert "more GPUs of this kind under DDP" in told
    for advice in advised(one, 24):
        assert set(advice.change) & {"plan.quant", "plan.distributed", "gpu.memory_gib"}


def test_a_second_gpu_does_not_share_out_activations() -> None:
    one = situation("glm", plan__method="lora", plan__batch_size=1, plan__seq_len=12000, plan__distributed="none", gpu__count=1)
    told = useless(one, 48)
    assert "a second GPU under ZeRO-3: still" in told
    assert "activations and logits" in told
    assert not any(advice.change.get("gpu.count") == 2 for advice in advised(one, 48))


def test_a_snapshot_whose_checkpointing_does_nothing_is_told_so() -> None:
    one = situation("chatglm", plan__method="lora", plan__batch_size=4, plan__seq_len=769, model__gc_support="no-op")
    assert not any("plan.gradient_checkpointing" in advice.change for advice in advised(one, 16))
    told = useless(one, 16)
    assert "this snapshot's own gradient_checkpointing_enable() switches nothing on" in told
    works = situation("chatglm", plan__method="lora", plan__batch_size=4, plan__seq_len=769, plan__gradient_checkpointing=True)
    assert f"then {works.estimate().allocated.expected / GIB:.1f} GiB" in told


def test_what_fits_needs_no_word_about_what_does_not_help() -> None:
    one = situation("qwen", plan__method="lora", plan__batch_size=1, plan__seq_len=512)
    assert advised(one, 24) == ()
    assert useless(one, 24) == ""


@settings(deadline=None)
@given(PLANS)
def test_no_move_repeats_what_the_plan_already_says(plan: Mapping[str, object]) -> None:
    assume(plan["plan.method"] != "dpo")
    one = planned(stated({**STACK, **plan}), read_architecture(LLAMA_2_13B))
    for move in moves(one.plan, one.circumstances()):
        assert move.steps
        for step in move.steps:
            assert any(one.facts.value(name) != value for name, value in step.change.items())


@pytest.mark.parametrize("method", ["dpo", "orpo"])
def test_pairs_are_counted_as_pairs(method: str) -> None:
    one = situation("qwen", plan__method=method, plan__lora_r=8, plan__batch_size=8, plan__seq_len=4096)
    assert one.plan.rows == 16
    batch = next(move for move in moves(one.plan, one.circumstances()) if move.name == "batch")
    assert [step.change["plan.batch_size"] for step in batch.steps] == [4, 2, 1]
