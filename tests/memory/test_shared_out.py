"""What several GPUs gather, keep and share of a model: FSDP of both kinds, and layers that are cut among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.memory.config import read_architecture
from envdoctor.memory.exact import child_params, unmeasurable
from envdoctor.memory.fsdp import gathered, kept_after_forward
from envdoctor.memory.plan import Plan
from envdoctor.memory.sharding import waits_to_reduce
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import spanning, undecided
from envdoctor.records import replace

QWEN = json.loads((Path(__file__).parent / "counted.json").read_text())["models"]["Qwen2.5-7B"]["config"]
CUT = {**QWEN, "num_hidden_layers": 4}
STATED: Mapping[str, object] = {
    "packages.torch": "==2.13.0", "packages.transformers": "==5.0.0", "packages.peft": "==0.21.2", "plan.method": "full",
    "plan.load_dtype": "float32", "plan.bf16": True, "plan.batch_size": 2, "plan.seq_len": 512, "plan.padding": False,
    "plan.gradient_checkpointing": True, "plan.attn": "sdpa", "plan.optimizer": "adamw_torch", "plan.distributed": "fsdp", "gpu.count": 4,
}  # fmt: skip
SHORT: Mapping[str, object] = {
    "plan__method": "lora", "plan__load_dtype": "bfloat16", "plan__batch_size": 1, "plan__seq_len": 128, "plan__optimizer": "sgd",
    "plan__lora_targets": ["q_proj", "v_proj"],
}  # fmt: skip
MIB = 2**20


def situation(*config: Mapping[str, object], **more: object) -> Planned:
    table = {**STATED, **{name.replace("__", "."): value for name, value in more.items()}}
    facts = Facts({name: Fact(name, parse_value(name, value), Origin("facts.toml")) for name, value in table.items()})
    return planned(facts, read_architecture(*config or (CUT,)))


@pytest.mark.parametrize(
    ("more", "counted"),
    [
        # The most that lived at once in runs of the real code with torch 2.13.0 under fake tensors, one of four ranks, in MiB.
        ({}, 12931.0),
        ({"plan__fsdp_version": 2, "packages__accelerate": "==1.15.0"}, 10074.2),
        ({"plan__method": "lora", "plan__load_dtype": "bfloat16", "plan__fsdp_version": 2, "packages__accelerate": "==1.15.0"}, 4597.4),
        ({"plan__method": "lora", "plan__load_dtype": "bfloat16"}, 5334.6),
        # Short rows, so that two layers at once are most of it.
        ({**SHORT, "plan__gradient_checkpointing": True, "plan__lora_dropout": 0.0}, 3968.9),
        ({**SHORT, "plan__gradient_checkpointing": False, "plan__lora_dropout": 0.05}, 4031.2),
        ({**SHORT, "plan__gradient_checkpointing": False, "plan__lora_dropout": 0.0, "plan__lora_targets": ["down_proj"]}, 4043.2),
    ],
)
def test_the_fullest_moment_is_that_of_fsdps_own_code(more: Mapping[str, object], counted: float) -> None:
    assert situation(**more).estimate().peak.total / MIB == pytest.approx(counted, rel=0.02)


def test_inputs_of_frozen_layers_are_held_to_the_end_by_the_reentrant_way_alone() -> None:
    """4,686 MiB without it, 5,069 with it: a Qwen3-8B of 12 layers and 2,000 words on four ranks of the real code, torch 2.13.0."""
    boundary = 3584 * 2 * 4 * 2048
    longer: dict[str, object] = {**SHORT, "plan__batch_size": 4, "plan__seq_len": 2048, "plan__lora_targets": ["all-linear"]}
    first = [
        next(moment for moment in situation(**longer, **way).estimate().moments if moment.name == "backward of the first layer").total
        for way in ({}, {"plan__use_reentrant": True}, {"plan__use_reentrant": False})
    ]
    assert first[0] == first[1]
    assert first[1] - first[2] == pytest.approx((3 + 2) * boundary)


def test_mixed_precision_gathers_what_it_computes_in() -> None:
    wide = situation(plan__bf16=False).estimate().peak
    assert wide.terms["weights"] > 1.5 * situation().estimate().peak.terms["weights"]


def test_frozen_weights_are_float32_beside_fsdp2_before_accelerate_1_13() -> None:
    more = {"plan__method": "lora", "plan__load_dtype": "bfloat16", "plan__fsdp_version": 2}
    before, after = (situation(**more, packages__accelerate=f"=={release}").estimate() for release in ("1.12.0", "1.13.0"))
    held = [estimate.moments[-1].terms["weights"] for estimate in (before, after)]
    assert held[0] == pytest.approx(2 * held[1], rel=0.01)


def test_what_is_copied_out_of_a_buffer_is_there_twice() -> None:
    plan: Plan = replace(situation(plan__fsdp_version=2, packages__accelerate="==1.10.1").plan)
    assert plan.second
    twice = gathered(plan, embedding=10.0, head=10.0, layer=4.0, made=5.0)
    once = gathered(replace(plan, second=False), embedding=10.0, head=10.0, layer=4.0, made=5.0)
    assert (twice.first, once.first) == (48.0, 24.0)
    assert (twice.loss, once.loss) == (24.0, 20.0)


def test_a_rank_of_fsdp_is_measured_and_one_of_zero_is_not() -> None:
    plan = situation(plan__fsdp_version=2, packages__accelerate="==1.12.0").plan
    assert unmeasurable(plan) is None
    assert child_params(CUT, plan, None)["sharding"] == {
        "gpus": 4,
        "second": True,
        "widens_all": True,
        "ends_apart": False,
        "waits_to_reduce": True,
    }
    assert child_params(CUT, replace(plan, gpus=1), None)["sharding"] is None
    assert unmeasurable(replace(plan, quant="4bit", method="adapter")) is not None
    assert "zero3" in (unmeasurable(replace(plan, sharding="zero3")) or "")


def test_layers_that_are_cut_leave_each_gpu_its_part() -> None:
    alone = situation(plan__distributed="none", gpu__count=1).estimate()
    cut = situation(plan__distributed="none", gpu__count=4, plan__tensor_parallel=4)
    assert (cut.plan.tensor, cut.plan.gpus, cut.plan.sharding) == (4, 1, "none")
    whole, part = alone.moments[0].terms["weights"], cut.estimate().moments[0].terms["weights"]
    # Of four layers with a large vocabulary a half is the embedding, which is whole.
    embedding = QWEN["vocab_size"] * QWEN["hidden_size"] * 4
    assert part - embedding == pytest.approx((whole - embedding) / 4, rel=0.01)


@pytest.mark.parametrize("fact", ["plan.pipeline_parallel", "plan.expert_parallel", "plan.activation_offload"])
def test_what_has_no_term_is_named_with_the_range_that_it_leaves(fact: str) -> None:
    value = True if fact == "plan.activation_offload" else 4
    more = {fact.replace(".", "__"): value, "plan__seq_len": 8192, "plan__distributed": "none", "gpu__count": 1}
    asked = situation(QWEN, **more, plan__gradient_checkpointing=False)
    computed = asked.estimate()
    found = [one for one in undecided(asked, computed) if one.fact == fact]
    assert [one.modelled for one in found] == [False]
    assert found[0].allocated.low < 0.75 * computed.allocated.expected == 0.75 * found[0].allocated.high
    assert spanning(computed, found).guessed


def test_a_model_that_cannot_be_cut_evenly_is_not_decided() -> None:
    asked = situation(plan__distributed="none", gpu__count=3, plan__tensor_parallel=3)
    assert asked.plan.tensor == 1
    assert "plan.tensor_parallel" in {one.fact for one in undecided(asked, asked.estimate())}


def test_what_is_gathered_for_a_moment_is_given_a_wider_range() -> None:
    few, many = situation().estimate().allocated, situation({**QWEN, "num_hidden_layers": 28}, gpu__count=2).estimate().allocated
    assert few.low < 0.85 * few.expected < 1.2 * few.expected < few.high
    assert (many.high - many.low) / many.expected < (few.high - few.low) / few.expected


def test_ddp_holds_a_copy_of_all_gradients_in_its_buckets() -> None:
    # torch 2.13.0: the buffers of Reducer._get_zeros_like_grad_buckets after three steps are as many bytes as the parameters.
    more = {"plan__bf16": False, "plan__seq_len": 16, "plan__batch_size": 1}
    alone = situation(plan__distributed="none", gpu__count=1, **more).estimate()
    copies = situation(plan__distributed="ddp", gpu__count=4, **more).estimate()
    assert copies.peak.terms["other"] - alone.peak.terms["other"] == pytest.approx(alone.moments[0].terms["weights"], rel=0.01)


@pytest.mark.parametrize("gpus", [2, 4, 8])
@pytest.mark.parametrize("stage", [2, 3])
def test_states_under_zero_are_those_of_deepspeeds_own_estimator(stage: int, gpus: int) -> None:
    """estimate_zero2_model_states_mem_needs and estimate_zero3_model_states_mem_needs (deepspeed/runtime/zero/stage_1_and_2.py, stage3.py):
    2 + 18 / N bytes a parameter, and 4 of the largest layer + 18 / N. Buckets are in neither, nor what stages flatten and keep."""
    more = {"plan__distributed": f"zero{stage}", "gpu__count": gpus, "plan__seq_len": 16, "plan__batch_size": 1}
    more["plan__optimizer"] = "adamw_torch_fused"
    found = situation(QWEN, **more, plan__load_dtype="bfloat16").estimate()
    count = 7_615_616_512
    states = {2: 2 * count + 18 * count / gpus, 3: 4 * QWEN["vocab_size"] * QWEN["hidden_size"] + 18 * count / gpus}[stage]
    step = next(moment for moment in found.moments if moment.name == "optimizer step").total
    assert 0.99 * states < step + (4 * QWEN["vocab_size"] * QWEN["hidden_size"] if stage == 3 else 0) < 1.25 * states


def test_layers_that_keep_their_weights_after_the_forward_have_all_of_them_at_the_loss() -> None:
    plan = situation(plan__fsdp_version=1).plan
    given_back = gathered(plan, embedding=10.0, head=10.0, layer=4.0, made=5.0)
    kept = kept_after_forward(replace(plan, resharded=False), given_back, layer=4.0, layers=8)
    assert (given_back.loss, kept.loss) == (20.0, 52.0)
    assert (kept.layer, kept.lowest) == (52.0, given_back.lowest)
    assert kept_after_forward(plan, given_back, layer=4.0, layers=8) == given_back


def test_fully_shard_reduced_every_micro_batch_before_accelerate_could_tell_it_to_wait() -> None:
    facts: dict[str, object] = {"plan__method": "full", "plan__gradient_accumulation": 4, "plan__fsdp_version": 2}
    before = situation(**facts, packages__accelerate="==1.10.1")
    since = situation(**facts, packages__accelerate="==1.11.0")
    assert [waits_to_reduce(one.plan) for one in (before, since)] == [False, True]
    assert waits_to_reduce(replace(before.plan, second=False))

    def at_the_loss(one: Planned) -> float:
        return next(moment for moment in one.estimate().moments if moment.name == "loss").terms["gradients"]

    # The whole ones are in the dtype that is computed in, the parts of four GPUs in float32.
    assert at_the_loss(since) == pytest.approx(2 * at_the_loss(before), rel=0.01)


def test_a_model_around_another_one_is_run_with_the_embeddings_that_are_counted() -> None:
    """Mistral-Small without weights: transformers 5 ties them unless it is told not to, and not those of a checkpoint that has both."""
    inner = {**CUT, "model_type": "mistral"}
    inner.pop("tie_word_embeddings", None)
    around = {"model_type": "mistral3", "text_config": inner}
    plan = situation().plan
    run = child_params(around, plan, None)["config"]
    assert run == {**around, "tie_word_embeddings": False, "text_config": {**inner, "tie_word_embeddings": False}}
    for stated in (
        {**around, "tie_word_embeddings": True},
        {"model_type": "gemma3", "text_config": {**inner, "model_type": "gemma3_text"}},
        inner,
    ):
        assert child_params(stated, plan, None)["config"] == stated


def test_megatron_keeps_float32_gradients_and_shares_out_masters_and_states() -> None:
    """2 bytes a parameter, 4 of its gradient, and 12 of master and states among the ranks of the same part (megatron-core 0.16.1)."""
    megatron = {"plan__distributed": "megatron", "plan__batch_size": 1, "plan__load_dtype": "bfloat16"}
    alone = situation(QWEN, **megatron, plan__tensor_parallel=1).estimate()
    cut = situation(QWEN, **megatron, plan__tensor_parallel=2, gpu__count=8).estimate()
    for computed, part in ((alone, 1), (cut, 2)):
        terms = computed.peak.terms
        assert terms["weights"] == pytest.approx(2 * 7.616e9 / part, rel=0.01)
        assert terms["gradients"] == pytest.approx(4 * 7.616e9 / part, rel=0.05)
        assert terms["optimizer"] == pytest.approx(12 * 7.616e9 / part / 4, rel=0.01)
    # Logits are cut by the vocabulary, too.
    assert cut.peak.terms.get("logits", 0.0) < 0.6 * max(moment.terms.get("logits", 0.0) for moment in alone.moments)
