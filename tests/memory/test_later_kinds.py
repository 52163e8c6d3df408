"""Kinds of models that came later or are no plain decoders: their parameters, and their peaks, against the modules of transformers.

``counted_later.json`` was counted on the meta device with transformers 5.24.0, the peaks under fake tensors with torch 2.13.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.parameters import parameters
from envdoctor.memory.plan import Adapter, Plan, Stack
from tests.each import each

MODELS: Mapping[str, Any] = json.loads(Path(__file__).with_name("counted_later.json").read_text())["models"]
STACK = Stack(torch="2.13.0", transformers="5.24.0", peft="0.21.2", fla="-", mamba="-")
# MiB of the most that was allocated: in full by SGD, and in full by AdamW with checkpointing.
PEAKS = {
    "gemma4-E2B": (8_462.9, 14_927.4),
    "gemma4-31B": (21_942.8, 41_391.6),
    "gemma4-26B-A4B": (8_392.9, 13_180.0),
    "llama4": (1_091.0, 1_616.4),
    "nemotron3": (4_763.2, 9_621.5),
}


@each("name", MODELS)
def test_every_parameter_is_counted(name: str) -> None:
    architecture = read_architecture(MODELS[name]["config"])
    assert (parameters(architecture).total, architecture.known) == (MODELS[name]["total"], True)


@each(("name", "checkpointing"), [(name, checkpointing) for name in PEAKS for checkpointing in (False, True)])
def test_the_peak_is_near_that_of_the_real_code(name: str, checkpointing: bool) -> None:
    chosen = "adamw_torch" if checkpointing else "sgd"
    plan = Plan("full", "bfloat16", None, 2, 512, optimizer=chosen, checkpointing=checkpointing, stack=STACK)
    counted = estimate(read_architecture(MODELS[name]["config"]), plan).peak.total / 2**20
    assert counted == pytest.approx(PEAKS[name][checkpointing], rel=0.05)


def test_layers_that_take_earlier_keys_have_none_of_their_own() -> None:
    architecture = read_architecture(MODELS["gemma4-E2B"]["config"])
    names = [{one.name for one in kind.linears} for _, kind in architecture.kinds]
    assert [times for times, _ in architecture.kinds] == [5, 1, 3, 1]
    assert ["k_proj" in one for one in names] == [True, True, False, False]


def copied(*saved: str) -> Plan:
    adapter = Adapter(8, ("q_proj", "v_proj"), saved)
    return Plan("adapter", "bfloat16", "bfloat16", 1, 512, adapter, optimizer="sgd", checkpointing=True, stack=STACK)


def test_the_gradient_of_a_copied_embedding_comes_last() -> None:
    """An output layer that is trained beside an adapter has its gradient first of all, the embedding the last."""
    config = {"model_type": "mistral", "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 65536}
    made = estimate(read_architecture(config), copied("embed_tokens", "lm_head"))
    gradients = {moment.name: moment.terms.get("gradients", 0.0) for moment in made.moments}
    one = 65536 * 1024 * 2
    assert gradients["backward of the last layer"] == pytest.approx(one, rel=0.01)
    assert gradients["backward of the embeddings"] == pytest.approx(2 * one, rel=0.01)


def test_an_adapter_beside_the_last_product_alone_leaves_the_first_layer_without_anything_before_it() -> None:
    config = {"model_type": "mistral", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 1000}
    kept = []
    for targets in (("down_proj",), ("q_proj", "down_proj")):
        plan = Plan("adapter", "bfloat16", None, 1, 512, Adapter(8, targets), optimizer="sgd", stack=STACK)
        moment = next(one for one in estimate(read_architecture(config), plan).moments if one.name == "loss")
        kept.append(moment.terms["activations"])
    assert kept[0] < 0.75 * kept[1]
