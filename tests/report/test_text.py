"""What the text report says of findings that are excused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from envdoctor.engine.diagnosis import Because
from envdoctor.report.model import Diagnosed
from envdoctor.report.text import render
from tests.report.reports import MALFORMED, MATCHED, report

KNOWN, OTHER = replace(MATCHED, excused="in the baseline"), replace(MALFORMED, excused="in the baseline")


def excused(*findings: Diagnosed) -> str:
    found = re.search(r"^  excused +(.*?)\n\n", render(report(*findings)), re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ((MATCHED, MALFORMED), ""),
        ((KNOWN, MALFORMED), "1 finding of the baseline"),
        ((KNOWN, OTHER), "2 findings of the baseline"),
        ((KNOWN, OTHER, KNOWN), "3 findings of the baseline"),
    ],
)
def test_what_was_there_before_is_counted(findings: tuple[Diagnosed, ...], said: str) -> None:
    assert excused(*findings) == said


def test_what_is_ignored_is_told_with_its_place_and_reason() -> None:
    ignored = replace(MATCHED, excused="ignored: we wait for the image (until 2026-12-01)")
    nowhere = replace(ignored, finding=replace(MATCHED.finding, location=None))
    assert excused(ignored, nowhere, KNOWN) == (
        "torch-2-5-0-sdpa-mask-nan (requirements.txt:3): ignored: we wait for the image (until 2026-12-01) "
        "torch-2-5-0-sdpa-mask-nan: ignored: we wait for the image (until 2026-12-01) 1 finding of the baseline"
    )


@pytest.mark.parametrize("condition", ["not torch.compile()", "torch.save()"])
def test_of_what_a_script_does_not_do_nothing_is_listed(condition: str) -> None:
    uses = Because("plan.code_uses", "torch.save()", condition, "a script", "t.py", 4)
    finding = replace(MATCHED.finding, because=(Because("packages.peft", "0.11.1", "==0.11.1", "a script", "t.py", 1), uses), detail="")
    text = " ".join(render(report(replace(MATCHED, finding=finding))).split())
    assert "plan.code_uses" not in text
    assert ("the code's" in text) is condition.startswith("torch")
