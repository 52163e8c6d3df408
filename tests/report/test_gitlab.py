"""GitLab's Code Quality report, by its documented fields."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from envdoctor.engine.diagnosis import Location
from envdoctor.report.gitlab import render
from envdoctor.report.model import Diagnosed, Report
from tests.report.reports import CONFIRMED, MALFORMED, MATCHED, POSSIBLE, REFUTED, report, reports


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_entry_in_full(here: Path) -> None:
    (entry,) = json.loads(render(report(MATCHED), root=here))
    mark = entry.pop("fingerprint")
    assert len(mark) > 32
    assert entry == {
        "description": "padded rows of a batch become NaN. Because torch is 2.5.0 (bad: ==2.5.0; requirements.txt:3). "
        "Because plan.attn is sdpa (bad: sdpa; train.yaml:7). "
        'Cure: pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118: the next release.',
        "check_name": "torch-2-5-0-sdpa-mask-nan",
        "severity": "critical",
        "location": {"path": "requirements.txt", "lines": {"begin": 3}},
    }


def test_nothing_wrong_is_an_empty_list(here: Path) -> None:
    assert render(report(), root=here) == "[]\n"


def test_severities(here: Path) -> None:
    note = Diagnosed(replace(MALFORMED.finding, severity="note"), ())
    shown = report(CONFIRMED, MATCHED, MALFORMED, note, POSSIBLE, REFUTED)
    assert [e["severity"] for e in json.loads(render(shown, root=here))] == ["blocker", "critical", "major", "minor", "info"]
    assert [e["severity"] for e in json.loads(render(report(POSSIBLE, strict=True), root=here))] == ["critical"]


def test_a_path_is_relative_and_has_no_dot_before_it(here: Path) -> None:
    (entry,) = json.loads(render(report(Diagnosed(replace(MATCHED.finding, location=Location("./a/../r.txt", None)), ())), root=here))
    assert entry["location"] == {"path": "r.txt", "lines": {"begin": 1}}


@given(reports())
def test_every_report_is_a_list_of_whole_entries(shown: Report) -> None:
    text = render(shown)
    text.encode("ascii")
    entries = json.loads(text)
    assert len(entries) == sum(d.finding.status != "refuted" and not d.excused for d in shown.findings)
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert entry["location"]["lines"]["begin"] >= 1
        assert "\n" not in entry["description"]
        entry["location"]["path"].encode("utf-8")
