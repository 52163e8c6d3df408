"""``save-load``: what it runs for a plan, and what it makes of a measurement, without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.vocabulary import TERMS
from envdoctor.probes import save_load

GOOD: dict[str, Any] = {
    "versions": {"torch": "2.13.0+cpu", "transformers": "4.46.3", "peft": "0.13.2"},
    "error": None,
    "trainable_elements": 1024,
    "effect": 0.54175782,
    "file": "adapter_model.safetensors",
    "saved_tensors": 8,
    "saved_elements": 1024,
    "difference": 0.0,
    "merged_difference": 2.3e-07,
}
FILE = "adapter_model.safetensors has 8 tensors with 1024 elements, 1024 were trained"


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(Fact("plan." + name, value, Origin("test")) for name, value in values.items())


def failed(during: str, kind: str, message: str, **more: object) -> dict[str, Any]:
    return {"error": {"during": during, "type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (GOOD, "refuted", f"saved, loaded and merged the adapter gives the same logits; {FILE}"),
        (
            GOOD | {"saved_tensors": 0, "saved_elements": 0, "difference": 0.5},
            "confirmed",
            "the adapter was saved empty: adapter_model.safetensors has 0 tensors with 0 elements, 1024 were trained",
        ),
        (
            GOOD | {"saved_tensors": 8, "saved_elements": 0},
            "confirmed",
            "the adapter was saved empty: adapter_model.safetensors has 8 tensors with 0 elements, 1024 were trained",
        ),
        (
            GOOD | {"saved_tensors": 4, "saved_elements": 512},
            "confirmed",
            "part of the adapter was not saved: adapter_model.safetensors has 4 tensors with 512 elements, 1024 were trained",
        ),
        (
            GOOD | {"difference": 0.5},
            "confirmed",
            f"the loaded adapter is another one: its logits differ by 0.5 of the largest; {FILE}",
        ),
        (
            GOOD | {"difference": "nan"},
            "confirmed",
            f"the loaded adapter is another one: its logits differ by nan of the largest; {FILE}",
        ),
        (
            failed("saving the adapter", "RuntimeError", "\n  Some tensors share memory:\n [{'a', 'b'}]"),
            "confirmed",
            "saving the adapter failed: RuntimeError: Some tensors share memory: [{'a', 'b'}]",
        ),
        (
            failed("loading the adapter", "TypeError", "LoraConfig.__init__() got an unexpected keyword argument 'eva_config'"),
            "confirmed",
            "loading the adapter failed: TypeError: LoraConfig.__init__() got an unexpected keyword argument 'eva_config'",
        ),
        (
            failed("applying the adapter", "TypeError", "no use_dora"),
            "inconclusive",
            "applying the adapter failed: TypeError: no use_dora",
        ),
        (
            failed("saving the adapter", "ModuleNotFoundError", "No module named 'safetensors'", missing="safetensors"),
            "inconclusive",
            "saving the adapter needs safetensors, which is not installed",
        ),
        (
            failed("saving the adapter", "OSError", "[Errno 28] No space left on device"),
            "inconclusive",
            "saving the adapter could not read or write a file: [Errno 28] No space left on device",
        ),
        (
            GOOD | failed("merge_and_unload", "RuntimeError", "boom"),
            "inconclusive",
            "the adapter is the same after saving and loading, but merge_and_unload failed: RuntimeError: boom",
        ),
        (
            GOOD | {"saved_elements": 0} | failed("merge_and_unload", "RuntimeError", "boom"),
            "confirmed",
            "the adapter was saved empty: adapter_model.safetensors has 8 tensors with 0 elements, 1024 were trained",
        ),
        (
            GOOD | {"merged_difference": 0.4},
            "inconclusive",
            "the adapter is the same after saving and loading, but merged into the base its logits differ by 0.4",
        ),
        (GOOD | {"effect": 0.0}, "inconclusive", "the adapter did not change the logits, so that nothing can be compared"),
        (GOOD | {"difference": None}, "inconclusive", f"{FILE}, but the loaded adapter was not compared"),
        (GOOD | {"trainable_elements": 0}, "inconclusive", "the saved adapter was not measured"),
        ({}, "inconclusive", "the saved adapter was not measured"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert save_load.judge(measured, {}) == (ruling, reason)


PLAIN = {
    "method": "lora",
    "biases_and_head": False,
    "modules_to_save": [],
    "state_dict_override": False,
    "safe": None,
    "assumed": [],
}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (facts(), PLAIN | {"assumed": ["LoRA"]}),
        (facts(method="lora"), PLAIN),
        (facts(method="dora"), PLAIN | {"method": "dora"}),
        (facts(method="qlora"), PLAIN | {"assumed": ["the base is not quantized"]}),
        (facts(method="dpo", lora_r=8), PLAIN),
        (facts(method="full"), "plan.method is full: no LoRA adapter is saved"),
        (facts(method="prompt-tuning"), "plan.method is prompt-tuning: no LoRA adapter is saved"),
        (
            facts(method="lora", distributed="zero3"),
            "plan.distributed is zero3: what a shard of the model saves is not seen on one CPU",
        ),
        (
            facts(method="lora", code_uses=("peft.LoraConfig(bias=all)",)),
            PLAIN | {"biases_and_head": True, "assumed": ["a head of its own beside the biases"]},
        ),
        (facts(method="lora", code_uses=("?.state_dict = peft.get_peft_model_state_dict",)), PLAIN | {"state_dict_override": True}),
        (
            facts(method="lora", modules_to_save=("transformer.output_layer", "wte")),
            PLAIN | {"modules_to_save": ["embed_tokens", "lm_head"]},
        ),
        (facts(method="lora", modules_to_save=("score",)), "plan.modules_to_save names score, which the tiny model does not have"),
    ],
)
def test_what_is_run_for_a_plan(stated: Facts, expected: object) -> None:
    assert save_load.parameters(stated) == expected


def test_each_variation_changes_one_thing() -> None:
    params = PLAIN | {"state_dict_override": True, "biases_and_head": True, "modules_to_save": ["lm_head"]}
    found = list(save_load.variations(params))
    assert [[name for name, value in variation.params.items() if value != params[name]] for variation in found] == [
        ["state_dict_override"],
        ["biases_and_head"],
        ["modules_to_save"],
        ["safe"],
    ]
    assert [variation.words for variation in save_load.variations(PLAIN)] == ["saved with pickle (save_safetensors=False)"]


text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
errors = st.none() | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "message", "missing", "line"), anything) | {"during": anything | st.just("merge_and_unload")}
)


@given(
    measured=st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in GOOD.items()} | {"error": errors}),
    params=st.fixed_dictionaries({}, optional={"assumed": anything}),
)
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = save_load.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason
    if ruling == "refuted":
        assert measured.get("error") is None
        assert measured["saved_elements"] >= measured["trainable_elements"]


values: st.SearchStrategy[FactValue] = st.booleans() | st.integers() | st.floats() | text | st.lists(text, max_size=3).map(tuple)


@given(st.dictionaries(st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model."))]), values, max_size=6))
def test_any_plan_gets_parameters_or_a_reason(stated: dict[str, FactValue]) -> None:
    found = save_load.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in stated.items()))
    assert found
    assert isinstance(found, str) or set(found) == set(PLAIN)
