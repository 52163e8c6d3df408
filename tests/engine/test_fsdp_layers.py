"""The layers that FSDP is told to wrap, against those of the model."""

from __future__ import annotations

import pytest

from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Facts, Origin


@pytest.mark.parametrize(
    ("kind", "layers", "missing"),
    [
        ("bert", ("GPT2Block",), True),
        ("xlm-roberta", ("BertLayer",), True),
        ("llama", ("LLaMADecoderLayer",), True),
        ("llama", ("LlamaDecoderLayer",), False),
        # A model with a second one in it names both.
        ("llama", ("LlamaDecoderLayer", "CLIPEncoderLayer"), False),
        ("llama", ("LlamaDecoderLayer", "BertLayer"), True),
        # A class of the project's own may well be there.
        ("llama", ("MyLayer",), None),
        ("some_type", ("BertLayer",), None),
    ],
)
def test_a_class_that_another_model_has_is_missing(kind: str, layers: tuple[str, ...], missing: bool | None) -> None:
    origin = Origin("plan.toml", "plan.toml", 1)
    facts = Facts({"model.type": Fact("model.type", kind, origin), "plan.fsdp_layers": Fact("plan.fsdp_layers", layers, origin)})
    found = derive(facts)
    assert (found["plan.fsdp_layer_missing"].value if "plan.fsdp_layer_missing" in found else None) is missing
