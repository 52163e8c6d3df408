"""The fit report for scripts: the shape that the interface fixes, and that it says what the text says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate

from envdoctor.memory.estimate import TERMS
from envdoctor.report import fit_text
from envdoctor.report.fit import FitReport
from envdoctor.report.fit_json import render
from tests.report.fits import ESTIMATE, HOSTILE, report, too_much

_RANGE = {"type": "object", "required": ["low", "expected", "high"], "additionalProperties": {"type": "number", "minimum": 0}}
_TERMS = {"type": "object", "required": list(TERMS), "additionalProperties": {"type": "number", "minimum": 0}}
SCHEMA = {
    "type": "object",
    "required": ["schema_version", "method", "per_gpu", "gpu_memory_gib", "answer", "fits", "advice", "unknown"],
    "properties": {
        "schema_version": {"const": 1},
        "method": {"enum": ["closed-form", "fake-tensors"]},
        "per_gpu": {
            "type": "object",
            "required": ["allocated_gib", "reserved_gib", "terms_gib", "peak_at"],
            "properties": {"allocated_gib": _RANGE, "reserved_gib": _RANGE, "terms_gib": _TERMS, "peak_at": {"type": "string"}},
        },
        "gpu_memory_gib": {"type": ["number", "null"]},
        "answer": {"enum": ["figure", "range"]},
        "fits": {"enum": ["yes", "tight", "no", "unknown"]},
        "advice": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["change", "allocated_gib", "cost"],
                "properties": {
                    "change": {"type": "object", "minProperties": 1},
                    "allocated_gib": {"type": "number"},
                    "cost": {"type": "string", "minLength": 1},
                },
            },
        },
        "unknown": {"type": "array", "items": {"type": "object", "required": ["fact", "assumed"]}},
    },
}  # fmt: skip


def told(made: FitReport) -> Any:
    return json.loads(render(made))


@pytest.mark.parametrize("card", [None, 8.0, 24.0, 80.0, 96.0])
def test_the_shape_is_that_of_the_interface(card: float | None) -> None:
    body = told(replace(too_much(), verdict=report(card).verdict))
    validate(body, SCHEMA)
    assert body["fits"] == report(card).verdict.fits


def test_the_peak_is_told_term_by_term() -> None:
    body = told(report())
    assert body["per_gpu"] == {
        "allocated_gib": {"low": 71.5, "expected": 75.56, "high": 79.25},
        "reserved_gib": {"low": 75.5, "expected": 80.0, "high": 90.5},
        "terms_gib": {
            "weights": 17.5, "adapters": 0.02, "gradients": 0.0, "optimizer": 0.04, "activations": 47.5, "logits": 10.25, "other": 0.25,
        },
        "peak_at": "loss",
    }  # fmt: skip
    assert body["gpu_memory_gib"] == 79.15
    assert [moment["name"] for moment in body["moments"]] == ["loading", "loss", "backward", "optimizer step"]


def test_advice_can_be_given_back_as_facts() -> None:
    (first, card) = told(too_much())["advice"]
    assert first["change"] == {"plan.gradient_checkpointing": True, "plan.method": "qlora", "plan.quant": "4bit"}
    assert first["allocated_gib"] == 21.4
    assert first["fits"] == "tight"
    assert card["change"] == {"gpu.memory_gib": 96}


def test_what_was_assumed_is_listed() -> None:
    assert told(report())["unknown"] == [{"fact": "plan.optimizer", "assumed": "adamw_torch", "why": "default of transformers 4.48.0"}]


def test_a_measured_figure_has_the_closed_form_beside_it() -> None:
    body = told(replace(report(), closed_form=ESTIMATE, estimate=replace(ESTIMATE, method="fake-tensors")))
    assert body["method"] == "fake-tensors"
    assert body["closed_form"]["allocated_gib"] == {"low": 71.5, "expected": 75.56, "high": 79.25}
    assert told(too_much())["exact"] == {"refused": "transformers is not installed"}


def test_the_data_are_summed_up() -> None:
    lengths = told(too_much())["lengths"]
    assert (lengths["rows"], lengths["p50"], lengths["p95"], lengths["longest"]) == (12000, 200, 900, 6001)
    assert lengths["worst_batch"] == {"tokens": 6001, "rows": 1, "longest": 6001}
    assert lengths["longest_rows"] == [{"tokens": 6001, "line": 17}]


@given(st.text())
def test_any_name_is_valid_json_and_comes_back(name: str) -> None:
    assert told(replace(report(), model=name, gpu=name))["model"] == name


def test_escapes_of_a_terminal_are_escaped() -> None:
    assert "\x1b" not in render(replace(report(), model=HOSTILE))


@pytest.mark.parametrize("made", [report(), report(None), too_much()])
def test_text_and_json_say_the_same(made: FitReport) -> None:
    body, text = told(made), fit_text.render(made)
    word = {"yes": "fits", "tight": "tight", "no": "does not fit", "unknown": "cannot be told"}[body["fits"]]
    assert f"\n{word}: {body['needed_gib']['expected']:.1f} GiB" in text
    for advice in body["advice"]:
        assert f"{advice['allocated_gib']:.1f} GiB  --set" in text
