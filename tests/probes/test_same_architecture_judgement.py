"""``same-architecture``: what it builds for the facts, and what it makes of a measurement, without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.vocabulary import TERMS
from envdoctor.probes import same_architecture
from envdoctor.probes.same_architecture import STAGES

GOOD: dict[str, Any] = {
    "versions": {"torch": "2.13.0+cpu", "transformers": "4.51.3"},
    "done": list(STAGES),
    "error": None,
    "untestable": None,
    "code": "transformers'",
    "class": "Qwen2ForCausalLM",
    "parameters": 99008,
    "loss": 5.63676023,
    "gradients": {"missing": 0, "nonfinite": 0, "all": 26},
    "loss_after": 5.10306835,
    "noise": 0.0,
    "reloaded_dtypes": ["float32"],
    "reloaded_difference": 0.0,
    "new_tokens": 4,
}
MODEL = "a tiny Qwen2ForCausalLM (transformers' code)"
HOOK = "'X' object has no attribute '_extract_past_from_model_output'"


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(
        Fact("plan." + name if "__" not in name else name.replace("__", "."), value, Origin("test")) for name, value in values.items()
    )


def failed(during: str, kind: str, message: str, **more: object) -> dict[str, Any]:
    done = list(STAGES[: STAGES.index(during)]) if during in STAGES else []
    return GOOD | {"done": done, "error": {"during": during, "type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (
            GOOD,
            "refuted",
            f"{MODEL} goes through forward, backward, optimizer step, save_pretrained, from_pretrained and 4 generated tokens",
        ),
        (
            failed("generate", "AttributeError", HOOK, line="modeling_x.py:189: f()"),
            "confirmed",
            f"generate failed: AttributeError: {HOOK} (at modeling_x.py:189: f())",
        ),
        (
            failed("building the model", "AttributeError", "'ChatGLMConfig' object has no attribute 'max_length'"),
            "confirmed",
            "building the model failed: AttributeError: 'ChatGLMConfig' object has no attribute 'max_length'",
        ),
        (
            failed("reading the config", "ValueError", "model type `glm` but Transformers does not recognize this architecture. The size"),
            "confirmed",
            "reading the config failed: ValueError: model type `glm` but Transformers does not recognize this architecture. The size",
        ),
        (
            failed("generate", "ValueError", "too many values to unpack (expected 2)"),
            "confirmed",
            "generate failed: ValueError: too many values to unpack (expected 2)",
        ),
        (
            failed("save_pretrained", "ValueError", "The generation config instance is invalid"),
            "confirmed",
            "save_pretrained failed: ValueError: The generation config instance is invalid",
        ),
        (
            failed("from_pretrained", "TypeError", "empty(): argument 'dtype' must be torch.dtype, not str"),
            "confirmed",
            "from_pretrained failed: TypeError: empty(): argument 'dtype' must be torch.dtype, not str",
        ),
        (
            failed(
                "building the model", "ImportError", "cannot import name 'is_torch_fx_available' from 'transformers.utils.import_utils'"
            ),
            "confirmed",
            "building the model failed: ImportError: cannot import name 'is_torch_fx_available' from 'transformers.utils.import_utils'",
        ),
        (
            failed(
                "building the model", "ModuleNotFoundError", "No module named 'transformers.deepspeed'", missing="transformers.deepspeed"
            ),
            "confirmed",
            "building the model failed: ModuleNotFoundError: No module named 'transformers.deepspeed'",
        ),
        (
            failed("building the model", "ModuleNotFoundError", "No module named 'einops'", missing="einops"),
            "inconclusive",
            "building the model needs einops, which is not installed",
        ),
        (
            failed("forward", "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (24x64 and 16x64)"),
            "inconclusive",
            "forward failed: RuntimeError: mat1 and mat2 shapes cannot be multiplied (24x64 and 16x64),"
            " which the small sizes or float32 may cause",
        ),
        (
            failed("forward", "AssertionError", ""),
            "inconclusive",
            "forward failed: AssertionError: , which the small sizes or float32 may cause",
        ),
        (
            failed("shrinking the config", "KeyError", "'type'"),
            "inconclusive",
            "shrinking the config failed: KeyError: 'type'",
        ),
        (
            failed("from_pretrained", "OSError", "We couldn't connect to 'https://huggingface.co'"),
            "inconclusive",
            "from_pretrained asked for a file that is not on this machine: We couldn't connect to 'https://huggingface.co'",
        ),
        (failed("elsewhere", "TypeError", "boom"), "inconclusive", "elsewhere failed: TypeError: boom"),
        (GOOD | {"error": "boom"}, "inconclusive", "the run failed: an error: "),
        (
            GOOD | {"reloaded_difference": 0.7},
            "confirmed",
            f"{MODEL}: after save_pretrained and from_pretrained the logits differ by 0.7 of the largest",
        ),
        (
            GOOD | {"reloaded_difference": "nan"},
            "confirmed",
            f"{MODEL}: after save_pretrained and from_pretrained the logits differ by nan of the largest",
        ),
        (GOOD | {"reloaded_difference": None}, "inconclusive", f"{MODEL}: the logits after from_pretrained were not compared"),
        (GOOD | {"reloaded_dtypes": ["float16"]}, "inconclusive", f"{MODEL}: saved in float32 it is loaded as ['float16']"),
        (
            GOOD | {"noise": 0.2, "reloaded_difference": 0.7},
            "inconclusive",
            f"{MODEL}: the same input gives other logits each time, so that nothing can be compared",
        ),
        (GOOD | {"loss": "nan"}, "inconclusive", f"{MODEL}: the loss is nan before and 5.10306835 after a step"),
        (GOOD | {"gradients": {"nonfinite": 2}}, "inconclusive", f"{MODEL}: gradients are not finite"),
        (GOOD | {"new_tokens": 3}, "inconclusive", f"{MODEL}: generate gave 3 of 4 tokens"),
        (GOOD | {"done": list(STAGES[:-1])}, "inconclusive", "the child did not come to the end"),
        (
            GOOD | {"untestable": "it has an encoder and a decoder"},
            "inconclusive",
            "no tiny model of it is built: it has an encoder and a decoder",
        ),
        ({}, "inconclusive", "the child did not come to the end"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert same_architecture.judge(measured, {}) == (ruling, reason)


def test_without_a_snapshot_the_defaults_of_the_type_may_be_the_cause() -> None:
    measured = failed("forward", "TypeError", "topk(): argument 'k' must be int, not NoneType")
    words = "forward failed: TypeError: topk(): argument 'k' must be int, not NoneType"
    assert same_architecture.judge(measured, {"model_type": None}) == ("confirmed", words)
    assert same_architecture.judge(measured, {"model_type": "deepseek_v2"}) == (
        "inconclusive",
        f"{words}, which the defaults of its config class may cause: no snapshot is stated",
    )


def test_what_was_assumed_is_said() -> None:
    assert same_architecture.judge(GOOD, {"assumed": ["the base is not quantized"]})[1].endswith(
        " generated tokens (assumed: the base is not quantized)"
    )


PLAIN: dict[str, Any] = {
    "path": "/models/x",
    "model_type": None,
    "remote": False,
    "attn": None,
    "dtype_argument": None,
    "assumed": [],
}
PATH: dict[str, FactValue] = {"model__path": "/models/x"}
REMOTE: dict[str, FactValue] = {**PATH, "model__remote_code": True}


@pytest.mark.parametrize(
    ("stated", "trust", "expected"),
    [
        (facts(), False, "no model is stated"),
        (facts(model__type="qwen2"), False, PLAIN | {"path": None, "model_type": "qwen2"}),
        (facts(**PATH), False, PLAIN),
        (facts(**PATH, model__type="qwen2"), True, PLAIN),
        (facts(**REMOTE), False, "the snapshot's own code is executed only with --trust-remote-code"),
        (facts(**REMOTE, trust_remote_code=True), False, "the snapshot's own code is executed only with --trust-remote-code"),
        (facts(**REMOTE), True, PLAIN | {"remote": True}),
        (facts(**REMOTE, trust_remote_code=False), True, PLAIN),
        (facts(model__remote_code=True), True, "the model's own code decides, and no local snapshot holds it"),
        (facts(**PATH, attn="sdpa", load_dtype_argument="none"), False, PLAIN | {"attn": "sdpa", "dtype_argument": "none"}),
        (
            facts(**PATH, attn="flash_attention_2", quant="4bit"),
            False,
            PLAIN | {"assumed": ["the default attention instead of flash_attention_2, which needs a GPU", "the base is not quantized"]},
        ),
    ],
)
def test_what_is_built_for_the_facts(stated: Facts, trust: bool, expected: object) -> None:
    assert same_architecture.parameters(stated, trust) == expected


def test_what_is_varied() -> None:
    params = PLAIN | {"remote": True, "attn": "sdpa", "dtype_argument": "none"}
    assert [(variation.words, variation.plan) for variation in same_architecture.variations(params)] == [
        ("transformers' own class instead of the snapshot's code", {"plan.trust_remote_code": False}),
        ("eager attention", {"plan.attn": "eager"}),
        ("torch_dtype= given to from_pretrained", {"plan.load_dtype_argument": "torch_dtype"}),
    ]
    assert not list(same_architecture.variations(PLAIN))


text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
errors = st.none() | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "message", "missing", "line"), anything) | {"during": anything | st.sampled_from(STAGES)}
)


@given(
    measured=st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in GOOD.items()} | {"error": errors}),
    params=st.fixed_dictionaries({}, optional={"assumed": anything}),
)
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = same_architecture.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason
    if ruling == "refuted":
        assert measured.get("error") is None
        assert measured["new_tokens"] == 4


values: st.SearchStrategy[FactValue] = st.booleans() | st.integers() | st.floats() | text | st.lists(text, max_size=3).map(tuple)


@given(
    st.dictionaries(st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model."))]), values, max_size=6),
    st.booleans(),
)
def test_any_facts_get_parameters_or_a_reason(stated: dict[str, FactValue], trust: bool) -> None:
    found = same_architecture.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in stated.items()), trust)
    assert found
    assert isinstance(found, str) or set(found) == set(PLAIN)
    if not isinstance(found, str) and found["remote"]:
        assert trust
