"""Where a finding is shown, and how it is known again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.engine.diagnosis import Because, Location
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.report.location import NO_FILE, Place, checkout, fingerprints, place, places, relative
from envdoctor.report.model import Diagnosed, Report
from tests.report.reports import FACTS, MALFORMED, MATCHED, POSSIBLE, report, reports


def test_the_own_line_of_a_finding_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place(MATCHED.finding, report(MATCHED), tmp_path) == Place("requirements.txt", 3, own=True)


def test_without_it_the_first_fact_that_decided_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    homeless = replace(MATCHED.finding, location=None, because=MATCHED.finding.because[1:])
    assert place(homeless, report(Diagnosed(homeless, ())), tmp_path) == Place("train.yaml", 7, own=True)


def test_without_that_the_first_file_that_stated_anything_is_shown_at_its_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    homeless = replace(MATCHED.finding, location=None, because=())
    assert place(homeless, report(Diagnosed(homeless, ())), tmp_path) == Place("requirements.txt", 1, own=False)


def test_where_no_file_states_anything_there_still_is_a_place(tmp_path: Path) -> None:
    homeless = replace(MATCHED.finding, location=None, because=(Because("packages.torch", "2.5.0", "==2.5.0", "installed in .venv"),))
    installed = Facts({"packages.torch": Fact("packages.torch", "2.5.0", Origin("installed in .venv"))})
    assert place(homeless, report(Diagnosed(homeless, ()), facts=installed), tmp_path) == Place(NO_FILE, 1, own=False)


def test_paths_are_those_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "repo" / "services" / "a"
    project.mkdir(parents=True)
    (project / "requirements.txt").write_text("")
    (tmp_path / "repo" / "base.txt").write_text("")
    (project / "linked.txt").symlink_to(tmp_path / "repo" / "base.txt")
    monkeypatch.chdir(project)
    root = tmp_path / "repo"
    assert relative("requirements.txt", root) == "services/a/requirements.txt"
    assert relative("./requirements.txt", root) == "services/a/requirements.txt"
    assert relative(str(project / "requirements.txt"), root) == "services/a/requirements.txt"
    assert relative("../../base.txt", root) == "base.txt"
    assert relative("linked.txt", root) == "base.txt"
    assert relative("/etc/constraints.txt", root) == "/etc/constraints.txt"
    assert relative("a\0b", root) == "services/a/a\0b"


@pytest.mark.parametrize("name", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_the_checkout_is_what_the_job_says_where_the_process_runs_in_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(other, raising=False)
    inner = tmp_path / "repo" / "sub"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert checkout() == inner
    monkeypatch.setenv(name, str(tmp_path / "repo"))
    assert checkout() == tmp_path / "repo"
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert checkout() == inner
    monkeypatch.setenv(name, "sub")
    assert checkout() == inner


def marks(shown: Report) -> tuple[str, ...]:
    return fingerprints(shown, places(shown, checkout()))


def moved(shown: Report, lines: int, after: int) -> Report:
    """The report of the same files with lines inserted."""

    def new(line: int | None) -> int | None:
        return line + lines if line is not None and line > after else line

    found = []
    for d in shown.findings:
        where = d.finding.location
        because = tuple(replace(reason, line=new(reason.line)) for reason in d.finding.because)
        location = None if where is None else Location(where.file, new(where.line))
        found.append(replace(d, finding=replace(d.finding, location=location, because=because)))
    facts = {name: replace(fact, origin=replace(fact.origin, line=new(fact.origin.line))) for name, fact in shown.facts.items()}
    return replace(shown, findings=tuple(found), facts=Facts(facts))


@given(reports(), st.integers(1, 50), st.integers(0, 400))
def test_lines_inserted_anywhere_change_no_mark(shown: Report, lines: int, after: int) -> None:
    assert marks(moved(shown, lines, after)) == marks(shown)


@given(reports(), st.sampled_from(("a.txt", "zz/late.yaml", None)))
def test_facts_that_decide_nothing_change_no_mark(shown: Report, file: str | None) -> None:
    unrelated = [Fact(name, "9.9", Origin("more", file, 5)) for name in ("packages.accelerate", "model.type", "driver")]
    assert marks(replace(shown, facts=shown.facts.with_facts(unrelated))) == marks(shown)


@given(reports())
def test_no_two_findings_have_one_mark(shown: Report) -> None:
    assert len(set(marks(shown))) == len(shown.findings)


@given(reports(), st.integers(0, 3))
def test_a_finding_that_goes_takes_no_other_mark_with_it(shown: Report, which: int) -> None:
    """Unless the two were alike in everything but their place."""
    rest = tuple(d for number, d in enumerate(shown.findings) if number != which)
    before, after = marks(shown), marks(replace(shown, findings=rest))
    bare = [mark.partition(":")[0] for mark in before]
    if len(set(bare)) == len(bare):
        assert set(after) <= set(before)


def test_a_version_that_is_still_bad_keeps_its_mark() -> None:
    because = (replace(MATCHED.finding.because[0], value="2.5.0+cu121"), *MATCHED.finding.because[1:])
    other = Diagnosed(replace(MATCHED.finding, because=because), MATCHED.cures)
    assert marks(report(other)) == marks(report(MATCHED))


def test_status_and_severity_are_no_part_of_a_mark() -> None:
    assert marks(report(POSSIBLE)) == marks(report(MATCHED))


def test_malformed_lines_of_one_file_are_told_apart_by_their_words_and_not_by_their_numbers() -> None:
    lower = Diagnosed(replace(MALFORMED.finding, detail="line 12 reads 'torch=='", location=Location("requirements.txt", 12)), ())
    other = Diagnosed(replace(MALFORMED.finding, detail="line 9 reads 'peft=='"), ())
    assert marks(report(MALFORMED)) == marks(report(lower))
    first, second = marks(report(MALFORMED, other))
    assert first.endswith(":1")
    assert second.endswith(":1")
    assert first != second


def test_the_mark_of_today_is_the_mark_of_tomorrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alerts are held against it: another value opens every alert of every user anew."""
    monkeypatch.chdir(tmp_path)
    assert marks(report(MATCHED, MALFORMED)) == ("620498151eecf7b7387009554dd6e6ae:1", "5603a1776de9b15dbfd8a9e22609a41e:1")


def test_facts_of_the_example_have_places() -> None:
    assert {fact.origin.file for fact in FACTS.values()} == {"requirements.txt", "train.yaml", None}
