"""``checkpointing``: what it runs for a plan, and what it makes of a measurement, without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.vocabulary import TERMS
from envdoctor.probes import checkpointing

GOOD: dict[str, Any] = {
    "versions": {"torch": "2.13.0+cpu", "transformers": "4.46.3"},
    "error": None,
    "untestable": None,
    "code": "the snapshot's own",
    "class": "ChatGLMForConditionalGeneration",
    "parameters": 197952,
    "is_gradient_checkpointing": True,
    "saved_bytes": [1367284, 179444],
    "losses": [5.5942173, 5.5942173],
    "moved": [31, 31],
    "trainable": 31,
    "noise": 0.0,
    "gradient_difference": 0.0,
}
MODEL = "a tiny ChatGLMForConditionalGeneration (the snapshot's own code)"
LESS = "175 KiB saved for backward after gradient_checkpointing_enable, 1335 KiB before"
NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
STATED: dict[str, Any] = {"lora": True, "grads_unstated": False}
UNSTATED: dict[str, Any] = {"lora": True, "grads_unstated": True}
UNLESS = ", unless enable_input_require_grads is called, which the plan does not state"


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(
        Fact("plan." + name if "__" not in name else name.replace("__", "."), value, Origin("test")) for name, value in values.items()
    )


def failed(during: str, kind: str, message: str, **more: object) -> dict[str, Any]:
    return GOOD | {"error": {"during": during, "type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("measured", "params", "ruling", "reason"),
    [
        (GOOD, {}, "refuted", f"{MODEL}: {LESS}; is_gradient_checkpointing is True; the gradients are the same"),
        (
            GOOD | {"saved_bytes": [1367284, 1367284], "is_gradient_checkpointing": False},
            {},
            "confirmed",
            f"{MODEL}: gradient checkpointing is not on: 1335 KiB saved for backward after gradient_checkpointing_enable, 1335 KiB before;"
            " is_gradient_checkpointing is False",
        ),
        (
            GOOD | {"saved_bytes": [1000 * 1024, 900 * 1024]},
            {},
            "inconclusive",
            f"{MODEL}: only part of it is checkpointed: 900 KiB saved for backward after gradient_checkpointing_enable, 1000 KiB before;"
            " is_gradient_checkpointing is True",
        ),
        (
            GOOD | {"gradient_difference": 0.2},
            {},
            "confirmed",
            f"{MODEL}: the gradients with gradient checkpointing differ by 0.2 of the largest; {LESS}",
        ),
        (GOOD | {"gradient_difference": None}, {}, "inconclusive", f"{MODEL}: {LESS}, but the gradients were not compared"),
        (
            GOOD | {"moved": [16, 2]},
            STATED,
            "confirmed",
            f"{MODEL}: 2 of 16 trainable tensors get a gradient with gradient checkpointing, all of them without",
        ),
        (
            GOOD | {"moved": [16, 2]},
            UNSTATED,
            "inconclusive",
            f"{MODEL}: 2 of 16 trainable tensors get a gradient with gradient checkpointing, all of them without{UNLESS}",
        ),
        (
            failed("a step with checkpointing: backward", "RuntimeError", NO_GRAPH),
            STATED,
            "confirmed",
            f"{MODEL}: a step with checkpointing: backward failed: RuntimeError: {NO_GRAPH}",
        ),
        (
            failed("a step with checkpointing: backward", "RuntimeError", NO_GRAPH),
            UNSTATED,
            "inconclusive",
            f"{MODEL}: a step with checkpointing: backward failed: RuntimeError: {NO_GRAPH}{UNLESS}",
        ),
        (
            failed("a step with checkpointing", "AttributeError", "no _gradient_checkpointing_func", line="modeling_x.py:7: f()"),
            UNSTATED,
            "confirmed",
            f"{MODEL}: a step with checkpointing failed: AttributeError: no _gradient_checkpointing_func (at modeling_x.py:7: f()),"
            " which passes without checkpointing",
        ),
        (
            failed("gradient_checkpointing_enable", "ValueError", "X does not support gradient checkpointing."),
            {},
            "confirmed",
            f"{MODEL}: gradient_checkpointing_enable failed: ValueError: X does not support gradient checkpointing.",
        ),
        (
            failed("building the model", "TypeError", "boom"),
            {},
            "inconclusive",
            f"{MODEL}: building the model failed: TypeError: boom, before checkpointing was on",
        ),
        (
            failed("a step with checkpointing", "RuntimeError", "\"x\" not implemented for 'Half'"),
            {},
            "inconclusive",
            "not testable on this CPU (a step with checkpointing: \"x\" not implemented for 'Half')",
        ),
        (
            failed("building the model", "ImportError", "packages that were not found in your environment: flash_attn"),
            {},
            "inconclusive",
            "building the model needs a package that is not installed: packages that were not found in your environment: flash_attn",
        ),
        (
            GOOD | {"untestable": "it has parts for other media than text"},
            {},
            "inconclusive",
            "no tiny model of it is built: it has parts for other media than text",
        ),
        (
            GOOD | {"noise": 0.1},
            {},
            "inconclusive",
            f"{MODEL}: without checkpointing two equal steps do not give equal gradients",
        ),
        (
            GOOD | {"moved": [0, 0]},
            {},
            "inconclusive",
            f"{MODEL}: without checkpointing two equal steps do not give equal gradients",
        ),
        (GOOD | {"saved_bytes": [0, 0]}, {}, "inconclusive", f"{MODEL}: the steps were not measured"),
        ({}, {}, "inconclusive", "a tiny None (None code): the steps were not measured"),
    ],
)
def test_judgement(measured: dict[str, Any], params: dict[str, Any], ruling: str, reason: str) -> None:
    assert checkpointing.judge(measured, params) == (ruling, reason)


def test_what_was_assumed_is_said() -> None:
    assert checkpointing.judge(GOOD, {"assumed": ["a Llama"]})[1].endswith("; the gradients are the same (assumed: a Llama)")


PLAIN: dict[str, Any] = {
    "path": "/models/x",
    "model_type": None,
    "remote": False,
    "attn": None,
    "lora": False,
    "use_reentrant": None,
    "passes_kwargs": False,
    "input_require_grads": False,
    "grads_unstated": False,
    "library_method": False,
    "assumed": [],
}
PATH: dict[str, FactValue] = {"model__path": "/models/x"}
REMOTE: dict[str, FactValue] = {**PATH, "model__remote_code": True}


@pytest.mark.parametrize(
    ("stated", "trust", "expected"),
    [
        (facts(), False, PLAIN | {"path": None, "model_type": "llama", "assumed": ["a Llama"]}),
        (facts(model__type="qwen2"), False, PLAIN | {"path": None, "model_type": "qwen2"}),
        (facts(**PATH), False, PLAIN),
        (facts(**PATH, gradient_checkpointing=False), False, "the plan does not use gradient checkpointing"),
        (facts(**REMOTE), False, "the snapshot's own code is executed only with --trust-remote-code"),
        (facts(**REMOTE), True, PLAIN | {"remote": True}),
        (facts(**REMOTE, trust_remote_code=True), False, "the snapshot's own code is executed only with --trust-remote-code"),
        (facts(**REMOTE, trust_remote_code=False), False, PLAIN),
        (
            facts(model__type="chatglm", model__remote_code=True),
            True,
            "the model's own code decides, and no local snapshot holds it",
        ),
        (facts(**PATH, method="lora"), False, PLAIN | {"lora": True, "grads_unstated": True}),
        (facts(**PATH, method="lora", input_require_grads=False), False, PLAIN | {"lora": True}),
        (facts(**PATH, method="dpo", lora_r=8, input_require_grads=True), False, PLAIN | {"lora": True, "input_require_grads": True}),
        (
            facts(**PATH, gradient_checkpointing_kwargs=True, use_reentrant=False),
            False,
            PLAIN | {"passes_kwargs": True, "use_reentrant": False},
        ),
        (facts(**PATH, quant="4bit"), False, PLAIN | {"assumed": ["the base is not quantized"]}),
    ],
)
def test_what_is_run_for_a_plan(stated: Facts, trust: bool, expected: object) -> None:
    assert checkpointing.parameters(stated, trust) == expected


def test_what_is_varied() -> None:
    assert [(variation.words, variation.plan) for variation in checkpointing.variations(PLAIN | {"lora": True, "remote": True})] == [
        ("enable_input_require_grads called before get_peft_model", {"plan.input_require_grads": True}),
        ("use_reentrant=False", {"plan.use_reentrant": False, "plan.gradient_checkpointing_kwargs": True}),
        ("PreTrainedModel.gradient_checkpointing_enable(model), past the class's own", {}),
        ("transformers' own class instead of the snapshot's code", {"plan.trust_remote_code": False}),
    ]
    explicit = PLAIN | {"use_reentrant": False, "passes_kwargs": True}
    assert [variation.words for variation in checkpointing.variations(explicit)] == ["no gradient_checkpointing_kwargs"]


text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
stages = st.sampled_from(["building the model", "gradient_checkpointing_enable", "a step with checkpointing: backward"])
errors = st.none() | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "message", "missing", "line"), anything) | {"during": anything | stages}
)


@given(
    measured=st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in GOOD.items()} | {"error": errors}),
    params=st.fixed_dictionaries({}, optional={"assumed": anything, "lora": anything, "grads_unstated": anything}),
)
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = checkpointing.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


counts = st.integers(0, 1 << 30)


@given(
    saved=st.tuples(counts, counts).map(list),
    moved=st.tuples(st.integers(0, 40), st.integers(0, 40)).map(list),
    difference=st.floats() | st.none() | st.sampled_from(["nan", "inf"]),
)
def test_laws_of_the_judgement(saved: list[int], moved: list[int], difference: Any) -> None:
    ruling, _ = checkpointing.judge(GOOD | {"saved_bytes": saved, "moved": moved, "gradient_difference": difference}, STATED)
    if ruling == "refuted":
        assert saved[1] < saved[0]
        assert moved[1] >= moved[0] > 0
        assert abs(difference) < 0.01
    if ruling == "confirmed":
        off = saved[1] >= 0.95 * saved[0]
        cut = moved[1] < moved[0]
        other = isinstance(difference, str) or (difference is not None and abs(difference) > 0.001)
        assert off or cut or other


values: st.SearchStrategy[FactValue] = st.booleans() | st.integers() | st.floats() | text | st.lists(text, max_size=3).map(tuple)


@given(
    st.dictionaries(st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model."))]), values, max_size=6),
    st.booleans(),
)
def test_any_plan_gets_parameters_or_a_reason(stated: dict[str, FactValue], trust: bool) -> None:
    given_facts = Facts().with_facts(Fact(name, value, Origin("test")) for name, value in stated.items())
    found = checkpointing.parameters(given_facts, trust)
    assert found
    assert isinstance(found, str) or set(found) == set(PLAIN)
    if not isinstance(found, str) and found["remote"]:
        assert trust
