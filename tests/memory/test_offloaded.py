"""Inputs of checkpointed layers that wait on the CPU: Unsloth's way to checkpoint, and what a plan states."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import spanning, undecided, weigh
from tests.memory.models import stated

_LLAMA: Mapping[str, object] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
_LARGE = {**_LLAMA, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
_ALL: dict[str, FactValue] = {
    "plan.method": "qlora", "plan.quant": "4bit", "plan.trainer": "unsloth", "plan.batch_size": 1, "plan.lora_r": 32, "plan.bf16": True,
    "plan.lora_targets": ("all-linear",), "plan.load_dtype": "bfloat16", "plan.optimizer": "adamw_8bit", "plan.attn": "flash_attention_2",
    "packages.transformers": "==4.51.3", "packages.torch": "==2.6.0", "packages.unsloth": "==2025.2.15",
}  # fmt: skip


def situation(config: Mapping[str, object], tokens: int, **changed: FactValue) -> Planned:
    values = {**_ALL, "plan.seq_len": tokens, **{name.replace("__", "."): value for name, value in changed.items()}}
    return planned(stated(values), read_architecture(config))


@pytest.mark.parametrize(
    ("config", "card", "tokens"),
    [
        (_LLAMA, 8, 2972),
        (_LLAMA, 12, 21848),
        (_LLAMA, 16, 40724),
        (_LLAMA, 24, 78475),
        (_LLAMA, 40, 153977),
        (_LLAMA, 80, 342733),
        (_LARGE, 48, 12106),
        (_LARGE, 80, 89389),
    ],
)
def test_the_longest_rows_that_unsloth_takes_on_a_card_fill_it(config: Mapping[str, object], card: int, tokens: int) -> None:
    """The table of its README at 000252c9: https://github.com/unslothai/unsloth, "Context length benchmarks"."""
    assert situation(config, tokens).estimate().reserved.expected / 2**30 == pytest.approx(card, rel=0.12)


def test_inputs_stay_on_the_gpu_where_the_plan_says_so_and_that_is_named() -> None:
    open_, here = situation(_LLAMA, 40724), situation(_LLAMA, 40724, plan__activation_offload=False)
    boundary = 4096 * 2 * 40724
    moved = here.estimate().peak.total - open_.estimate().peak.total
    assert moved == pytest.approx(30 * boundary, rel=0.02)
    computed = open_.estimate()
    assert {one.fact for one in undecided(open_, computed)} == {"plan.activation_offload"}
    assert spanning(computed, weigh(open_, computed)).allocated.high >= here.estimate().peak.total
    assert not undecided(here, here.estimate())


def test_short_rows_are_not_moved() -> None:
    """Below 2 MiB of 16 bits (``MINIMUM_SIZE``, unsloth_zoo 2026.1.1)."""
    short, here = situation(_LLAMA, 256), situation(_LLAMA, 256, plan__activation_offload=False)
    assert short.estimate().peak.total == here.estimate().peak.total


def test_a_plan_that_offloads_what_it_checkpoints_has_five_inputs_on_their_way() -> None:
    plain: dict[str, FactValue] = {"plan__trainer": "trl", "plan__gradient_checkpointing": True, "plan__fused_loss": "linear_cross_entropy"}
    here, moved = (situation(_LLAMA, 40724, **plain, plan__activation_offload=value) for value in (False, True))
    less = here.estimate().peak.total - moved.estimate().peak.total
    assert less == pytest.approx(27 * 4096 * here.plan.tokens * (4 if here.plan.upcast else 2), rel=0.05)
    assert "plan.activation_offload" not in {one.fact for one in undecided(moved, moved.estimate())}


def test_unsloth_puts_the_frozen_copies_of_trained_modules_on_the_disk() -> None:
    saved: dict[str, FactValue] = {"plan__modules_to_save": ("embed_tokens", "lm_head")}
    weights = [
        situation(_LLAMA, 2048, **more).estimate().moments[-1].terms["weights"]
        for more in ({}, saved, {**saved, "plan__activation_offload": False})
    ]
    assert weights[0] - weights[1] == pytest.approx(2 * 128256 * 4096 * 2)
    assert weights[2] == weights[0]


def test_two_inputs_come_back_at_once_in_newer_releases() -> None:
    earlier, later = (situation(_LLAMA, 40724, packages__unsloth=f"=={release}") for release in ("2026.1.1", "2026.5.1"))
    assert later.estimate().peak.total - earlier.estimate().peak.total == pytest.approx(4096 * 2 * 40724)
