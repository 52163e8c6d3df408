"""One rule as a page: the whole of it at 80 columns, and safe whatever the file says."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.report.page import as_object, fix_line, render, when
from envdoctor.rules.conditions import parse_condition
from envdoctor.rules.rule import Evidence, Fix, Rule

RULE = Rule(
    id="some-rule",
    title="LoRA weights inherit float16 from the base model and the loss falls to 0",
    severity="warning",
    effect="silent",
    confidence="reproduced",
    details="""
From 0.7.0 on LoRA weights take the dtype of the layer that they wrap,
and Adam's epsilon is too small for a float16 number.

The second step is NaN.
""",
    condition=parse_condition(
        {
            "packages": ["peft >=0.7, <0.12"],
            "plan": {"method": ["lora", "dora"], "batch_size": ">1", "fp16": False},
            "any": [{"plan": {"quant": "none"}}, {"packages": ["bitsandbytes"], "plan": {"load_in_8bit": True}}],
            "not": {"packages": ["xformers >=0.0.20"], "plan": {"attn": "xformers"}},
        }
    ),
    error_when=parse_condition({"gpu": {"compute_capability": ">=9.0"}}),
    packages=("peft",),
    probe="lora-step",
    symptoms=(
        "'loss': 0.0, 'grad_norm': nan",
        "a line that is longer than eighty columns and is never broken, so that it can be searched for",
    ),
    fixes=(
        Fix("pin", "weights are kept in float32", pins={"peft": ">=0.12", "transformers": ">=4.40,<5"}),
        Fix("plan", "", plan={"plan.load_dtype": "bfloat16", "plan.bf16": True, "plan.lora_targets": ["q_proj", "v_proj"]}),
        Fix("code", "by hand", text="cast the trainable parameters to float32 after get_peft_model"),
    ),
    evidence=(
        Evidence(
            "https://github.com/huggingface/peft/issues/1568",
            "issue",
            "Normal with 0.6.2, broken from 0.7.0 on; narrowed down to one pull request.",
        ),
        Evidence("https://pypi.org/project/peft/0.12.0/", "wheel", "The parameter is there."),
    ),
    withdrawn=None,
)

PAGE = """\
some-rule
LoRA weights inherit float16 from the base model and the loss falls to 0
warning, silent; confidence: reproduced

What happens
  From 0.7.0 on LoRA weights take the dtype of the layer that they wrap, and
  Adam's epsilon is too small for a float16 number.
  The second step is NaN.

When
  peft >=0.7,<0.12
  plan.method lora or dora
  plan.batch_size >1
  plan.fp16 false
  either plan.quant none, or bitsandbytes installed and plan.load_in_8bit true
  not (xformers >=0.0.20 and plan.attn xformers)
  an error where gpu.compute_capability >=9.0

Cures
  pin peft >=0.12, transformers >=4.40,<5 (weights are kept in float32)
  plan: plan.load_dtype = bfloat16, plan.bf16 = true, plan.lora_targets =
  q_proj, v_proj
  code: cast the trainable parameters to float32 after get_peft_model (by hand)

Looks like
  'loss': 0.0, 'grad_norm': nan
  a line that is longer than eighty columns and is never broken, so that it can be searched for

Confirm it
  envdoctor probe lora-step

Evidence
  https://github.com/huggingface/peft/issues/1568 (issue)
    Normal with 0.6.2, broken from 0.7.0 on; narrowed down to one pull request.
  https://pypi.org/project/peft/0.12.0/ (wheel)
    The parameter is there.
"""


def test_the_whole_page_at_eighty_columns() -> None:
    assert render(RULE) == PAGE


def test_a_rule_that_code_decides_and_that_was_withdrawn() -> None:
    page = render(
        replace(RULE, condition=None, error_when=None, check="some-check", withdrawn="it accused healthy stacks", probe=None, symptoms=())
    )
    assert "withdrawn: it accused healthy stacks\n" in page
    assert "When\n  decided by the check some-check\n\nCures\n" in page
    assert "Confirm it" not in page
    assert "Looks like" not in page


@pytest.mark.parametrize("width", [40, 60, 120])
def test_what_is_not_to_be_pasted_keeps_to_the_width(width: int) -> None:
    lines = render(RULE, width=width).split("\n")
    too_wide = [line for line in lines if len(line) > width]
    assert all("https://" in line or "loss" in line or "a line that is longer" in line for line in too_wide)
    assert not any(line.endswith(" ") for line in lines)


def test_colour_only_adds_escapes() -> None:
    coloured = render(RULE, colour=True)
    assert "\x1b[" in coloured
    assert "\x1b" not in PAGE
    plain = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).split("\n"))
    assert plain == PAGE


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x07\r\u202e[]/"))))
def test_no_text_of_a_rule_acts_on_the_terminal_or_is_read_as_markup(text: str) -> None:
    hostile = f"[bold]{text}[/bold]"
    page = render(
        replace(
            RULE,
            title=hostile,
            details=f"a {hostile}",
            symptoms=(hostile,),
            withdrawn=hostile,
            probe=hostile,
            fixes=(Fix("code", hostile, text=hostile), Fix("plan", "", plan={"plan.optimizer": hostile})),
            evidence=(Evidence("https://x", "issue", hostile),),
        )
    )
    assert not set(page) & {"\x1b", "\x9b", "\x07", "\r", "\u202e", "\x00"}
    assert "[bold]" in page


def test_the_page_for_scripts() -> None:
    table = json.loads(json.dumps(as_object(RULE)))
    assert table["when"] == [
        "peft >=0.7,<0.12",
        "plan.method lora or dora",
        "plan.batch_size >1",
        "plan.fp16 false",
        "either plan.quant none, or bitsandbytes installed and plan.load_in_8bit true",
        "not (xformers >=0.0.20 and plan.attn xformers)",
    ]
    assert table["fixes"][1] == {
        "kind": "plan",
        "pins": {},
        "set": {"plan.load_dtype": "bfloat16", "plan.bf16": True, "plan.lora_targets": ["q_proj", "v_proj"]},
        "text": "",
        "note": "",
    }
    assert {key: table[key] for key in ("id", "severity", "effect", "confidence", "packages", "check", "probe", "withdrawn")} == {
        "id": "some-rule",
        "severity": "warning",
        "effect": "silent",
        "confidence": "reproduced",
        "packages": ["peft"],
        "check": None,
        "probe": "lora-step",
        "withdrawn": None,
    }


def test_alternatives_and_negations_read_as_a_sentence() -> None:
    nested = {"any": [{"not": {"packages": ["torch"]}}, {"all": [{"plan": {"fp16": True}}, {"python": ">=3.12"}]}]}
    assert when(parse_condition(nested)) == ["either not (torch installed), or plan.fp16 true and python >=3.12"]


def test_a_cure_in_a_line() -> None:
    assert fix_line(Fix("hardware", "", text="use an Ampere GPU")) == "hardware: use an Ampere GPU"
    assert fix_line(Fix("pin", "", pins={"peft": ">=0.12"})) == "pin peft >=0.12"
