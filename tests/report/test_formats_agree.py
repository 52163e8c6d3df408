"""Every format renders one report: what json says is what each of them says, as docs/formats.md has it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given

from envdoctor.report import github, gitlab, junit, markdown, sarif
from envdoctor.report.json import as_object
from envdoctor.report.location import NO_FILE, checkout, places
from envdoctor.report.markup import inline
from envdoctor.report.model import Report
from envdoctor.report.plain import printable
from tests.report.reports import reports
from tests.report.test_github import runner


def told(shown: Report) -> Counter[tuple[str, str, int, str]]:
    """Rule, file, line and level of each finding, by the JSON report and the places."""
    findings = as_object(shown)["findings"]
    assert isinstance(findings, list)
    found: Counter[tuple[str, str, int, str]] = Counter()
    for one, place in zip(findings, places(shown, checkout()), strict=True):
        if one["location"] is not None:
            assert place.own
            assert place.line == (one["location"]["line"] or 1)
        if one["status"] == "refuted" or "excused" in one:
            continue
        quiet = one["status"] == "possible" and not shown.strict
        found[(one["rule"], place.file, place.line, "note" if quiet else one["severity"])] += 1
    return found


def summary(shown: Report) -> dict[str, int]:
    found = as_object(shown)["summary"]
    assert isinstance(found, dict)
    return found


@given(reports())
def test_sarif(shown: Report) -> None:
    (run,) = json.loads(sarif.render(shown))["runs"]
    shown_as = {place.file: sarif_uri(place.file) for place in places(shown, checkout())}
    results = Counter(
        (
            r["ruleId"],
            r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            r["locations"][0]["physicalLocation"]["region"]["startLine"],
            r["level"],
        )
        for r in run["results"]
    )
    assert results == Counter({(rule, shown_as[file], line, level): n for (rule, file, line, level), n in told(shown).items()})
    expected = summary(shown)
    assert run["properties"]["summary"] == {key: expected[key] for key in ("error", "warning", "note", "possible", "excused")}
    assert run["invocations"][0]["exitCode"] == expected["exit_code"]
    statuses = Counter(r["properties"]["status"] for r in run["results"])
    assert statuses["possible"] == expected["possible"]
    decided = Counter(r["properties"]["severity"] for r in run["results"] if r["properties"]["status"] in ("matched", "confirmed"))
    assert all(decided[severity] == expected[severity] for severity in ("error", "warning", "note"))


def sarif_uri(file: str) -> str:
    uri = sarif._artifact(file)["uri"]
    assert isinstance(uri, str)
    return uri


@given(reports())
def test_github(shown: Report) -> None:
    commands = runner(github.render(shown))
    if shown.skipped:
        commands.pop()
    names = {"error": "error", "warning": "warning", "notice": "note"}
    found: Counter[tuple[str, str, str, str]] = Counter()
    for command in commands:
        rule = command.properties["title"].removeprefix("envdoctor: ").partition(" (")[0]
        found[(rule, command.properties.get("file", NO_FILE), command.properties.get("line", "1"), names[command.name])] += 1
    wanted: Counter[tuple[str, str, str, str]] = Counter()
    for (rule, file, line, level), number in told(shown).items():
        wanted[(rule, printable(file, keep_newlines=True), str(line), level)] += number
    assert found == wanted


@given(reports())
def test_gitlab(shown: Report) -> None:
    found = Counter((e["check_name"], e["location"]["path"], e["location"]["lines"]["begin"]) for e in json.loads(gitlab.render(shown)))
    wanted: Counter[tuple[str, str, int]] = Counter()
    for (rule, file, line, _), number in told(shown).items():
        wanted[(rule, printable(file), line)] += number
    assert found == wanted


@given(reports())
def test_junit(shown: Report) -> None:
    root = ElementTree.fromstring(junit.render(shown).encode("utf-8"))
    cases = [case for case in root.iter("testcase") if case.get("name") != "no findings"]
    found = Counter((case.get("name") or "").partition(" (")[0] for case in cases)
    assert found == Counter(d.finding.rule.id for d in shown.findings)
    skipped = Counter(element.get("type") for element in root.iter("skipped"))
    assert skipped["refuted"] == sum(d.finding.status == "refuted" and not d.excused for d in shown.findings)
    assert skipped["excused"] == sum(bool(d.excused) for d in shown.findings)
    failed = {element.get("type") for element in root.iter("failure")}
    assert bool(failed) is bool(summary(shown)["exit_code"])
    if not shown.strict:
        assert skipped["possible"] == summary(shown)["possible"]


@given(reports())
def test_markdown(shown: Report) -> None:
    text = markdown.render(shown)
    expected = summary(shown)
    title = text.split("\n")[0]
    assert title.startswith(f"## envdoctor: {expected['error']} error")
    assert f", {expected['possible']} possible" in title
    assert ("failed by" in title) is bool(expected["exit_code"])
    rows = [line for line in text.split("\n") if line.startswith("| **")]
    decided = [d for d in shown.findings if d.finding.status in ("matched", "confirmed") and not d.excused]
    assert [row.split("|")[1].strip().split("**")[1] for row in rows] == [d.finding.severity for d in decided]
    assert all(inline(d.finding.rule.id) in row for d, row in zip(decided, rows, strict=True))


def test_the_page_names_every_format() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "formats.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in ("text", "json", "sarif", "github", "junit", "markdown", "gitlab"))
