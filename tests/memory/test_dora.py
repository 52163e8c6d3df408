"""DoRA against peft's own code: what two steps of a few layers took under fake tensors (benchmarks/fit_draws.py, seed 20261211)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envdoctor.memory import dora
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Estimate
from envdoctor.memory.plan import Adapter, Plan, Stack
from envdoctor.memory.situation import planned
from envdoctor.memory.targets import tuned
from envdoctor.memory.widths import widths
from tests.memory.models import stated

_MODELS = json.loads((Path(__file__).parent / "counted.json").read_text())["models"]
_FALCON: dict[str, Any] = {"num_hidden_layers": 4, "vocab_size": 8192}
_LLAMA: dict[str, Any] = {"num_hidden_layers": 2, "vocab_size": 8192}
_MIB = 2**20


def estimate(model: str, cut: dict[str, Any], **facts: Any) -> Estimate:
    config = {**_MODELS[model]["config"], **cut}
    values = {"plan.method": "dora", "plan.load_dtype": "bfloat16", "packages.torch": "==2.13.0", "plan.lora_dropout": 0.0, **facts}
    named = {name.replace("__", "."): value for name, value in values.items()}
    return planned(stated(named), read_architecture(config)).estimate()


@pytest.mark.parametrize(
    ("model", "cut", "facts", "mib"),
    [
        (
            "falcon-7b",
            _FALCON,
            {
                "packages.transformers": "==4.45.2", "packages.peft": "==0.13.2", "plan.bf16": True, "plan.batch_size": 1,
                "plan.seq_len": 1000, "plan.gradient_checkpointing": True, "plan.attn": "sdpa",
                "plan.optimizer": "adamw_bnb_8bit", "plan.outputs_kept": True,
                "plan.lora_r": 256, "plan.lora_targets": ("all-linear",), "plan.distributed": "ddp", "gpu.count": 2,
            },
            6036,
        ),
        (
            "Llama-3.2-3B",
            _LLAMA,
            {
                "packages.transformers": "==4.51.3", "packages.peft": "==0.13.2", "plan.bf16": True, "plan.batch_size": 16,
                "plan.seq_len": 256, "plan.gradient_checkpointing": True, "plan.gradient_accumulation": 4,
                "plan.attn": "flash_attention_2",
                "plan.optimizer": "adamw_torch", "plan.lora_r": 128, "plan.lora_targets": ("down_proj",), "plan.distributed": "ddp",
                "gpu.count": 2, "plan.padding": True,
            },
            2035,
        ),
    ],
)  # fmt: skip
def test_the_identity_of_the_widest_input_is_counted(model: str, cut: dict[str, Any], facts: dict[str, Any], mib: int) -> None:
    assert estimate(model, cut, **facts).peak.total / _MIB == pytest.approx(mib, rel=0.08)


def _kept(peft: str, dropout: float, **more: Any) -> tuple[float, float]:
    architecture = read_architecture({**_MODELS["Llama-3.2-3B"]["config"], **_LLAMA})
    adapter = Adapter(8, ("down_proj",), dora=True, dropout=dropout)
    plan = Plan("adapter", "bfloat16", None, 1, 128, adapter=adapter, stack=Stack(peft=peft), **more)
    width, found = widths(architecture, plan), tuned(architecture, ("down_proj",))
    return dora.weights(plan, width, found) / (3072 * 8192), dora.results(plan, width, found[0]) / 3072


def test_a_second_product_keeps_a_copy_of_the_weight_up_to_peft_0_13_and_behind_a_dropout() -> None:
    assert _kept("0.13.2", 0.0) == (4, 8)
    assert _kept("0.21.2", 0.0) == (0, 6)
    assert _kept("0.21.2", 0.05) == (4, 8)


def test_the_forward_of_the_last_layer_has_the_copies_of_weights_that_autocast_made() -> None:
    """Beside a float32 base they wait for the backward; seed 20270703 had a DoRA whose fullest moment this is."""
    facts: dict[str, Any] = {
        "packages.transformers": "==4.51.3", "packages.peft": "==0.13.2", "plan.load_dtype": "float32", "plan.batch_size": 1,
        "plan.seq_len": 384, "plan.gradient_checkpointing": False, "plan.attn": "sdpa", "plan.optimizer": "sgd", "plan.lora_r": 8,
        "plan.lora_targets": ("all-linear",),
    }  # fmt: skip
    plain, mixed = (
        next(one for one in estimate("Llama-3.2-3B", _LLAMA, **facts, **more).moments if one.name == "forward of the last layer")
        for more in ({}, {"plan.bf16": True})
    )
    weights = plain.terms["weights"] - 8192 * 3072 * 4
    # Half of the layers' float32 weights, less those in front of the first adapter, and copies of the adapters.
    assert 0.35 * weights < mixed.terms["adapters"] - plain.terms["adapters"] < 0.55 * weights
