"""What a script loads by a class of its own has the type that the class is called after."""

from __future__ import annotations

import pytest

from envdoctor.engine.defaults import derive
from envdoctor.engine.loaded_class import type_of_loads
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin


def loads(*classes: str) -> str | None:
    return type_of_loads(f"transformers.{one}.from_pretrained" for one in classes)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl"),
        ("models.llama.modeling_llama.LlamaForCausalLM", "llama"),
        ("GPT2LMHeadModel", "gpt2"),
        ("XLMRobertaModel", "xlm-roberta"),
        ("DebertaV2ForSequenceClassification", "deberta-v2"),
        # One speaks alone, the other has images as well.
        ("Gemma3ForCausalLM", "gemma3_text"),
        ("Gemma3ForConditionalGeneration", "gemma3"),
        ("CLIPTextModel", None),
        ("AutoModelForCausalLM", None),
        ("VisionEncoderDecoderModel", None),
    ],
)
def test_the_type_of_a_class(name: str, kind: str | None) -> None:
    assert loads(name) == kind


def test_of_two_models_or_beside_one_of_any_type_nothing_is_said() -> None:
    assert loads("LlamaForCausalLM", "BertForSequenceClassification") is None
    assert loads("LlamaForCausalLM", "AutoModelForSequenceClassification") is None
    assert loads("LlamaForCausalLM", "LlamaForSequenceClassification") == "llama"
    assert loads() is None


def test_what_is_stated_or_named_comes_first() -> None:
    uses: FactValue = ("transformers.LlamaForCausalLM.from_pretrained",)

    def kind(**more: FactValue) -> object:
        stated = {"plan.code_uses": uses, **{name.replace("__", "."): value for name, value in more.items()}}
        return derive(Facts({name: Fact(name, value, Origin("train.py")) for name, value in stated.items()})).value("model.type")

    assert kind() == "llama"
    assert kind(model__type="mistral") == "mistral"
    assert kind(model__id="Qwen/Qwen2.5-7B-Instruct") == "qwen2"
