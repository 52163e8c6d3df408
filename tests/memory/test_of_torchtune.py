"""Optimizers that step inside the backward, states of a dtype of their own, and a loss in pieces."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB, Estimate
from envdoctor.memory.exact import unmeasurable
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import weigh
from tests.memory.models import QWEN_HALF_B, stated

FULL: Mapping[str, FactValue] = {
    "plan.method": "full", "plan.load_dtype": "bfloat16", "plan.batch_size": 2, "plan.seq_len": 512, "plan.attn": "sdpa",
    "plan.gradient_checkpointing": True, "plan.optimizer": "adamw_torch", "plan.trainer": "torchtune", "packages.torch": "==2.11.0",
}  # fmt: skip


def situation(**changed: FactValue) -> Planned:
    values = {**FULL, **{name.replace("__", "."): value for name, value in changed.items()}}
    return planned(stated(values), read_architecture(QWEN_HALF_B))


def estimate(**changed: FactValue) -> Estimate:
    return situation(**changed).estimate_with({})


def parts(found: Estimate, moment: str) -> dict[str, float]:
    return {term: size / GIB for term, size in next(one.terms for one in found.moments if one.name == moment).items()}


def test_an_optimizer_in_the_backward_keeps_no_gradients() -> None:
    after, inside = estimate(), estimate(plan__optimizer_in_backward=True)
    assert parts(after, "optimizer step")["gradients"] == pytest.approx(0.92, abs=0.01)
    assert "gradients" not in parts(inside, "optimizer step")
    # The embedding is the output layer, too: its gradient waits until both are there.
    tied = 151936 * 896 * 2 / GIB
    assert parts(inside, "backward of the last layer")["gradients"] == pytest.approx(tied)
    assert parts(inside, "backward of the embeddings")["gradients"] == pytest.approx(2 * tied)
    # What the step makes is of one parameter, and not of all at once.
    assert parts(inside, "optimizer step")["optimizer"] < parts(after, "optimizer step")["optimizer"]
    assert inside.allocated.expected < after.allocated.expected


def test_states_have_the_dtype_that_is_stated() -> None:
    wide: Mapping[str, FactValue] = {"plan__load_dtype": "float32", "plan__optimizer": "adamw_torch_fused"}
    usual, narrow = estimate(**wide), estimate(**wide, plan__optimizer_state_dtype="bfloat16")
    assert parts(usual, "optimizer step")["optimizer"] == pytest.approx(2 * parts(narrow, "optimizer step")["optimizer"])


def test_a_loss_in_pieces_is_as_large_as_two_runs_of_torchtune_measured() -> None:
    lora: Mapping[str, FactValue] = {
        "plan__method": "lora", "plan__lora_r": 16, "plan__seq_len": 2048, "plan__packing": True, "plan__padding": False,
        "plan__optimizer": "adamw_torch_fused",
        "plan__lora_targets": ("q_proj", "v_proj", "output_proj", "gate_proj", "up_proj", "down_proj"),
    }  # fmt: skip
    # benchmarks/unseen/memory-8.json, 23 and 24: 5.444 GiB on one GPU, 4.591 of each of eight.
    assert estimate(**lora).allocated.expected / GIB == pytest.approx(5.444, rel=0.05)
    assert estimate(**lora, plan__distributed="fsdp", gpu__count=8).allocated.expected / GIB == pytest.approx(4.591, rel=0.05)
    whole = estimate(**lora, plan__fused_loss="none")
    assert whole.allocated.expected > 1.3 * estimate(**lora).allocated.expected
    assert ("plan.fused_loss", "as torchtune's configurations compute it") in [(one.fact, one.why) for one in situation(**lora).assumptions]


@pytest.mark.parametrize(
    "changed", [{"plan__optimizer_in_backward": True}, {"plan__optimizer_state_dtype": "bfloat16"}, {"plan__fused_loss": "chunked"}]
)
def test_they_are_not_played_through(changed: dict[str, FactValue]) -> None:
    plan = situation(**{"plan__trainer": "own", **changed}).plan
    assert unmeasurable(plan) == "an optimizer or a loss of a trainer's own is not played through"


def test_a_trainer_of_an_unknown_name_is_a_loop_of_its_own() -> None:
    def open_of(trainer: str) -> set[str]:
        asked = situation(
            plan__trainer=trainer, plan__method="qlora", plan__quant="4bit", packages__transformers="==5.0.0", packages__peft="==0.18.0"
        )
        return {one.fact for one in weigh(asked, asked.estimate_with({}))}

    assert {"plan.kbit_preparation", "plan.loss_upcast"} <= open_of("a subclass of somebody's")
    assert open_of("a subclass of somebody's") == open_of("own")
    assert not {"plan.kbit_preparation", "plan.loss_upcast"} & open_of("transformers")
