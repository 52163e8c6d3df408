"""What repeats is told once, and a contradiction that a rule explains is part of it."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.engine.diagnosis import Because, Finding
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.causes import find_causes
from envdoctor.report.model import Diagnosed
from envdoctor.report.text import render
from tests.report.reports import MALFORMED, MATCHED, SDPA, report

PEFT = Because("packages.peft", "0.14.0", ">=0.14", "r.txt", "r.txt", 3)
HUB = Because("packages.huggingface-hub", "1.1.0", ">=1", "r.txt", "r.txt", 5)
RULE = Diagnosed(Finding(replace(SDPA, id="a-rule"), "matched", "error", (PEFT, HUB)), ())
CONTRADICT = replace(SDPA, id="requirements-contradict", check="declared_together")
PAIR = Diagnosed(Finding(CONTRADICT, "matched", "error", (replace(PEFT, condition="requires huggingface-hub<1"), HUB)), ())


def told(*findings: Diagnosed) -> list[tuple[tuple[str, ...], int]]:
    return [(cause.rules, len(cause.findings)) for cause in find_causes(findings)]


def test_findings_of_one_rule_are_one_cause() -> None:
    again = replace(MATCHED, finding=replace(MATCHED.finding, location=None))
    assert told(MATCHED, MALFORMED, again) == [(("torch-2-5-0-sdpa-mask-nan",), 2), (("requirement-malformed",), 1)]


def test_what_holds_of_a_choice_alone_is_told_by_itself() -> None:
    assert len(told(MATCHED, replace(MATCHED, within=("extra train",)))) == 2
    assert len(told(MATCHED, replace(MATCHED, finding=replace(MATCHED.finding, severity="warning")))) == 2


def test_a_contradiction_of_the_pair_that_a_rule_accuses_is_part_of_it() -> None:
    assert told(PAIR, RULE) == [(("a-rule", "requirements-contradict"), 1)]


def test_a_contradiction_of_other_packages_or_of_another_line_is_not() -> None:
    elsewhere = replace(PAIR, finding=replace(PAIR.finding, because=(PAIR.finding.because[0], replace(HUB, line=6))))
    third = replace(HUB, fact="packages.tokenizers")
    wider = replace(PAIR, finding=replace(PAIR.finding, because=(*PAIR.finding.because, third)))
    for other in (elsewhere, wider):
        assert told(RULE, other) == [(("a-rule",), 1), (("requirements-contradict",), 1)]


def test_one_of_a_family_is_named_with_its_edge() -> None:
    edges = [replace(MATCHED, finding=replace(MATCHED.finding, edge=edge)) for edge in ("peft:transformers.A", "peft:transformers.B")]
    (cause,) = find_causes(edges)
    assert cause.rules == ("torch-2-5-0-sdpa-mask-nan@peft:transformers.A",)
    text = render(report(*edges))
    assert "torch-2-5-0-sdpa-mask-nan@peft:transformers.B" in text


def test_a_computed_finding_that_the_line_at_the_top_clears_says_so_and_no_more() -> None:
    general = Cure("code", "", {}, {}, "move one of the two packages to a release that fits the other")
    found = Diagnosed(Finding(replace(SDPA, id="import-breaks"), "matched", "error", (PEFT, HUB), packages=("peft",)), (general,))
    shown = report(found)
    assert "  fix: move one of the two packages to a release that fits the other\n" in render(shown)
    joint = replace(shown, remedy=Remedy({"peft": "==0.13.0", "trl": "==0.12.0"}, ("import-breaks",), ()))
    assert "  fix: part of the line at the top\n" in render(joint)
    assert "move one of the two" not in render(joint)
