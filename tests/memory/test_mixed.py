"""Layers of several kinds: their parameters against the real modules, and what they keep against the same under fake tensors.

``counted_mixed.json`` was counted with transformers 5.23.0 and peft 0.21.2: the sizes are the defaults of the classes, with four layers and
8,192 words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.memory import kept
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.modeling import adapts_experts, as_merged
from envdoctor.memory.parameters import parameters
from envdoctor.memory.plan import Adapter, Plan, Stack
from envdoctor.memory.situation import planned
from envdoctor.memory.targets import adapter_parameters
from envdoctor.memory.undecided import undecided
from tests.each import each

MODELS: Mapping[str, Any] = json.loads(Path(__file__).with_name("counted_mixed.json").read_text())["models"]
NEW = Stack(torch="2.13.0", transformers="5.23.0", peft="0.21.2", fla="-", mamba="-")
FULL = Plan("full", "bfloat16", None, 2, 512, optimizer="sgd", stack=NEW)
# Bytes for each token that a layer of each kind keeps under fake tensors with transformers 5.23.0: attention and the other, in full.
KEPT = {
    "qwen3_5_text": (258_234, 542_030),
    "lfm2": (138_792, 137_244),
    "granitemoehybrid": (315_604, 1_811_528),
    "granite-dense": (106_632, 653_892),
    "bamba": (200_840, 1_709_052),
}
# Bytes of the most that is allocated there: in full, and in full with checkpointing.
PEAKS = {"qwen3_5_text": (3_989.3, 3_881.0), "lfm2": (1_502.3, 1_502.3), "granitemoehybrid": (19_870.0, 19_863.0)}


@each("name", MODELS)
def test_every_parameter_is_counted(name: str) -> None:
    architecture = read_architecture(MODELS[name]["config"])
    assert (parameters(architecture).total, architecture.known) == (MODELS[name]["total"], True)


@each("name", [name for name in MODELS if MODELS[name]["all-linear"]])
def test_adapters_beside_every_linear_layer(name: str) -> None:
    architecture = read_architecture(MODELS[name]["config"])
    if not adapts_experts(architecture, FULL, every=True):
        architecture = as_merged(architecture, FULL)
    # Experts whose gate and up are one parameter have one adapter of twice the rank.
    assert adapter_parameters(architecture, ("all-linear",), 4) == pytest.approx(MODELS[name]["all-linear"], rel=0.2)


@each("name", KEPT)
def test_a_layer_keeps_what_the_real_one_keeps(name: str) -> None:
    narrow = {"mamba_n_heads": 64, "mamba_expand": 1} if name == "granite-dense" else {}
    kinds = read_architecture({**MODELS[name]["config"], **narrow}).kinds
    counted = [sum(kept.layer(kind, FULL, ()).values()) for _, kind in kinds]
    assert [times for times, _ in kinds] == [1, 3]
    assert counted == [pytest.approx(bytes_, rel=0.06) for bytes_ in KEPT[name]]


@each(("name", "checkpointing"), [(name, checkpointing) for name in PEAKS for checkpointing in (False, True)])
def test_the_peak_is_near_that_of_the_real_code(name: str, checkpointing: bool) -> None:
    plan = Plan("full", "bfloat16", None, 2, 512, optimizer="sgd", checkpointing=checkpointing, stack=NEW)
    counted = estimate(read_architecture(MODELS[name]["config"]), plan).peak.total / 2**20
    assert counted == pytest.approx(PEAKS[name][checkpointing], rel=0.08)


def test_experts_are_not_quantized_where_they_are_parameters() -> None:
    """Qwen3-30B-A3B in 4 bits: bitsandbytes replaces linear layers, which its experts are no more in transformers 5."""
    model = json.loads(Path(__file__).with_name("counted.json").read_text())["models"]["Qwen3-30B-A3B"]["config"]

    def weights(release: str) -> float:
        adapter = Adapter(8, ("q_proj", "v_proj"))
        plan = Plan("adapter", "bfloat16", "bfloat16", 1, 512, adapter=adapter, quant="4bit", stack=Stack(transformers=release))
        return estimate(read_architecture(model), plan).moments[0].terms["weights"] / 2**30

    assert weights("4.57.1") == pytest.approx(17, abs=2)
    assert weights("5.0.0") == pytest.approx(56, abs=3)


def test_kernels_that_nobody_speaks_of_are_open_where_they_decide() -> None:
    def facts(**more: object) -> Facts:
        stated = {"plan.method": "full", "plan.seq_len": 4096, "plan.batch_size": 1, "plan.gradient_checkpointing": False, **more}
        stated |= {"plan.load_dtype": "bfloat16", "packages.transformers": "==5.23.0", "plan.trainer": "transformers"}
        return Facts({name: Fact(name, parse_value(name, value), Origin("test")) for name, value in stated.items()})

    architecture = read_architecture({**MODELS["qwen3_5_text"]["config"], "num_hidden_layers": 32, "layer_types": None})
    open_ = planned(facts(), architecture)
    assert "packages.flash-linear-attention" in {one.fact for one in undecided(open_, open_.estimate())}
    stated = planned(facts(**{"packages.flash-linear-attention": "==0.6.0"}), architecture)
    absent = planned(facts(**{"packages.flash-linear-attention": "not installed"}), architecture)
    assert not undecided(stated, stated.estimate())
    assert absent.estimate().allocated.expected > 1.25 * stated.estimate().allocated.expected


def test_a_kind_that_is_not_known_and_mixes_its_layers_is_refused_by_name() -> None:
    llama = {"model_type": "brand_new", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 1024}
    with pytest.raises(ArchitectureError, match="layers with attention"):
        read_architecture({**llama, "vocab_size": 1000, "layer_types": ["linear_attention", "full_attention"]})


def test_experts_of_a_kind_that_is_not_known_are_read_by_their_fields() -> None:
    config = {**MODELS["minimax_m2"]["config"], "model_type": "brand_new"}
    architecture = read_architecture(config)
    assert not architecture.known
    assert parameters(architecture).total == pytest.approx(MODELS["minimax_m2"]["total"], rel=0.001)
