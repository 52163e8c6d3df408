"""The table of facts: complete, consistent, and helpful to whoever mistypes."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import TERMS, Term, suggestion, term
from tests.each import each

# The facts that the interface promises by name.
PROMISED = [
    "python",
    "os",
    "cuda",
    "driver",
    "gpu.name",
    "gpu.compute_capability",
    "gpu.memory_gib",
    "gpu.count",
    "model.id",
    "model.type",
    "model.dtype",
    "model.path",
    "plan.method",
    "plan.load_dtype",
    "plan.fp16",
    "plan.bf16",
    "plan.batch_size",
    "plan.seq_len",
    "plan.quant",
    "plan.gradient_checkpointing",
    "plan.gradient_accumulation",
    "plan.optimizer",
    "plan.lora_r",
    "plan.lora_targets",
    "plan.attn",
    "plan.distributed",
    "plan.optimizer_eps",
    "plan.modules_to_save",
    "plan.autocast_adapter_dtype",
    "plan.predict_with_generate",
    "plan.apply_chat_template",
    "plan.resume",
    "plan.eval_batch_size",
    "plan.packing",
    "plan.padding_side",
    "plan.load_in_4bit",
    "plan.load_in_8bit",
    "plan.gradient_checkpointing_kwargs",
]


@each("name", PROMISED)
def test_every_fact_of_the_interface_exists(name: str) -> None:
    assert term(name) is not None


def test_names_are_unique_lower_case_and_explained() -> None:
    assert [name for name, count in Counter(known.name for known in TERMS).items() if count > 1] == []
    for known in TERMS:
        assert re.fullmatch(r"([a-z]+\.)?[a-z][a-z0-9_]*", known.name), known.name
        assert known.meaning.strip()
        assert not known.meaning.endswith(".")


@each("known", [known for known in TERMS if known.choices], ids=lambda known: known.name)
def test_every_choice_is_understood_as_itself(known: Term) -> None:
    assert known.kind in ("choice", "dtype")
    for choice in known.choices:
        assert parse_value(known.name, choice) == choice
        assert parse_value(known.name, choice.upper()) == choice
    assert isinstance(parse_value(known.name, "what has no meaning"), NotUnderstood)


def test_every_choice_fact_has_choices() -> None:
    assert [known.name for known in TERMS if known.kind in ("choice", "dtype") and not known.choices] == []


def test_packages_are_the_one_open_family() -> None:
    torch = term("packages.torch")
    assert torch is not None
    assert torch.kind == "version"
    assert term("packages.") is None
    assert term("packages") is None
    assert term("libraries.torch") is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("plan.metod", "plan.method"),
        ("plan.batchsize", "plan.batch_size"),
        ("gpu.compute_capabilty", "gpu.compute_capability"),
        ("method", "plan.method"),
        ("training.batch_size", "plan.batch_size"),
        ("pyhton", "python"),
    ],
)
def test_a_mistyped_name_gets_the_name_that_was_meant(typed: str, meant: str) -> None:
    assert term(typed) is None
    assert suggestion(typed) == meant


def test_a_name_far_from_all_gets_no_suggestion() -> None:
    assert suggestion("zzz.qqqqqq") is None
