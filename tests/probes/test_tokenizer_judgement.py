"""What ``tokenizer`` loads for a situation, and what it makes of a measurement: without transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import tokenizer
from tests.probes.anything import like

ROLE = {"marker": "<|user|>", "known": True, "whole": True, "pieces": 1}
END = {"text": "<|im_end|>\n", "stops": True, "closes_with": "<|im_end|>", "stop_ids": [7]}
GOOD: dict[str, Any] = {
    "failures": [],
    "versions": {"transformers": "4.51.3"},
    "class": "OwnTokenizer",
    "own_code": True,
    "comes_back": True,
    "padding": {"left": "left", "right": "right"},
    "markers": [ROLE, ROLE | {"marker": "<|assistant|>"}],
    "end": END,
}
PLAIN: dict[str, Any] = {name: value for name, value in GOOD.items() if name not in ("markers", "end")}
PARAMS: dict[str, Any] = {"path": "/m", "trust": True, "suspects": [], "chat_model": True}
WORKS = "OwnTokenizer loads, encodes and pads"
SUSPECTED = PARAMS | {"suspects": ["its _pad does not take padding_side"]}
SPLIT = "the chat template writes <|user|>, which the tokenizer knows and takes apart all the same"


def failed(during: str, kind: str, message: str, *, inside: bool = False, **changed: object) -> dict[str, Any]:
    failure = {"during": during, "type": kind, "message": message, "in_base_constructor": inside}
    measured = {"failures": [failure]} if during == "loading" else {"failures": [failure], "class": "OwnTokenizer"}
    return measured | changed


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("'ChatGLMTokenizer' object has no attribute 'tokenizer'", "AttributeError"),
        ("ChatGLMTokenizer has no attribute vocab_size", "AttributeError"),
        ("'property' object cannot be interpreted as an integer", "TypeError"),
    ],
)
def test_three_wordings_of_one_fault(message: str, kind: str) -> None:
    """Of transformers 4.34, 4.47 and 5.23; without the base constructor they mean something else."""
    ruling, reason = tokenizer.judge(failed("loading", kind, message, inside=True), PARAMS)
    assert (ruling, reason) == (
        "confirmed",
        f"loading failed: {kind}: {message}:"
        " the base constructor of this transformers asks for what the snapshot's class sets only after it",
    )
    assert tokenizer.judge(failed("loading", kind, message), PARAMS) == ("inconclusive", f"loading failed: {kind}: {message}")


SIDE = "OwnTokenizer._pad() got an unexpected keyword argument 'padding_side'"


@pytest.mark.parametrize(
    ("measured", "params", "ruling", "reason"),
    [
        (
            failed("encoding", "TypeError", SIDE),
            PARAMS,
            "confirmed",
            f"encoding failed: TypeError: {SIDE}: its _pad does not take padding_side, which this transformers hands to it",
        ),
        (
            failed("loading", "AttributeError", "property 'eos_token' of 'T' object has no setter", inside=True),
            PARAMS,
            "confirmed",
            "loading failed: AttributeError: property 'eos_token' of 'T' object has no setter:"
            " the base constructor sets a special token that the snapshot's class makes read-only",
        ),
        (
            failed("loading", "Exception", "data did not match any variant of untagged enum ModelWrapper at line 9 column 2"),
            PARAMS,
            "confirmed",
            "loading failed: Exception: data did not match any variant of untagged enum ModelWrapper at line 9 column 2:"
            " the installed tokenizers cannot read this tokenizer.json",
        ),
        (
            failed("loading", "ValueError", "Tokenizer class X does not exist"),
            PARAMS,
            "inconclusive",
            "loading failed: ValueError: Tokenizer class X does not exist",
        ),
        (
            failed("loading", "ValueError", "then set the option `trust_remote_code=True` to remove this error."),
            PARAMS | {"trust": False},
            "inconclusive",
            "the tokenizer is code of the snapshot's own, which is run only with --trust-remote-code",
        ),
        (
            GOOD,
            PARAMS,
            "refuted",
            f"{WORKS} on both sides; text comes back; 2 markers of the chat template are one id each; an answer ends with a token"
            " that stops generation",
        ),
        (PLAIN, PARAMS, "refuted", f"{WORKS} on both sides; text comes back"),
        (PLAIN | {"padding": {"left": "left", "right": "left"}}, PARAMS, "refuted", f"{WORKS} on the left only; text comes back"),
        (
            PLAIN
            | {"padding": {"left": "left"}, "failures": [{"during": "padding on the right", "type": "AssertionError", "message": ""}]},
            PARAMS,
            "refuted",
            f"{WORKS} on the left only; text comes back",
        ),
        (
            PLAIN | {"pad_is_end": True},
            PARAMS,
            "refuted",
            f"{WORKS} on both sides with the end of text, as it has no padding token; text comes back",
        ),
        (PLAIN | {"pad_is_end": False, "padding": {}}, PARAMS, "inconclusive", "no row was padded: there is no token to pad with"),
        (
            PLAIN | {"padding": {"left": "left", "right": "neither"}},
            PARAMS,
            "confirmed",
            "padded on the right, a row loses its own ids or its mask",
        ),
        (GOOD | {"markers": [ROLE | {"whole": False, "pieces": 5}]}, PARAMS, "confirmed", SPLIT),
        (
            PLAIN | {"markers": [ROLE | {"known": False, "whole": False}]},
            PARAMS,
            "refuted",
            f"{WORKS} on both sides; text comes back",
        ),
        (
            GOOD | {"end": END | {"stops": False}},
            PARAMS,
            "confirmed",
            "an answer ends with <|im_end|>, at which generation does not stop (it stops at [7])",
        ),
        (
            PLAIN | {"end": END | {"stops": False}},
            PARAMS | {"chat_model": False},
            "refuted",
            f"{WORKS} on both sides; text comes back; no token after an answer stops generation",
        ),
        (
            PLAIN | {"comes_back": False},
            PARAMS,
            "inconclusive",
            "a plain sentence does not come back as it was, which some tokenizers do on purpose",
        ),
        (PLAIN | {"comes_back": None}, PARAMS, "inconclusive", "encoding and decoding were not compared"),
        (
            PLAIN | {"failures": [{"during": "rendering the chat template", "type": "TemplateError", "message": "no system role"}]},
            PARAMS,
            "inconclusive",
            "rendering the chat template failed: TemplateError: no system role",
        ),
        (
            GOOD | {"markers": [ROLE | {"whole": False}]},
            SUSPECTED,
            "refuted",
            f"though its _pad does not take padding_side, {WORKS} on both sides; {SPLIT}",
        ),
        ({}, PARAMS, "inconclusive", "the tokenizer was not loaded and encoded"),
    ],
)
def test_judgement(measured: dict[str, Any], params: dict[str, Any], ruling: str, reason: str) -> None:
    assert tokenizer.judge(measured, params) == (ruling, reason)


@given(
    measured=like(GOOD | {"pad_is_end": False, "failures": [failed("loading", "TypeError", SIDE)["failures"][0]]}), params=like(SUSPECTED)
)
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = tokenizer.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(Fact("model." + name, value, Origin("test")) for name, value in values.items())


def test_the_snapshots_own_code_needs_consent() -> None:
    own = facts(path="/models/chatglm3-6b", tokenizer_remote_code=True, tokenizer_pad_signature="without-padding-side")
    assert tokenizer.parameters(own) == "the tokenizer is code of the snapshot's own, which is run only with --trust-remote-code"
    assert tokenizer.parameters(own, trust=True) == {
        "path": str(Path("/models/chatglm3-6b").absolute()),
        "trust": True,
        "suspects": ["its _pad does not take padding_side"],
        "chat_model": False,
    }


def test_consent_is_not_passed_on_where_no_code_of_the_snapshots_is_used() -> None:
    native = facts(path="/models/Qwen2.5-0.5B-Instruct", tokenizer_remote_code=False, tokenizer_pad_signature="without-padding-side")
    found = tokenizer.parameters(native, trust=True)
    assert found == {"path": str(Path("/models/Qwen2.5-0.5B-Instruct").absolute()), "trust": False, "suspects": [], "chat_model": True}
    assert tokenizer.parameters(native) == found


def test_without_a_snapshot_there_is_nothing_to_load() -> None:
    assert tokenizer.parameters(facts(type="llama")) == "no local snapshot: the tokenizer's files are needed"
