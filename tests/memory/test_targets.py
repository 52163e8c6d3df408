"""Which linears the targets of an adapter mean."""

from __future__ import annotations

import pytest

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.config import read_architecture
from envdoctor.memory.targets import adapter_parameters, default_targets, tuned
from tests.memory.counted import model


def architecture(name: str) -> Architecture:
    return read_architecture(model(name).config)


def names(name: str, *targets: str) -> list[str]:
    return [f"{linear.name} {linear.role}" for linear in tuned(architecture(name), targets)]


@pytest.mark.parametrize(
    ("name", "targets", "meant"),
    [
        ("Llama-2-7b", ("q_proj", "v_proj"), ["q_proj query", "v_proj value"]),
        ("Llama-2-7b", ("v_proj", "q_proj"), ["q_proj query", "v_proj value"]),
        ("Llama-2-7b", ("proj",), []),
        ("Llama-2-7b", ("self_attn.q_proj", "model.layers.3.mlp.up_proj"), ["q_proj query", "up_proj up"]),
        ("Llama-2-7b", (), ["q_proj query", "v_proj value"]),
        ("Llama-2-7b", (r".*\.(q_proj|o_proj)$",), ["q_proj query", "o_proj output"]),
        (
            "Llama-2-7b",
            (r".*(self_attn|mlp).*(q_proj|k_proj|v_proj|o_proj)",),
            ["q_proj query", "k_proj key", "v_proj value", "o_proj output"],
        ),
        (
            "Llama-2-7b",
            (r".*\.layers\.\d+\.mlp\.\w+_proj",),
            ["gate_proj gate", "up_proj up", "down_proj down"],
        ),
        ("gpt2", ("c_proj",), ["c_proj output", "c_proj down"]),
        ("gpt2", ("mlp.c_proj",), ["c_proj down"]),
        ("gpt2", ("attn.c_proj",), ["c_proj output"]),
        ("bert-large-uncased", ("output.dense",), ["dense output", "dense down"]),
        ("bert-large-uncased", ("intermediate.dense",), ["dense up"]),
        ("glm-4-9b-chat-hf", (), []),
        ("gpt-oss-20b", ("all-linear",), ["q_proj query", "k_proj key", "v_proj value", "o_proj output"]),
        ("Mixtral-8x7B-v0.1", ("w1", "gate"), ["gate router", "w1 gate"]),
    ],
)
def test_targets(name: str, targets: tuple[str, ...], meant: list[str]) -> None:
    assert names(name, *targets) == meant


@pytest.mark.parametrize("word", ["all-linear", "all", "all_linear"])
def test_every_linear_by_all_of_its_names(word: str) -> None:
    """39976960 is what print_trainable_parameters says of Llama-2-7b with rank 16 on every linear layer."""
    assert adapter_parameters(architecture("Llama-2-7b"), (word,), 16) == 39_976_960
    assert len(tuned(architecture("Llama-2-7b"), (word,))) == 7


def test_the_default_is_that_of_peft() -> None:
    assert default_targets(architecture("phi-2")) == ("q_proj", "v_proj", "fc1", "fc2")
    assert default_targets(architecture("Qwen3-30B-A3B")) == ()
    assert adapter_parameters(architecture("Llama-2-7b"), (), 8) == 4_194_304


def test_head_and_embedding_have_adapters_where_they_are_named() -> None:
    llama = architecture("Llama-2-7b")
    alone = adapter_parameters(llama, ("q_proj",), 8)
    assert adapter_parameters(llama, ("q_proj", "lm_head"), 8) - alone == 8 * (4096 + 32000)
    assert adapter_parameters(llama, ("q_proj", "model.embed_tokens", "lm_head"), 8) - alone == 2 * 8 * (4096 + 32000)


def test_an_expression_that_would_never_end_is_only_looked_at() -> None:
    assert names("Llama-2-7b", "(a+)+$" * 10_000 + "q_proj") == []
