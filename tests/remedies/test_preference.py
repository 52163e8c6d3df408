"""A change of plan or code comes before an older release, and nothing else changes its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact, version_condition
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.preference import changes_first, goes_back
from envdoctor.rules.conditions import PackageIs
from tests.report.reports import MATCHED

STATED = Facts({"packages.peft": Fact("packages.peft", exact("0.11.1"), Origin("r.txt"))})
CURES = {
    "up": Cure("pin", "", {"peft": "==0.12.0"}, {}),
    "down": Cure("pin", "", {"peft": "==0.6.2"}, {}),
    "lower": Cure("pin", "", {"peft": "==0.5.0", "torch": "==2.0.0"}, {}),
    "plan": Cure("plan", "", {}, {"plan.bf16": True}),
    "code": Cure("code", "", {}, {}, "cast the adapter to float32"),
    "range": Cure("code", "", {}, {}, "install peft <0.7"),
    "out": Cure("code", "", {}, {}, "pip uninstall peft"),
    "card": Cure("hardware", "", {}, {}, "a card with bfloat16"),
}
RULE = replace(
    MATCHED.finding, rule=replace(MATCHED.finding.rule, condition=PackageIs("peft", "packages.peft", version_condition("<0.12")))
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("up down plan code", "up plan code down"),
        ("down plan", "plan down"),
        ("down up plan", "plan down up"),
        ("up plan", "up plan"),
        ("down up", "down up"),
        ("down range card", "down range card"),
        ("down out code", "code down out"),
        ("plan down lower code", "plan code down lower"),
        ("", ""),
    ],
)
def test_order(before: str, after: str) -> None:
    told = changes_first([CURES[name] for name in before.split()], RULE, STATED)
    assert told == tuple(CURES[name] for name in after.split())


def test_what_a_check_says_and_what_an_open_range_waits_for_stays() -> None:
    cures = [CURES["down"], CURES["code"]]
    assert changes_first(cures, MATCHED.finding, STATED) == tuple(cures)
    assert changes_first(cures, replace(RULE, newest=True), STATED) == tuple(cures)


@pytest.mark.parametrize(
    ("pins", "back"),
    [
        ({"peft": "==0.11.0"}, True),
        ({"peft": "==0.11.1"}, False),
        ({"peft": "==0.12.0"}, False),
        ({"torch": "==1.0"}, False),
        ({}, False),
    ],
)
def test_going_back(pins: dict[str, str], back: bool) -> None:
    assert goes_back(pins, STATED) is back
