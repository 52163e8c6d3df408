"""Adapters that axolotl's and Unsloth's kernels compute together with the products beside which they stand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory import pieces
from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.undecided import spanning, weigh
from envdoctor.records import replace
from tests.memory.models import LLAMA_2_13B, QWEN_HALF_B, stated

_LLAMA: Mapping[str, object] = {
    "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "tie_word_embeddings": True,
}  # fmt: skip
_QWEN: Mapping[str, object] = {
    "model_type": "qwen3", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip
_SMALL: Mapping[str, object] = {**_QWEN, "hidden_size": 1024, "intermediate_size": 3072}
_ALL: Mapping[str, FactValue] = {
    "plan.method": "lora", "plan.load_dtype": "bfloat16", "plan.bf16": True, "plan.batch_size": 1, "plan.seq_len": 65536,
    "plan.gradient_checkpointing": True, "plan.attn": "flash_attention_2", "plan.trainer": "axolotl", "plan.liger": True,
    "plan.fused_loss": "linear_cross_entropy", "plan.lora_r": 16, "plan.lora_targets": ("all-linear",), "plan.use_cache": False,
    "packages.torch": "==2.12.0", "packages.transformers": "==5.5.0",
}  # fmt: skip


def situation(config: Mapping[str, object], **changed: FactValue) -> Planned:
    values = {**_ALL, **{name.replace("__", "."): value for name, value in changed.items()}}
    return planned(stated(values), read_architecture(config))


def peak(config: Mapping[str, object], **changed: FactValue) -> float:
    return situation(config, **changed).estimate().peak.total / 2**30


@pytest.mark.parametrize(
    ("config", "tokens", "measured"),
    [
        (_LLAMA, 32768, 6.90), (_LLAMA, 65536, 11.35), (_LLAMA, 131072, 20.26),
        (_QWEN, 32768, 9.26), (_QWEN, 65536, 15.09), (_QWEN, 131072, 26.82),
        # Its attention is wider than its network, whose backward is not the fullest moment.
        (_SMALL, 32768, 4.70), (_SMALL, 131072, 15.08),
    ],
)  # fmt: skip
def test_long_rows_of_axolotl_take_what_was_measured(config: Mapping[str, object], tokens: int, measured: float) -> None:
    """The table of https://github.com/axolotl-ai-cloud/axolotl/pull/3800, before its change."""
    assert peak(config, plan__seq_len=tokens) == pytest.approx(measured, rel=0.04)


def test_each_kernel_saves_and_an_empty_list_turns_them_off() -> None:
    sizes = [peak(_LLAMA, plan__lora_kernels=kernels) for kernels in ((), ("o",), ("qkv", "o"), ("mlp", "qkv", "o"))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == peak(_LLAMA)
    assert sizes[0] > 1.4 * sizes[-1]


@pytest.mark.parametrize(
    ("changed", "kernels"),
    [
        ({"packages.axolotl": "==0.10.0"}, True),
        ({"packages.axolotl": "==0.9.2"}, False),
        ({"packages.axolotl": "==0.9.2", "plan.lora_kernels": ("mlp",)}, True),
        ({"packages.axolotl": "==0.15.0", "plan.lora_dropout": 0.05}, False),
        ({"packages.axolotl": "==0.16.0", "plan.lora_dropout": 0.05}, True),
        ({"plan.quant": "8bit"}, False),
        ({"plan.trust_remote_code": True}, False),
        ({"plan.objective": "dpo"}, False),
        ({"plan.distributed": "fsdp", "gpu.count": 2, "plan.fsdp_version": 1}, False),
        ({"plan.distributed": "fsdp", "gpu.count": 2, "plan.fsdp_version": 2}, True),
        ({"plan.method": "full"}, False),
        ({"plan.trainer": "trl", "plan.lora_kernels": ("mlp",)}, False),
        ({"plan.trainer": "unsloth"}, True),
        ({"plan.trainer": "unsloth", "plan.lora_dropout": 0.1}, False),
    ],
)
def test_whether_they_are_used_follows_from_plan_and_release(changed: Mapping[str, FactValue], kernels: bool) -> None:
    assert bool(planned(stated({**_ALL, **changed}), read_architecture(_LLAMA)).plan.lora_kernels) is kernels


def test_a_default_that_nobody_stated_leaves_the_range_of_both() -> None:
    found = situation(_LLAMA)
    computed = found.estimate()
    held = spanning(computed, weigh(found, computed)).allocated
    without = peak(_LLAMA, plan__lora_kernels=()) * 2**30
    assert held.low <= computed.peak.total <= without <= held.high * 1.001
    said = situation(_LLAMA, plan__lora_kernels=("mlp", "qkv", "o"))
    assert "plan.lora_kernels" not in {one.fact for one in weigh(said, said.estimate())}


def test_earlier_releases_add_what_an_adapter_makes_as_a_tensor_of_its_own() -> None:
    wide = 2 * 8192 * 65536 / 2**30
    assert peak(_LLAMA, packages__axolotl="==0.17.0") - peak(_LLAMA, packages__axolotl="==0.18.0") == pytest.approx(wide, rel=0.01)


def test_axolotl_makes_norms_and_embeddings_16_bits_again() -> None:
    quantized: dict[str, FactValue] = {"plan__method": "qlora", "plan__quant": "4bit", "plan__kbit_preparation": True}
    assert not situation(LLAMA_2_13B, **quantized).plan.upcast
    assert situation(LLAMA_2_13B, **quantized, plan__trainer="trl").plan.upcast


def test_cut_cross_entropy_alone_leaves_the_layers_as_they_are() -> None:
    plain = situation(_LLAMA, plan__liger=False).plan
    assert (plain.liger, plain.fused_norms, plain.fused_activation) == (True, False, False)
    assert situation(_LLAMA).plan.fused_norms


@pytest.mark.parametrize(
    ("release", "rows", "card", "count"),
    [
        ("2026.1.1", 4, 24.0, 1),  # 1.7 GiB of logits in float32, of which half a card takes all
        ("2026.1.1", 64, 24.0, 4),
        ("2026.8.1", 4, 80.0, 1),
        ("2026.8.1", 16, 80.0, 4),  # 6.7 GiB, and a piece takes 4 at most
        ("2026.10.9", 4, 80.0, 4),  # each logit counts four times as much
    ],
)
def test_unsloth_makes_as_many_pieces_as_half_of_the_free_memory_asks_for(release: str, rows: int, card: float, count: int) -> None:
    architecture = read_architecture(QWEN_HALF_B)
    found = situation(QWEN_HALF_B, plan__trainer="unsloth", packages__unsloth=f"=={release}", plan__seq_len=738).plan
    plan = replace(found, rows=rows, card=card)
    assert pieces.piece(architecture, plan, 2) == pytest.approx(14 * 151936 / count)
    assert pieces.piece(architecture, replace(plan, unsloth=False), 2) < 10_000


def test_a_release_of_unsloth_that_nobody_states_leaves_its_pieces_open() -> None:
    rows: dict[str, FactValue] = {"plan__trainer": "unsloth", "plan__batch_size": 16, "plan__seq_len": 1024}
    found = situation(QWEN_HALF_B, **rows)
    weighed = {one.fact: one for one in weigh(found, found.estimate())}
    assert (
        weighed["packages.unsloth"].allocated.high == situation(QWEN_HALF_B, **rows, packages__unsloth="==2026.1.1").estimate().peak.total
    )
    said = situation(QWEN_HALF_B, **rows, packages__unsloth="==2026.8.1")
    assert "packages.unsloth" not in {one.fact for one in weigh(said, said.estimate())}
