"""Layers that see a window of the row: which of a model's do, and the mask that they are given for it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.situation import planned
from tests.memory.models import stated

_MISTRAL: Mapping[str, object] = {
    "model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 32000, "tie_word_embeddings": False,
}  # fmt: skip
_ALL: dict[str, FactValue] = {
    "plan.method": "lora", "plan.lora_targets": ("q_proj",), "plan.lora_r": 8, "plan.lora_dropout": 0.0, "plan.batch_size": 1,
    "plan.load_dtype": "bfloat16", "plan.attn": "sdpa", "plan.gradient_checkpointing": False, "plan.trainer": "transformers",
    "plan.optimizer": "adamw_torch", "packages.transformers": "==5.0.0", "packages.torch": "==2.13.0", "packages.peft": "==0.18.0",
}  # fmt: skip


def kept(config: Mapping[str, object], tokens: int, **changed: FactValue) -> float:
    values = {**_ALL, "plan.seq_len": tokens, **{name.replace("__", "."): value for name, value in changed.items()}}
    moments = planned(stated(values), read_architecture({**_MISTRAL, **config})).estimate().moments
    return next(moment.terms["activations"] for moment in moments if moment.name == "loss")


@pytest.mark.parametrize(
    ("config", "share"),
    [
        ({"sliding_window": None}, 0.0),
        ({"sliding_window": 4096}, 1.0),
        ({}, 1.0),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, 0.0),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 24}, 0.25),
        ({"model_type": "gemma3_text", "head_dim": 128, "sliding_window": 1024}, 27 / 32),
        ({"model_type": "olmo3", "layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window": 4096}, 0.5),
        ({"model_type": "llama", "sliding_window": 4096}, 0.0),
    ],
)
def test_a_configuration_tells_which_layers_see_a_window(config: Mapping[str, object], share: float) -> None:
    assert read_architecture({**_MISTRAL, **config}).windowed == share


def test_a_row_as_long_as_the_window_has_a_mask_in_each_layer_and_keys_for_every_head() -> None:
    """Read and run: masking_utils.py of 5.0.0 makes one for sdpa where the row has no padding, from 4.53 on."""
    no_window: dict[str, object] = {"sliding_window": None}
    more = kept({}, 4096) - kept(no_window, 4096)
    assert more == pytest.approx(32 * 4096 * 2 * (4096 + 2 * (4096 - 1024)), rel=0.01)
    assert kept({}, 4095) == kept(no_window, 4095)
    assert kept({}, 4096, packages__transformers="==4.52.4") == kept(no_window, 4096, packages__transformers="==4.52.4")
    assert kept({}, 4096, plan__attn="flash_attention_2") == kept(no_window, 4096, plan__attn="flash_attention_2")


def test_float32_beside_a_mask_has_a_fused_kernel() -> None:
    """Without one it has none for shared keys, and multiplies matrices."""
    wide: dict[str, FactValue] = {"plan__load_dtype": "float32"}
    assert kept({}, 4096, **wide) < 0.6 * kept({"sliding_window": None}, 4096, **wide)
