"""A finding with all that is known of it: mechanism, every deciding value, every fix, evidence."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.remedies.cures import Cure
from envdoctor.report.model import Diagnosed
from envdoctor.report.sheet import Sheet
from envdoctor.report.words import EFFECTS, cure_line, install_command

_CONFIDENCE = {
    "cited": "cited: from the sources below",
    "computed": "computed: from what the releases contain and what was read here",
    "boundary": "boundary: the range was checked on the released wheels",
    "reproduced": "reproduced: seen to fail and to pass in real environments",
    "reproduced-gpu": "reproduced-gpu: seen to fail and to pass on a GPU",
}
_MOST_VALUES = 4


def print_at_length(sheet: Sheet, findings: Sequence[Diagnosed]) -> None:
    """What stands below the place of a finding, or of several of one rule."""
    first, rule = findings[0], findings[0].finding.rule
    for diagnosed in findings:
        _found(sheet, diagnosed)
    if first.finding.severity != "note":
        sheet.item("effect", EFFECTS[rule.effect])
    sheet.item("why", " ".join(rule.details.strip().split("\n\n")[0].split()))
    if first.verdict is not None:
        sheet.item("probe", f"{first.verdict.probe}: {first.verdict.verdict}: {first.verdict.reason}")
    told: list[tuple[object, ...]] = []
    for cure in (cure for diagnosed in findings for cure in diagnosed.cures):
        key = (tuple(sorted(cure.pins.items())), cure.text, str(cure.plan))
        if key not in told:
            told.append(key)
            _cure(sheet, cure, "fix" if len(told) == 1 else "or")
    sheet.item("known", _CONFIDENCE.get(rule.confidence, rule.confidence))
    for number, source in enumerate(rule.evidence[:2]):
        sheet.paste("source" if number == 0 else "", source.url)


def _found(sheet: Sheet, diagnosed: Diagnosed) -> None:
    finding = diagnosed.finding
    if finding.said:
        sheet.item("found", finding.said)
    if finding.witness:
        sheet.paste("shown by", f"python -c '{finding.witness}'")
    for number, reason in enumerate(finding.because):
        fact = reason.fact.removeprefix("packages.")
        where = reason.source if reason.line is None else f"{reason.file}:{reason.line}"
        affected = "" if reason.condition.startswith(("requires ", "not ")) else "affected: "
        sheet.item("because" if number == 0 else "", f"{fact} {reason.value} ({where}), {affected}{_brief(reason.condition)}")


def _brief(condition: str) -> str:
    """A long list of values is counted, not told: `explain` has all of them."""
    values = condition.split(" or ")
    return condition if len(values) <= _MOST_VALUES else f"one of {len(values)}"


def _cure(sheet: Sheet, cure: Cure, label: str) -> None:
    if cure.pins:
        sheet.paste(label, install_command(cure.pins))
        if cure.note:
            sheet.item("", cure.note)
    elif cure.plan:
        sheet.item(label, f"{cure_line(cure)}: {cure.note}" if cure.note else cure_line(cure))
    elif cure.text.startswith("pip "):
        sheet.paste(label, cure.text)
        sheet.item("", cure.note)
    else:
        sheet.item(label, ": ".join(filter(None, (cure.text, cure.note))))


__all__ = ["print_at_length"]
