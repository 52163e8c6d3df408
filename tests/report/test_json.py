"""The report as JSON, key by key: a view that scripts rely on, so that every key of it is held here."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin, Skip
from envdoctor.facts.versions import ABSENT, Ranged, exact
from envdoctor.probes.verdict import Verdict
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Change, Move, Remedy
from envdoctor.report.json import as_object, fact_object, render, render_error
from envdoctor.report.mended import Diff, Mended
from envdoctor.report.model import Coverage, Diagnosed, Situation
from tests.report.reports import CONFIRMED, FACTS, MALFORMED, MATCHED, POSSIBLE, REFUTED, report

REMEDY = Remedy(
    {"torch": "==2.5.1"},
    ("a-rule",),
    ("another-rule",),
    verified="resolver",
    changes=(Change("torch", "2.5.0", "==2.5.1", ("a-rule",), "the next release"),),
    removes=("xformers",),
    moves=(Move("triton", "3.1.0", "3.1.1"),),
    proof="uv takes the whole set",
    conflict="not with xformers",
)
REMEDY_OBJECT = {
    "pins": {"torch": "==2.5.1"},
    "clears": ["a-rule"],
    "unfixable": ["another-rule"],
    "in_code": [],
    "verified": "resolver",
    "proof": "uv takes the whole set",
    "changes": [{"package": "torch", "before": "2.5.0", "pin": "==2.5.1", "clears": ["a-rule"], "reason": "the next release"}],
    "removes": ["xformers"],
    "moves": [{"package": "triton", "before": "3.1.0", "after": "3.1.1"}],
    "conflict": "not with xformers",
}
NO_REMEDY = {
    "pins": {},
    "clears": [],
    "unfixable": [],
    "in_code": [],
    "verified": "none",
    "proof": "",
    "changes": [],
    "removes": [],
    "moves": [],
    "conflict": "",
}
FACTS_OBJECT = {
    "packages.torch": {"value": "2.5.0", "source": "requirements.txt", "line": 3},
    "plan.attn": {"value": "sdpa", "source": "train.yaml", "line": 7},
    "plan.batch_size": {"value": 2, "source": "--set"},
}
MATCHED_OBJECT = {
    "rule": "torch-2-5-0-sdpa-mask-nan",
    "title": "padded rows of a batch become NaN",
    "severity": "error",
    "effect": "silent",
    "status": "matched",
    "confidence": "cited",
    "packages": ["torch"],
    "because": [
        {"fact": "packages.torch", "value": "2.5.0", "condition": "==2.5.0", "source": "requirements.txt"},
        {"fact": "plan.attn", "value": "sdpa", "condition": "sdpa", "source": "train.yaml"},
    ],
    "missing": [],
    "detail": "A fully masked row has no defined softmax.\n\nThe fused kernel of torch 2.5.0\nreturns NaN for it; `eager` returns zeros.",
    "location": {"file": "requirements.txt", "line": 3},
    "fixes": [
        {"kind": "pin", "note": "the next release", "pins": {"torch": "==2.5.1+cu118"}, "verified": "none"},
        {"kind": "plan", "note": "", "set": {"plan.attn": "eager"}},
    ],
    "evidence": [{"url": "https://github.com/pytorch/pytorch/issues/1", "kind": "issue", "says": "the row is NaN"}],
}


def finding(diagnosed: Diagnosed) -> dict[str, object]:
    findings = as_object(report(diagnosed))["findings"]
    assert isinstance(findings, list)
    (one,) = findings
    assert isinstance(one, dict)
    return one


def test_a_whole_report() -> None:
    shown = replace(
        report(MATCHED, skipped=(Skip("b.txt", "no such file"),)),
        remedy=REMEDY,
        alternatives=(Remedy({}, (), ()), REMEDY),
        coverage=Coverage(12, 14, ("torch",)),
        probes=(Verdict("padded-batch", "confirmed", "NaN in step 1", {"rows": 2}, 1.26),),
        recognised=("a public revision",),
        releases_age=9,
    )
    assert as_object(shown) == {
        "schema_version": 1,
        "tool": {
            "name": "envdoctor",
            "version": "0.1.0",
            "rules": 190,
            "rules_digest": "sha256:0",
            "releases_as_of": "2026-01-01",
            "releases_age_days": 9,
        },
        "patient": "packages of requirements.txt",
        "facts": FACTS_OBJECT,
        "findings": [MATCHED_OBJECT],
        "remedy": REMEDY_OBJECT,
        "remedy_by_change": None,
        "alternatives": [NO_REMEDY, REMEDY_OBJECT],
        "unknown": [{"fact": "plan.method", "rules_waiting": 3}],
        "recognised": ["a public revision"],
        "skipped": [{"what": "b.txt", "why": "no such file"}],
        "coverage": {"packages_known": 12, "packages_stated": 14, "packages_newer_than_rules": ["torch"]},
        "probes": [
            {"name": "padded-batch", "verdict": "confirmed", "reason": "NaN in step 1", "measured": {"rows": 2}, "seconds": 1.3},
        ],
        "summary": {"error": 1, "warning": 0, "note": 0, "possible": 0, "hidden": 0, "excused": 0, "exit_code": 1},
    }
    assert json.loads(render(shown)) == as_object(shown)
    assert render(shown).startswith('{\n  "schema_version": 1,\n')
    assert render(shown).endswith("\n}\n")


def test_what_there_is_only_sometimes() -> None:
    plain = as_object(report())
    assert plain["remedy"] == NO_REMEDY
    mended = Mended(
        diffs=(Diff("requirements.txt", "-torch==2.5.0\n+torch==2.5.1\n", written=True),),
        commands=("pip install torch==2.5.1",),
        refused=(Skip("train.py", "code"),),
        settings={"plan.attn": "eager"},
        left=("another-rule",),
        instead=("pip install torch==2.4.1",),
        by_hand=("another-rule",),
    )
    situations = (Situation("gpu", "a.txt", FACTS, REMEDY), Situation("cpu", "a.txt", Facts(), Remedy({}, (), ())))
    shown = as_object(replace(report(), mended=mended, situations=situations))
    assert {name: value for name, value in shown.items() if name not in plain} == {
        "diffs": [{"file": "requirements.txt", "diff": "-torch==2.5.0\n+torch==2.5.1\n", "written": True}],
        "commands": ["pip install torch==2.5.1"],
        "instead": ["pip install torch==2.4.1"],
        "settings": {"plan.attn": "eager"},
        "refused": [{"what": "train.py", "why": "code"}],
        "left": ["another-rule"],
        "by_hand": ["another-rule"],
        "situations": [
            {"label": "gpu", "patient": "a.txt", "facts": FACTS_OBJECT, "remedy": REMEDY_OBJECT},
            {"label": "cpu", "patient": "a.txt", "facts": {}, "remedy": NO_REMEDY},
        ],
    }


def test_a_finding_says_more_where_there_is_more_to_say() -> None:
    assert finding(MATCHED) == MATCHED_OBJECT
    probed = {"name": "padded-batch", "verdict": "confirmed", "reason": "NaN in step 1", "measured": {}, "seconds": 0.0}
    assert finding(CONFIRMED) == {**MATCHED_OBJECT, "status": "confirmed", "probe": probed}
    assert finding(replace(MATCHED, excused="in the baseline", within=("gpu",))) == {
        **MATCHED_OBJECT,
        "excused": "in the baseline",
        "within": ["gpu"],
    }
    assert finding(POSSIBLE) == {**MATCHED_OBJECT, "status": "possible", "missing": ["plan.batch_size"]}
    assert finding(MALFORMED)["detail"] == "line 9 reads 'torch=='"
    nowhere = replace(MATCHED, finding=replace(MATCHED.finding, location=None, packages=("a", "b", "c", "d", "e")))
    assert finding(nowhere) == {**MATCHED_OBJECT, "location": None, "packages": ["a", "b", "c", "d"]}


def test_a_finding_of_a_family_has_its_edge_and_others_have_none() -> None:
    of_family = replace(MATCHED, finding=replace(MATCHED.finding, edge="peft:transformers.HybridCache"))
    findings = json.loads(render(report(of_family, MATCHED)))["findings"]
    assert [one.get("edge") for one in findings] == ["peft:transformers.HybridCache", None]


def test_every_kind_of_finding_is_counted_by_itself() -> None:
    warning = replace(MATCHED, finding=replace(MATCHED.finding, severity="warning"))
    note = replace(MATCHED, finding=replace(MATCHED.finding, severity="note"))
    excused = replace(MATCHED, excused="in the baseline")
    shown = as_object(report(*[MATCHED] * 2, *[warning] * 3, *[note] * 4, *[POSSIBLE] * 5, *[excused] * 6, REFUTED))
    assert shown["summary"] == {"error": 2, "warning": 3, "note": 4, "possible": 5, "hidden": 0, "excused": 6, "exit_code": 1}
    assert as_object(report(warning))["summary"] == {
        "error": 0,
        "warning": 1,
        "note": 0,
        "possible": 0,
        "hidden": 0,
        "excused": 0,
        "exit_code": 0,
    }


@pytest.mark.parametrize(
    ("cure", "shown"),
    [
        (Cure("code", "", {}, {}, "mend the line"), {"kind": "code", "note": "mend the line"}),
        (Cure("code", "it is short", {}, {}, "mend the line"), {"kind": "code", "note": "mend the line: it is short"}),
        (
            Cure("pin", "why", {"a": "==1"}, {}, verified="metadata", bounds={"a": ">=1"}),
            {"kind": "pin", "note": "why", "pins": {"a": "==1"}, "verified": "metadata", "bounds": {"a": ">=1"}},
        ),
        (Cure("plan", "", {}, {"plan.bf16": True}), {"kind": "plan", "note": "", "set": {"plan.bf16": True}}),
    ],
)
def test_a_cure_has_what_its_kind_has(cure: Cure, shown: dict[str, object]) -> None:
    assert finding(replace(MATCHED, cures=(cure,)))["fixes"] == [shown]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, True),
        (8, 8),
        (2e-4, 2e-4),
        ("lora", "lora"),
        (("q_proj", "v_proj"), ["q_proj", "v_proj"]),
        (exact("2.5.0+cu118"), "2.5.0+cu118"),
        (Ranged(">=2,<3"), ">=2,<3"),
        (ABSENT, "not installed"),
    ],
)
def test_a_value_is_shown_as_json_has_it(value: FactValue, shown: object) -> None:
    assert fact_object(Fact("a", value, Origin("b", "c", 4))) == {"value": shown, "source": "b", "line": 4}
    assert fact_object(Fact("a", value, Origin("b"))) == {"value": shown, "source": "b"}


def test_an_error_has_four_parts() -> None:
    told = render_error(EnvdoctorError("plan.yaml", found="a tab", expected="spaces", next_step="replace it"))
    assert json.loads(told) == {
        "schema_version": 1,
        "error": {"place": "plan.yaml", "found": "a tab", "expected": "spaces", "next": "replace it"},
    }
    assert told.startswith('{\n  "schema_version": 1,\n')
    assert told.endswith("\n}\n")
