"""JUnit's XML, as a parser and Jenkins' schema see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.report.junit import render, render_error
from envdoctor.report.model import Diagnosed, Report
from tests.report.reports import MALFORMED, MATCHED, NASTY, POSSIBLE, REFUTED, report, reports, texts

# Jenkins' junit-10.xsd: which attributes an element may and must have, and which children.
MAY: dict[str, set[str]] = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
MUST = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}
INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase", "system-out"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}


def suite_of(text: str) -> ElementTree.Element:
    """The one suite of a document that keeps to the schema, and counts right."""
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) <= MAY[element.tag]
        assert set(element.attrib) >= MUST.get(element.tag, set())
        assert {child.tag for child in element} <= INSIDE.get(element.tag, set())
    (suite,) = root
    cases = suite.findall("testcase")
    kinds = Counter(child.tag for case in cases for child in case)
    assert suite.get("tests") == root.get("tests") == str(len(cases))
    assert suite.get("failures") == root.get("failures") == str(kinds["failure"])
    assert suite.get("errors") == root.get("errors") == str(kinds["error"])
    assert suite.get("skipped") == str(kinds["skipped"])
    return suite


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_in_full(here: Path) -> None:
    assert render(report(MALFORMED, skipped=(Skip("a<b", "x & y"),)), root=here) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="envdoctor" tests="1" failures="0" errors="0" time="0">\n'
        '  <testsuite name="envdoctor" tests="1" failures="0" errors="0" skipped="0" time="0">\n'
        '    <testcase classname="envdoctor" name="requirement-malformed (requirements.txt)" time="0">\n'
        "      <system-out>warning: requirements.txt:9\n"
        "a line of the requirements cannot be read.\n"
        "Found: line 9 reads &#x27;torch==&#x27;\n"
        "Cure: mend the line\n"
        "More: envdoctor explain requirement-malformed\n"
        "Source: https://peps.python.org/pep-0508/</system-out>\n"
        "    </testcase>\n"
        "    <system-out>not read:\n"
        "a&lt;b: x &amp; y</system-out>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_nothing_wrong_is_one_passing_case(here: Path) -> None:
    (case,) = suite_of(render(report(), root=here))
    assert (case.get("name"), list(case)) == ("no findings", [])


def test_what_fails_follows_fail_on_and_strict(here: Path) -> None:
    shown = report(MATCHED, MALFORMED, POSSIBLE, REFUTED)

    def kinds(shown: Report) -> list[str]:
        return [child.tag for case in suite_of(render(shown, root=here)) for child in case]

    assert kinds(shown) == ["failure", "system-out", "skipped", "skipped"]
    assert kinds(replace(shown, fail_on="warning")) == ["failure", "failure", "skipped", "skipped"]
    assert kinds(replace(shown, fail_on="never")) == ["system-out", "system-out", "skipped", "skipped"]
    assert kinds(replace(shown, strict=True)) == ["failure", "system-out", "failure", "skipped"]


def test_cases_of_one_rule_and_file_have_names_of_their_own(here: Path) -> None:
    suite = suite_of(render(report(MATCHED, POSSIBLE, MALFORMED), root=here))
    assert [case.get("name") for case in suite] == [
        "torch-2-5-0-sdpa-mask-nan (requirements.txt)",
        "torch-2-5-0-sdpa-mask-nan (requirements.txt) #2",
        "requirement-malformed (requirements.txt)",
    ]


@pytest.mark.parametrize("text", NASTY)
def test_no_text_leaves_its_element(text: str, here: Path) -> None:
    hostile = Diagnosed(replace(MATCHED.finding, detail=f"<{text}>"), ())
    (case,) = suite_of(render(report(hostile), root=here))
    (failure,) = case
    assert (failure.text or "").split("\n")[2].startswith("Found: <")
    assert (failure.text or "").split("\n")[2].endswith(">")


def test_an_error_is_a_case_that_could_not_run() -> None:
    error = EnvdoctorError("a.toml", found="\x00<", expected="b", next_step="c")
    (case,) = suite_of(render_error(error))
    (element,) = case
    assert element.tag == "error"
    assert element.text == "a.toml: found \\x00<; expected b; next: c"


@given(reports())
def test_every_report_keeps_to_the_schema(shown: Report) -> None:
    suite = suite_of(render(shown))
    cases = suite.findall("testcase")
    assert len(cases) == max(1, len(shown.findings))
    assert len({case.get("name") for case in cases}) == len(cases)
    assert bool(suite.findall("testcase/failure")) is bool(shown.exit_code())


@given(texts, texts)
def test_errors_of_every_text_are_well_formed(place: str, found: str) -> None:
    suite_of(render_error(EnvdoctorError(place, found=found, expected="x", next_step="y")))
