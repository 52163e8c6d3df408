"""SARIF: by the schema of the standard, and by what GitHub code scanning documents that it takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given

from envdoctor.engine.diagnosis import Because, Location
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, Origin, Skip
from envdoctor.report import sarif
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.sarif import render, render_error
from tests.report.reports import CONFIRMED, MALFORMED, MATCHED, POSSIBLE, REFUTED, report, reports

SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def run_of(text: str) -> Any:
    """The one run of a log that is valid by the schema."""
    log = json.loads(text)
    VALID.validate(log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


def results(shown: Report, root: Path) -> list[Any]:
    found: list[Any] = run_of(render(shown, root=root))["results"]
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_result_in_full(here: Path) -> None:
    (result,) = results(report(MATCHED), here)
    mark = result["partialFingerprints"]["primaryLocationLineHash"]
    assert result == {
        "ruleId": "torch-2-5-0-sdpa-mask-nan",
        "ruleIndex": 0,
        "level": "error",
        "message": {
            "text": "padded rows of a batch become NaN.\n"
            "Because torch is 2.5.0 (bad: ==2.5.0; requirements.txt:3)\n"
            "Because plan.attn is sdpa (bad: sdpa; train.yaml:7)\n"
            'Cure: pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118: the next release\n'
            "Or: plan.attn = eager\n"
            "See [train.yaml:7](1)"
        },
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "requirements.txt", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 3, "startColumn": 1, "endLine": 3},
                }
            }
        ],
        "relatedLocations": [
            {
                "id": 1,
                "physicalLocation": {
                    "artifactLocation": {"uri": "train.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7, "startColumn": 1, "endLine": 7},
                },
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": mark, "envdoctor/v1": mark},
        "properties": {"status": "matched", "severity": "error", "effect": "silent", "confidence": "cited"},
    }


def test_a_rule_in_full(here: Path) -> None:
    driver = run_of(render(report(MATCHED, CONFIRMED), root=here))["tool"]["driver"]
    assert driver == {
        "name": "envdoctor",
        "version": "0.1.0",
        "semanticVersion": "0.1.0",
        "rules": [
            {
                "id": "torch-2-5-0-sdpa-mask-nan",
                "shortDescription": {"text": "padded rows of a batch become NaN"},
                "fullDescription": {
                    "text": "A fully masked row has no defined softmax. "
                    "The fused kernel of torch 2.5.0 returns NaN for it; `eager` returns zeros."
                },
                "help": {
                    "text": "A fully masked row has no defined softmax.\n\n"
                    "The fused kernel of torch 2.5.0 returns NaN for it; `eager` returns zeros.\n\n"
                    "Source: https://github.com/pytorch/pytorch/issues/1 (the row is NaN)\n\n"
                    "In full: envdoctor explain torch-2-5-0-sdpa-mask-nan",
                    "markdown": "A fully masked row has no defined softmax.\n\n"
                    "The fused kernel of torch 2.5.0 returns NaN for it; `eager` returns zeros.\n\n"
                    "- [https:/&#8203;/&#8203;github.com/pytorch/pytorch/issues/1](https://github.com/pytorch/pytorch/issues/1): "
                    "the row is NaN\n\n"
                    "`envdoctor explain torch-2-5-0-sdpa-mask-nan`",
                },
                "defaultConfiguration": {"level": "error"},
                "properties": {"tags": ["silent", "torch"], "precision": "medium", "problem.severity": "error"},
                "helpUri": "https://github.com/pytorch/pytorch/issues/1",
            }
        ],
    }


def test_what_is_possible_is_a_note_that_says_so_and_with_strict_as_loud_as_it_is(here: Path) -> None:
    (result,) = results(report(POSSIBLE), here)
    assert result["level"] == "note"
    assert result["message"]["text"].startswith("Possible: padded rows")
    assert "kind" not in result
    (result,) = results(report(POSSIBLE, strict=True), here)
    assert result["level"] == "error"


def test_what_a_probe_refuted_is_no_result_but_is_told(here: Path) -> None:
    run = run_of(render(report(REFUTED), root=here))
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "torch-2-5-0-sdpa-mask-nan: Refuted by a probe: padded rows of a batch become NaN."
    ]


def test_the_invocation_tells_the_exit_status_and_what_was_not_read(here: Path) -> None:
    run = run_of(render(report(MATCHED, skipped=(Skip("a.yaml", "a dialect of\x1b its own"),)), root=here))
    assert run["invocations"] == [
        {
            "executionSuccessful": True,
            "exitCode": 1,
            "toolExecutionNotifications": [{"level": "note", "message": {"text": "a.yaml: a dialect of\\x1b its own"}}],
        }
    ]


def test_an_error_is_a_run_without_success() -> None:
    error = EnvdoctorError("facts.toml, line 3", found="a list", expected="a table", next_step="write [packages]")
    run = run_of(render_error(error, exit_code=2))
    assert run["results"] == []
    assert run["invocations"] == [
        {
            "executionSuccessful": False,
            "exitCode": 2,
            "toolExecutionNotifications": [
                {
                    "level": "error",
                    "message": {"text": "facts.toml, line 3: found a list; expected a table; next: write [packages]"},
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("a b/c#d%.txt", {"uri": "a%20b/c%23d%25.txt", "uriBaseId": "%SRCROOT%"}),
        ("x:y.txt", {"uri": "x%3Ay.txt", "uriBaseId": "%SRCROOT%"}),
        ("ü.txt", {"uri": "%C3%BC.txt", "uriBaseId": "%SRCROOT%"}),
        ("./sub/../r.txt", {"uri": "r.txt", "uriBaseId": "%SRCROOT%"}),
        ("/elsewhere/r q.txt", {"uri": "file:///elsewhere/r%20q.txt"}),
    ],
)
def test_files_are_uris(file: str, artifact: object, here: Path) -> None:
    moved = Diagnosed(replace(MATCHED.finding, location=Location(file, 1)), ())
    (result,) = results(report(moved), here)
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


def test_a_finding_about_no_file_still_has_the_place_that_github_demands(here: Path) -> None:
    homeless = Diagnosed(replace(MATCHED.finding, location=None, because=()), ())
    installed = Facts({"packages.torch": Fact("packages.torch", "2.5.0", Origin("installed in .venv"))})
    (result,) = results(report(homeless, facts=installed), here)
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "environment"
    assert location["message"]["text"] == "No line states it: about the whole environment (packages of requirements.txt)."


def test_a_category_is_only_there_when_asked_for(here: Path) -> None:
    assert "automationDetails" not in run_of(render(report(MATCHED), root=here))
    assert run_of(render(report(MATCHED), root=here, category="gpu"))["automationDetails"] == {"id": "gpu/"}


def test_a_flood_is_cut_to_what_github_accepts_and_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sarif.MOST_RESULTS == 25_000
    monkeypatch.setattr(sarif, "MOST_RESULTS", 40)
    flood = tuple(Diagnosed(replace(MALFORMED.finding, location=Location("r.txt", n)), ()) for n in range(1, 43))
    log = json.loads(render(report(*flood), root=here))
    (run,) = log["runs"]
    assert len(run["results"]) == 40
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "2 of 42 findings left out: GitHub accepts 40"
    marks = {result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]}
    assert len(marks) == 40


def test_text_from_files_makes_no_links(here: Path) -> None:
    because = (Because("a", "[b](0)", "c", "d", "[x](https://evil.example).txt", 4),)
    hostile = replace(MATCHED.finding, detail="[click](https://evil.example) \\[x](1)", because=because)
    (result,) = results(report(Diagnosed(hostile, ())), here)
    text = result["message"]["text"]
    assert "\\[click\\](https://evil.example) \\\\\\[x\\](1)" in text
    assert text.endswith("\nSee [\\[x\\](https:/evil.example).txt:4](1)")
    assert re.findall(r"(?<!\\)(?:\\\\)*\]\(", text) == ["]("]


@given(reports())
def test_every_report_is_valid_and_as_github_wants_it(shown: Report) -> None:
    text = render(shown)
    run = run_of(text)
    text.encode("ascii")
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        for part in ("shortDescription", "fullDescription"):
            assert 0 < len(rule[part]["text"]) <= 1024
        assert rule["help"]["text"]
        assert len(rule["properties"]["tags"]) <= 10
    marks = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(marks)) == len(marks)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"].strip()
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["region"]["startLine"] >= 1
        uri = physical["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9/%._~:-]+", uri)
        assert ("uriBaseId" in physical["artifactLocation"]) is not uri.startswith("file:///")
        assert unquote(uri)
        links = re.findall(r"(?<!\\)(?:\\\\)*\]\((\d+)\)", result["message"]["text"])
        assert links == [str(related["id"]) for related in result.get("relatedLocations", [])]
