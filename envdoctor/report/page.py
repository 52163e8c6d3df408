"""One rule as a page."""

from __future__ import annotations

from envdoctor.report.sheet import Sheet
from envdoctor.rules.conditions import All, AnyOf, Condition, Not
from envdoctor.rules.rule import Fix, Rule


def render(rule: Rule, *, width: int = 80, colour: bool = False) -> str:
    """The page: what happens, when, what cures it, what it looks like, on what evidence."""
    sheet = Sheet(width, colour)
    _print(sheet, rule)
    return sheet.text()


def _print(sheet: Sheet, rule: Rule) -> None:
    sheet.line(rule.id, style="bold")
    sheet.line(rule.title)
    sheet.line(f"{rule.severity}, {rule.effect}; confidence: {rule.confidence}")
    if rule.withdrawn is not None:
        sheet.line(f"withdrawn: {rule.withdrawn}")
    _head(sheet, "What happens")
    for paragraph in rule.details.strip().split("\n\n"):
        sheet.line(" ".join(paragraph.split()), 2)
    _head(sheet, "When")
    if rule.log_only:
        sheet.line("only where a log shows its text", 2)
    elif rule.check is not None:
        sheet.line(f"decided by the check {rule.check}", 2)
    for line in when(rule.affected) if rule.affected is not None else ():
        sheet.line(line, 2)
    if rule.error_when is not None:
        sheet.line(f"an error where {'; '.join(when(rule.error_when))}", 2)
    _head(sheet, "Cures")
    for fix in rule.fixes:
        sheet.line(fix_line(fix), 2)
    if rule.symptoms:
        _head(sheet, "Looks like")
        for symptom in rule.symptoms:
            sheet.unbroken(f"  {symptom}")
    if rule.probe is not None:
        _head(sheet, "Confirm it")
        sheet.line(f"envdoctor probe {rule.probe}", 2)
    _head(sheet, "Evidence")
    for source in rule.evidence:
        sheet.unbroken(f"  {source.url} ({source.kind})")
        sheet.line(source.says, 4)


def _head(sheet: Sheet, title: str) -> None:
    sheet.blank()
    sheet.line(title, style="bold")


def when(condition: Condition) -> list[str]:
    """The condition in lines: all of them hold together."""
    if isinstance(condition, All):
        return [line for part in condition.parts for line in when(part)]
    if isinstance(condition, AnyOf):
        return ["either " + ", or ".join(" and ".join(when(part)) for part in condition.parts)]
    if isinstance(condition, Not):
        return ["not (" + " and ".join(when(condition.part)) + ")"]
    return [f"{condition.fact.removeprefix('packages.')} {condition.text()}"]


def fix_line(fix: Fix) -> str:
    """One cure in a line."""
    if fix.kind == "pin":
        what = "pin " + ", ".join(f"{name} {spec}" for name, spec in fix.pins.items())
    elif fix.kind == "plan":
        what = "plan: " + ", ".join(f"{name} = {_setting(value)}" for name, value in fix.plan.items())
    else:
        what = f"{fix.kind}: {fix.text}"
    return f"{what} ({fix.note})" if fix.note else what


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def as_object(rule: Rule) -> dict[str, object]:
    """The page for scripts."""
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity,
        "effect": rule.effect,
        "confidence": rule.confidence,
        "packages": list(rule.packages),
        "when": [] if rule.affected is None else when(rule.affected),
        "check": rule.check,
        "log_only": rule.log_only,
        "probe": rule.probe,
        "details": rule.details.strip(),
        "symptoms": list(rule.symptoms),
        "fixes": [
            {"kind": fix.kind, "pins": dict(fix.pins), "set": dict(fix.plan), "text": fix.text, "note": fix.note} for fix in rule.fixes
        ],
        "evidence": [{"url": source.url, "kind": source.kind, "says": source.says} for source in rule.evidence],
        "withdrawn": rule.withdrawn,
    }
