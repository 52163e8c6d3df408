"""Reading a rule: the whole of it, and everything that is wrong with one at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from envdoctor.errors import SeveralErrors
from envdoctor.files.toml import parse_toml
from envdoctor.rules.conditions import All, AnyOf, Not, ValueIs, parse_condition
from envdoctor.rules.rule import Evidence, Fix, Rule, outline, parse_rule

PAGE = b"""
id         = "some-rule"
title      = "Something goes wrong"
severity   = "error"
effect     = "silent"
confidence = "cited"
probe      = "lora-step"
symptoms   = ["loss is nan"]
details    = '''Why.'''
aliases    = ["old-name"]

[affected]
packages        = ["PEFT >=0.7, <0.12", "torch"]
plan.method     = ["lora", "dora"]
any = [{ plan.fp16 = false }, { packages = ["accelerate <1"] }]
not = { packages = ["xformers"] }

[error_when]
gpu.compute_capability = ">=9.0"

[[fix]]
pin  = ["PEFT >=0.12", "Torch_Vision >=0.20"]
note = "cured"
[[fix]]
plan = { load_dtype = "bfloat16", fp16 = false }
[[fix]]
code = "cast to float32"

[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1568"
kind = "issue"
says = "what it says"

[[case]]
expect = "match"
facts  = {}
"""


def page() -> dict[str, Any]:
    return copy.deepcopy(parse_toml(PAGE, "some-rule.toml"))


def errors_of(table: Mapping[str, object]) -> list[tuple[str, str]]:
    """Every error of the rule: its place without the file, and what was found."""
    with pytest.raises(SeveralErrors) as raised:
        parse_rule(table, "some-rule.toml")
    for error in raised.value.errors:
        assert error.place.startswith("some-rule.toml: ")
        assert error.expected
        assert str(error) in str(raised.value)
    return [(error.place.removeprefix("some-rule.toml: "), error.found) for error in raised.value.errors]


def test_a_rule_is_read_whole() -> None:
    rule = parse_rule(page(), "some-rule.toml")
    assert isinstance(rule.condition, All)
    kinds = [type(part) for part in rule.condition.parts]
    # The last one asks whether a script loads the packages, which no rule says of itself.
    assert kinds[2:] == [ValueIs, AnyOf, Not, Not]
    assert rule.error_when is not None
    assert rule == Rule(
        id="some-rule",
        title="Something goes wrong",
        severity="error",
        effect="silent",
        confidence="cited",
        details="Why.",
        condition=rule.condition,
        error_when=rule.error_when,
        packages=("peft", "torch", "accelerate"),
        probe="lora-step",
        symptoms=("loss is nan",),
        fixes=(
            Fix("pin", "cured", pins={"peft": ">=0.12", "torch-vision": ">=0.20"}),
            Fix("plan", "", plan={"plan.load_dtype": "bfloat16", "plan.fp16": False}),
            Fix("code", "", text="cast to float32"),
        ),
        evidence=(Evidence("https://github.com/huggingface/peft/issues/1568", "issue", "what it says"),),
        aliases=("old-name",),
    )


def test_a_rule_accuses_at_most_four_packages_and_none_that_must_be_absent() -> None:
    table = page()
    table["affected"] = {"packages": [f"p{number}" for number in range(6)], "not": {"packages": ["xformers"]}}
    assert parse_rule(table, "x").packages == ("p0", "p1", "p2", "p3")
    table["packages"] = ["Flash_Attn"]
    assert parse_rule(table, "x").packages == ("flash-attn",)


def test_a_rule_that_code_decides_needs_no_condition() -> None:
    table = page()
    del table["affected"]
    table["check"] = "some-rule"
    rule = parse_rule(table, "x")
    assert rule.condition is None
    assert (rule.check, rule.packages) == ("some-rule", ())


def test_a_rule_of_logs_keeps_its_stack_where_no_search_looks_for_conditions() -> None:
    table = page()
    table["log_only"] = True
    rule = parse_rule(table, "x")
    assert rule.condition is None
    assert rule.affected == rule.in_log == parse_condition(table["affected"])
    assert outline(table).in_log == rule.in_log
    del table["affected"]
    assert parse_rule(table, "x").affected is None


@pytest.mark.parametrize(("key", "value"), [("check", "some-rule"), ("symptoms", None), ("log_only", "yes")])
def test_a_rule_of_logs_needs_a_text_and_no_code(key: str, value: object) -> None:
    table = page()
    table["log_only"] = True
    table[key] = value
    if value is None:
        del table[key]
    assert [place for place, _ in errors_of(table)] == ["log_only"]


def test_five_errors_are_told_at_once_each_with_its_key() -> None:
    table = page()
    table.update(severity="fatal", titel="x", title=" ", symptoms="loss is nan", evidence=[])
    assert errors_of(table) == [
        ("title", "' '"),
        ("severity", "'fatal'"),
        ("symptoms", "'loss is nan'"),
        ("evidence", "nothing"),
        ("titel", "an unknown key"),
    ]


def test_every_part_of_a_condition_is_told_even_under_one_table() -> None:
    table = page()
    table["affected"] = {
        "packages": ["peft>=0.7", "torch >=2", "trl >=banana"],
        "plan": {"metod": "lora", "fp16": "maybe", "batch_size": ">1"},
        "any": [{"plan": {"quant": "5bit"}}, {"gpu": {"vender": "nvidia"}}],
        "not": {"plan": {"load_dtype": "float17"}},
    }
    found = errors_of(table)
    assert [key for key, _ in found] == [
        "affected.packages",
        "affected.packages",
        "affected.plan.metod",
        "affected.plan.fp16",
        "affected.any.plan.quant",
        "affected.any.gpu.vender",
        "affected.not.plan.load_dtype",
    ]
    assert "'peft>=0.7'" in found[0][1]
    assert "'trl >=banana'" in found[1][1]
    assert "perhaps 'plan.method'" in found[2][1]
    assert "perhaps 'gpu.vendor'" in found[5][1]


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("id", 3, "id"),
        ("details", "", "details"),
        ("effect", "bad", "effect"),
        ("confidence", None, "confidence"),
        ("probe", "", "probe"),
        ("aliases", [""], "aliases"),
        ("affected", {}, "affected"),
        ("affected", "torch", "affected"),
        ("affected", {"packages": []}, "affected.packages"),
        ("affected", {"any": []}, "affected.any"),
        ("affected", {"any": [{}]}, "affected.any"),
        ("affected", {"not": {}}, "affected.not"),
        ("affected", {"plan": {"batch_size": ">e"}}, "affected.plan.batch_size"),
        ("error_when", {"gpu": {"nam": "A100"}}, "error_when.gpu.nam"),
        ("fix", "peft >=0.12", "fix"),
        ("fix", [{}], "fix"),
        ("fix", [{"pin": "peft >=0.12", "code": "x"}], "fix"),
        ("fix", [{"pin": "peft >=0.12", "why": "x"}], "fix"),
        ("fix", [{"pin": "peft"}], "fix.pin"),
        ("fix", [{"pin": "peft >=0.12.banana"}], "fix.pin"),
        ("fix", [{"pin": ["peft >=0.12", "torch>=2"]}], "fix.pin"),
        ("fix", [{"plan": "bfloat16"}], "fix.plan"),
        ("fix", [{"plan": {}}], "fix.plan"),
        ("fix", [{"code": ""}], "fix.code"),
        ("fix", [{"snapshot": 3}], "fix.snapshot"),
        ("fix", [{"code": "x", "tried": ["peft >=0.12"]}], "fix.tried"),
        ("fix", [{"pin": "peft >=0.12", "tried": ["peft==0.12.0"]}], "fix.tried"),
        ("evidence", [{"url": "http://x", "kind": "issue", "says": "x"}], "evidence.url"),
        ("evidence", [{"url": "https://x", "kind": "rumour", "says": "x"}], "evidence.kind"),
        ("evidence", [{"url": "https://x", "kind": "issue", "says": " "}], "evidence.says"),
    ],
    ids=str,
)
def test_each_error_names_its_key(key: str, value: object, place: str) -> None:
    table = page()
    if value is None:
        del table[key]
    else:
        table[key] = value
    assert [found for found, _ in errors_of(table)] == [place]


def test_a_rule_that_nothing_decides_is_told_beside_other_errors() -> None:
    table = page()
    del table["affected"]
    table["severity"] = "fatal"
    assert [key for key, _ in errors_of(table)] == ["severity", "affected"]


def test_a_mistyped_key_gets_the_key_that_was_meant() -> None:
    table = page()
    table["evidense"] = []
    with pytest.raises(SeveralErrors) as raised:
        parse_rule(table, "x")
    assert raised.value.errors[0].expected == "perhaps 'evidence'"


def test_an_empty_table_tells_all_that_a_rule_needs() -> None:
    assert [key for key, _ in errors_of({})] == ["id", "title", "severity", "effect", "confidence", "details", "evidence", "affected"]
