"""Several situations as one report: shared findings once, each choice's own with its name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from envdoctor.engine.diagnosis import Because, Finding, Location
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.joined import join
from envdoctor.report.json import as_object
from envdoctor.report.model import Coverage, Diagnosed, Report
from envdoctor.report.text import render
from envdoctor.rules.rule import parse_rule


def page(name: str, severity: str = "error") -> Finding:
    rule = parse_rule(
        {
            "id": name, "title": f"The title of {name}", "severity": severity, "effect": "crash", "confidence": "cited",
            "details": "Why.", "affected": {"packages": ["torch ==2.5.0"]}, "fix": [{"code": "do something"}],
            "evidence": [{"url": "https://example.org", "kind": "docs", "says": "so"}],
        },
        "rules",
    )  # fmt: skip
    return Finding(rule, "matched", rule.severity, location=Location("pyproject.toml", 3), packages=("torch",))


def report(patient: str, findings: list[Finding], packages: dict[str, str], pins: dict[str, str] | None = None) -> Report:
    facts = {f"packages.{name}": Fact(f"packages.{name}", exact(version), Origin("x")) for name, version in packages.items()}
    return Report(
        version="0", rules=1, rules_digest="sha256:0", releases_as_of="2026-01-01", patient=patient, facts=Facts(facts),
        findings=tuple(Diagnosed(finding, ()) for finding in findings),
        remedy=Remedy(pins or {}, tuple(finding.rule.id for finding in findings if pins), ()), unknown=(("plan.method", len(findings)),),
        skipped=(), coverage=Coverage(len(packages), len(packages), ()), probes=(), hints=("a hint",), fail_on="error", strict=False,
    )  # fmt: skip


def test_one_situation_is_its_own_report() -> None:
    only = report("packages of a", [page("one")], {"torch": "2.5.0"})
    assert join([("", only)], Coverage(1, 1, ())) is only


def test_a_finding_of_all_is_told_once_and_that_of_a_choice_with_its_name() -> None:
    base = report("packages of pyproject.toml", [page("always")], {"torch": "2.5.0"}, {"torch": "==2.5.1"})
    train = report(
        "packages of pyproject.toml", [page("always"), page("trained")], {"torch": "2.5.0", "peft": "0.11.1"}, {"torch": "==2.5.1"}
    )
    serve = report("packages of pyproject.toml", [page("always"), page("served", "note")], {"torch": "2.5.0"}, {"torch": "==2.6.0"})
    joined = join([("", base), ("extra train", train), ("extra serve", serve)], Coverage(2, 2, ()))
    assert [(one.finding.rule.id, one.within) for one in joined.findings] == [
        ("always", ()),
        ("trained", ("extra train",)),
        ("served", ("extra serve",)),
    ]
    assert (joined.patient, set(joined.facts), joined.coverage.packages_known) == ("packages of pyproject.toml", {"packages.torch"}, 2)
    assert joined.hints == ("a hint",)
    assert joined.unknown == (("plan.method", 2),)
    # The two choices want different releases of torch: no one set is told for all.
    assert joined.remedy == Remedy({}, (), ())
    text = render(joined)
    assert "(with extra train)" in text
    assert '\n  pip install "torch==2.5.1"\n' in text
    assert "for packages of pyproject.toml, extra train" in text
    assert "for extra serve" in text
    told: Any = as_object(joined)
    assert [one["label"] for one in told["situations"]] == ["", "extra train", "extra serve"]


def test_what_the_packages_alone_show_is_told_once_beside_extras() -> None:
    yanked = replace(page("yanked", "note"), because=(Because("packages.torch", "2.5.0", "yanked", "a file", "facts.toml", 2),))
    parts = [(label, report("packages stated", [yanked], {"torch": "2.5.0"})) for label in ("", "extra a", "extra b")]
    assert [one.within for one in join(parts, Coverage(1, 1, ())).findings] == [()]


def test_what_all_choices_of_a_file_have_without_a_base_needs_no_name() -> None:
    parts = [(f"extra {name}", report("packages of p", [page("shared")], {"torch": "2.5.0"})) for name in ("a", "b")]
    assert [one.within for one in join(parts, Coverage(1, 1, ())).findings] == [()]


def test_files_are_told_apart_and_agree_on_facts_where_they_do() -> None:
    here = page("same")
    there = replace(here, location=Location("b.txt", 1))
    one = report("packages of a.txt", [here], {"torch": "2.5.0", "numpy": "1.26.4"}, {"torch": "==2.5.1"})
    two = report("packages of b.txt", [there], {"torch": "2.4.0", "numpy": "1.26.4"}, {"torch": "==2.5.1"})
    joined = join([("", one), ("", two)], Coverage(2, 2, ()))
    assert joined.patient == "2 situations"
    assert set(joined.facts) == {"packages.numpy"}
    assert [(d.finding.location, d.within) for d in joined.findings] == [(there.location, ()), (here.location, ())]
    assert joined.remedy == Remedy({"torch": "==2.5.1"}, ("same",), ())
    assert joined.exit_code() == 1
