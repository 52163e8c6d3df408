"""Sizes and linear layers read from config.json alone, against those of the real modules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.memory.architecture import Linear
from envdoctor.memory.config import read_architecture
from envdoctor.memory.parameters import parameters
from envdoctor.memory.targets import adapter_parameters
from envdoctor.sources.model.snapshot import read_snapshot, table_of
from tests.each import each
from tests.memory.counted import RANK, Counted, counted
from tests.memory.counted import model as model_named

MODELS = each("model", counted(), ids=lambda model: model.name)
TALKING = each("model", [model for model in counted() if model.layers is not None], ids=lambda model: model.name)
ADAPTED = each(
    ("model", "targets"), [(model, targets) for model in counted() for targets in model.adapters], ids=lambda it: getattr(it, "name", it)
)


@MODELS
def test_every_parameter_is_counted(model: Counted) -> None:
    architecture = read_architecture(model.config)
    assert (parameters(architecture).total, architecture.known) == (model.total, True)


@TALKING
def test_linears_are_those_of_the_modules(model: Counted) -> None:
    architecture = read_architecture(model.config)
    kinds = (
        (architecture.layers - architecture.dense_layers, modules(architecture.linears)),
        (architecture.dense_layers, modules(architecture.dense_linears)),
    )
    assert sorted([times, kind] for times, kind in kinds if times) == model.layers


def modules(linears: tuple[Linear, ...]) -> list[list[object]]:
    counts: Counter[tuple[str, int, int, bool]] = Counter()
    for linear in linears:
        if linear.module:
            counts[linear.name, linear.inputs, linear.outputs, linear.bias] += linear.count
    return [[*key, number] for key, number in sorted(counts.items())]


@ADAPTED
def test_adapters_are_as_large_as_those_of_peft(model: Counted, targets: str) -> None:
    architecture = read_architecture(model.config)
    if model.adapters[targets] is not None:
        asked = (targets,) if targets == "all-linear" else ()
        assert adapter_parameters(architecture, asked, RANK) == model.adapters[targets]
    elif targets == "default":
        assert adapter_parameters(architecture, (), RANK) == 0


# Models with code of their own: what their publishers or print_trainable_parameters of those who trained them say.
REMOTE: Mapping[str, tuple[int, Mapping[str, object]]] = {
    "ChatGLM-6B": (
        6_173_286_400,
        {"model_type": "chatglm", "hidden_size": 4096, "inner_hidden_size": 16384, "num_attention_heads": 32, "num_layers": 28}
        | {"position_encoding_2d": True, "vocab_size": 130528},
    ),
    "ChatGLM3-6B": (
        6_243_584_000,
        {"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_attention_heads": 32, "num_layers": 28}
        | {"kv_channels": 128, "multi_query_attention": True, "multi_query_group_num": 2, "add_qkv_bias": True, "add_bias_linear": False}
        | {"padded_vocab_size": 65024, "tie_word_embeddings": False, "rmsnorm": True, "post_layer_norm": True},
    ),
    "glm-4-9b": (
        9_399_951_360,
        {"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_attention_heads": 32, "num_layers": 40}
        | {"kv_channels": 128, "multi_query_attention": True, "multi_query_group_num": 2, "add_qkv_bias": True, "add_bias_linear": False}
        | {"padded_vocab_size": 151552, "tie_word_embeddings": False},
    ),
    "Qwen-1_8B": (
        1_836_828_672,
        {"model_type": "qwen", "hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16, "num_hidden_layers": 24}
        | {"kv_channels": 128, "no_bias": True, "vocab_size": 151936, "tie_word_embeddings": False},
    ),
    "Qwen-14B": (
        14_167_290_880,
        {"model_type": "qwen", "hidden_size": 5120, "intermediate_size": 27392, "num_attention_heads": 40, "num_hidden_layers": 40}
        | {"kv_channels": 128, "no_bias": True, "vocab_size": 152064, "tie_word_embeddings": False},
    ),
    "InternVL2-2B": (
        2_205_754_368,
        {
            "model_type": "internvl_chat",
            "llm_config": {"model_type": "internlm2", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24}
            | {"num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 92553, "bias": False, "tie_word_embeddings": False},
            "vision_config": {"model_type": "intern_vit_6b", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
            | {"num_attention_heads": 16, "image_size": 448, "patch_size": 14, "qkv_bias": True},
        },
    ),
    "Qwen-72B": (
        72_287_920_128,
        {"model_type": "qwen", "hidden_size": 8192, "intermediate_size": 49152, "num_attention_heads": 64, "num_hidden_layers": 80}
        | {"kv_channels": 128, "no_bias": True, "vocab_size": 152064, "tie_word_embeddings": False},
    ),
}


def config_of(name: str) -> Mapping[str, object]:
    return model_named(name).config


SIGLIP = {"hidden_size": 1152, "image_size": 980, "intermediate_size": 4304, "num_hidden_layers": 27, "patch_size": 14}
QWEN2_7B = {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}
LLAMA_3_8B = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}


def test_minicpm_v_is_a_llama_or_a_qwen() -> None:
    """Publishers say 8.54 and 8.10 billion of MiniCPM-Llama3-V-2.5 and MiniCPM-V-2.6, which differ in more than their sizes."""
    sees: dict[str, object] = {
        "model_type": "minicpmv",
        "tie_word_embeddings": False,
        "drop_vision_last_layer": False,
        "vision_config": SIGLIP,
    }
    first = read_architecture({**sees, **LLAMA_3_8B, "vocab_size": 128256, "query_num": 96})
    second = read_architecture({**sees, **QWEN2_7B, "vocab_size": 151666, "query_num": 64})
    assert (first.known, second.known) == (True, True)
    assert ([linear.bias for linear in first.linears[:3]], [linear.bias for linear in second.linears[:3]]) == ([False] * 3, [True] * 3)
    assert round(parameters(first).total, -6) == 8_537_000_000
    assert round(parameters(second).total, -7) == 8_100_000_000


def test_a_tower_of_an_unknown_kind_is_estimated() -> None:
    """Within a hundredth of the CLIP that it is."""
    clip = {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 14}
    config: dict[str, object] = {
        "model_type": "brand_new_vl",
        "text_config": {"model_type": "llama", "vocab_size": 32064},
        "vision_config": clip,
    }
    assert parameters(read_architecture(config)).beside == pytest.approx(324_487_168, rel=0.01)


def test_experts_that_are_no_modules_are_told_apart() -> None:
    counts = parameters(read_architecture(config_of("gpt-oss-20b")))
    assert counts.bare == 24 * (32 * (2880 * 5760 + 5760 + 2880 * 2880 + 2880) + 2880 * 32 + 32)
    assert counts.bare < counts.other
    assert parameters(read_architecture(config_of("Mixtral-8x7B-v0.1"))).bare == 0


@pytest.mark.parametrize("name", REMOTE)
def test_models_with_their_own_code(name: str) -> None:
    total, config = REMOTE[name]
    assert parameters(read_architecture(config)).total == total


def test_an_adapter_of_chatglm() -> None:
    """3670016 is what print_trainable_parameters says for rank 8 on the fused product of ChatGLM-6B, which is peft's default."""
    architecture = read_architecture(REMOTE["ChatGLM-6B"][1])
    assert adapter_parameters(architecture, (), 8) == adapter_parameters(architecture, ("query_key_value",), 8) == 3_670_016


@pytest.mark.parametrize("name", ["chatglm3-6b", "chatglm3-6b-2024-02", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_the_weights_of_a_snapshot_are_what_its_configuration_says(fixtures: Path, name: str) -> None:
    snapshot = read_snapshot(fixtures / name)
    tensors = {name: tensor for name, tensor in snapshot.weights.tensors.items() if not name.endswith("inv_freq")}
    expected = sum(math.prod(tensor.shape) for tensor in tensors.values())
    assert parameters(read_architecture(table_of(snapshot.config))).total == expected > 0
