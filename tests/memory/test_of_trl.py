"""What TRL's trainers do unless they are told otherwise, by release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB
from envdoctor.memory.plan import Plan
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import undecided, weigh
from tests.memory.models import LLAMA_2_13B, QWEN_HALF_B, stated

_ALL: Mapping[str, FactValue] = {
    "plan.method": "qlora", "plan.quant": "4bit", "plan.load_dtype": "bfloat16", "plan.batch_size": 2, "plan.seq_len": 2048,
    "plan.trainer": "trl", "packages.transformers": "==4.57.1", "packages.peft": "==0.18.0",
}  # fmt: skip


def plan(release: str, **changed: FactValue) -> Plan:
    values = {**_ALL, **{name.replace("__", "."): value for name, value in changed.items()}}
    facts = {**values, **({"packages.trl": f"=={release}"} if release else {})}
    return planned(stated(facts), read_architecture(LLAMA_2_13B)).plan


@pytest.mark.parametrize(
    ("release", "mixed", "prepared", "float32", "pieces"),
    [
        ("", None, True, True, 0),
        ("0.18.2", None, True, True, 0),
        ("0.19.0", "bfloat16", True, True, 0),
        ("0.25.1", "bfloat16", True, True, 0),
        ("0.26.0", "bfloat16", False, False, 0),
        ("1.6.0", "bfloat16", False, False, 0),
        ("1.7.1", "bfloat16", False, False, 256),
        ("1.16.0", "bfloat16", False, False, 256),
    ],
)
def test_each_release_has_its_defaults(release: str, mixed: str | None, prepared: bool, float32: bool, pieces: int) -> None:
    found = plan(release)
    assert found.adapter is not None
    assert (found.autocast, found.upcast, found.adapter.float32, found.loss_rows) == (mixed, prepared, float32, pieces)
    assert found.liger is found.cut_loss is bool(pieces)
    assert not found.fused_norms


def test_what_a_plan_says_goes_before_them() -> None:
    told = plan("1.16.0", plan__fp16=True, plan__kbit_preparation=True, plan__fused_loss="none")
    assert (told.autocast, told.upcast, told.loss_rows, told.liger) == ("float16", True, 0, False)
    assert plan("1.16.0", plan__bf16=False).autocast is None
    assert plan("1.14.0", plan__objective="dpo").loss_rows == 0
    assert plan("1.16.0", plan__objective="orpo").loss_rows == 0
    assert plan("1.16.0", plan__trainer="transformers").upcast
    assert plan("0.26.0", plan__objective="dpo").upcast
    assert not plan("0.29.0", plan__objective="dpo").upcast


def test_embeddings_and_output_layer_are_16_bits_again_behind_the_preparation() -> None:
    """peft_module_casting_to_bf16, for 4 bits under bfloat16."""

    def weights(**changed: FactValue) -> float:
        values = {**_ALL, "packages.trl": "==0.25.1", **{name.replace("__", "."): value for name, value in changed.items()}}
        return planned(stated(values), read_architecture(LLAMA_2_13B)).estimate().moments[-1].terms["weights"]

    ends = 2 * 32000 * 5120
    assert weights(plan__fp16=True) - weights() == pytest.approx(2 * ends, rel=0.01)
    assert weights(plan__quant="8bit", plan__fp16=True) == weights(plan__quant="8bit")


def test_the_logits_are_made_for_256_tokens_at_a_time() -> None:
    def logits(release: str) -> float:
        values = {**_ALL, "packages.trl": f"=={release}"}
        moments = planned(stated(values), read_architecture(LLAMA_2_13B)).estimate().moments
        return next(moment for moment in moments if moment.name == "loss").terms["logits"]

    assert logits("1.13.0") < 256 * 32000 * 16 + 2 * 2048 * 5120 * 10
    # A tile of 4,096 tokens and 32,768 words in 16 bits.
    assert logits("1.16.0") < 4096 * 32768 * 2 + 2 * 2048 * 5120 * 10
    assert logits("1.6.0") > 2 * 2048 * 32000 * 8


def test_a_release_that_nobody_states_is_open_to_what_is_default_today() -> None:
    def open_to(**more: FactValue) -> float:
        values = {**_ALL, **{name.replace("__", "."): value for name, value in more.items()}}
        found = planned(stated(values), read_architecture(LLAMA_2_13B))
        return next((one.allocated.low for one in weigh(found, found.estimate()) if one.fact == "packages.trl"), 0.0)

    today = planned(stated({**_ALL, "packages.trl": "==1.16.0"}), read_architecture(LLAMA_2_13B)).estimate()
    assert open_to() == today.peak.total
    # TRL 0.26 and later ask for transformers 4.56.
    assert open_to(packages__transformers="==4.51.3") == open_to(packages__trl="==0.19.0") == open_to(plan__trainer="transformers") == 0


@pytest.mark.parametrize(
    ("release", "facts", "counted"),
    [
        # The most that lived at once in its own code under fake tensors, in GiB: Qwen2.5-7B of three layers, two padded rows of 2,048
        # tokens, torch 2.13.0, transformers 5.24.0 and peft 0.21.2.
        ("1.7.1", {}, 6.683),
        ("1.12.0", {"plan.method": "full", "plan.optimizer": "sgd"}, 7.722),
        ("1.13.0", {}, 4.633),
        ("1.13.0", {"plan.method": "full", "plan.optimizer": "sgd"}, 6.717),
    ],
)
def test_the_loss_in_pieces_copies_the_output_layer_in_some_releases(release: str, facts: dict[str, FactValue], counted: float) -> None:
    config = json.loads((Path(__file__).parent / "counted.json").read_text())["models"]["Qwen2.5-7B"]["config"]
    known: dict[str, FactValue] = {
        "packages.torch": "==2.13.0", "packages.transformers": "==5.24.0", "packages.peft": "==0.21.2", "packages.trl": f"=={release}",
        "plan.trainer": "trl", "plan.method": "lora", "plan.load_dtype": "bfloat16", "plan.bf16": True, "plan.batch_size": 2,
        "plan.seq_len": 2048, "plan.padding": True, "plan.gradient_checkpointing": True, "plan.attn": "sdpa", "plan.lora_r": 8,
        "plan.optimizer": "adamw_torch", "plan.lora_targets": ("q_proj", "v_proj"), "plan.lora_dropout": 0.0,
    }  # fmt: skip
    architecture = read_architecture({**config, "num_hidden_layers": 3})
    assert planned(stated({**known, **facts}), architecture).estimate().peak.total / GIB == pytest.approx(counted, rel=0.015)


def test_the_kernel_of_later_releases_has_a_tile_of_the_logits() -> None:
    earlier, later = (planned(stated({**_ALL, "packages.trl": f"=={one}"}), read_architecture(LLAMA_2_13B)) for one in ("1.12.0", "1.16.0"))
    assert (earlier.plan.loss_way, later.plan.loss_way) == ("float32", "tiles")
    logits = [max(moment.terms.get("logits", 0.0) for moment in one.estimate().moments) for one in (earlier, later)]
    assert logits[1] < logits[0] - 3 * 32000 * 5120


def test_a_loss_in_pieces_tells_the_release_that_nobody_states() -> None:
    asked = plan("", plan__fused_loss="chunked_cross_entropy")
    assert asked == plan("1.7.1", plan__fused_loss="chunked_cross_entropy")
    assert (asked.loss_rows, asked.loss_way, asked.upcast, asked.chunked_loss) == (256, "float32", False, False)


@pytest.mark.parametrize(("release", "earlier"), [("", ["4.35.2", "4.45.2"]), ("0.12.0", ["4.45.2"]), ("0.18.0", [])])
def test_a_release_of_transformers_that_trl_refuses_is_not_open(release: str, earlier: list[str]) -> None:
    values: dict[str, FactValue] = {**_ALL, "plan.method": "lora", "plan.quant": "none", "packages.trl": f"=={release}"}
    left_out = {"packages.transformers"} | ({"packages.trl"} if not release else set())
    facts = {name: value for name, value in values.items() if name not in left_out}
    found = planned(stated(facts), read_architecture(LLAMA_2_13B))
    open_facts = [one for one in weigh(found, found.estimate()) if one.fact == "packages.transformers"]
    assert [getattr(other, "text", "") for one in open_facts for other in one.others] == earlier


def asked(release: str, **changed: FactValue) -> Planned:
    of_half: Mapping[str, FactValue] = {**_ALL, "plan.method": "lora", "plan.quant": "none", "plan.gradient_checkpointing": True}
    values = {**of_half, **{name.replace("__", "."): value for name, value in changed.items()}}
    facts = {**values, **({"packages.trl": f"=={release}"} if release else {})}
    return planned(stated(facts), read_architecture(QWEN_HALF_B))


@pytest.mark.parametrize(("goal", "pieces"), [("dpo", True), ("kto", True), ("grpo", True), ("rloo", True), ("orpo", False)])
def test_preferences_and_answers_are_scored_without_logits_from_1_15_on(goal: str, pieces: bool) -> None:
    """``fused_lm_head=True`` of the trainers: 14 GiB of logits beside a model of 0.5B become less than one, whatever loss is asked for."""
    earlier, later = (asked(release, plan__objective=goal).estimate() for release in ("1.14.0", "1.15.0"))
    logits = [max(moment.terms.get("logits", 0.0) for moment in one.moments) for one in (earlier, later)]
    assert (logits[1] < 0.2 * logits[0]) is pieces
    assert (later.allocated.expected < earlier.allocated.expected) is pieces
    assert asked("1.15.0", plan__objective=goal, plan__liger=True).estimate().allocated.expected <= later.allocated.expected
    # A release that nobody states leaves open which of the two it is.
    unsaid = asked("", plan__objective=goal)
    assert ("packages.trl" in {one.fact for one in undecided(unsaid, unsaid.estimate())}) is pieces
