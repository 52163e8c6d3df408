"""One rule as a page."""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from envdoctor.report.plain import printable
from envdoctor.rules.conditions import All, AnyOf, Condition, Not
from envdoctor.rules.rule import Fix, Rule


def render(rule: Rule, *, width: int = 80, colour: bool = False) -> str:
    """The page: what happens, when, what cures it, what it looks like, on what evidence."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as capture:
        _print(console, rule)
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def _print(console: Console, rule: Rule) -> None:
    console.print(Text(printable(rule.id), style="bold"))
    _text(console, rule.title)
    _text(console, f"{rule.severity}, {rule.effect}; confidence: {rule.confidence}")
    if rule.withdrawn is not None:
        _text(console, f"withdrawn: {rule.withdrawn}")
    _head(console, "What happens")
    for paragraph in rule.details.strip().split("\n\n"):
        _text(console, " ".join(paragraph.split()), 2)
    _head(console, "When")
    if rule.condition is None:
        _text(console, f"decided by the check {rule.check}", 2)
    else:
        for line in when(rule.condition):
            _text(console, line, 2)
    if rule.error_when is not None:
        _text(console, f"an error where {'; '.join(when(rule.error_when))}", 2)
    _head(console, "Cures")
    for fix in rule.fixes:
        _text(console, fix_line(fix), 2)
    if rule.symptoms:
        _head(console, "Looks like")
        for symptom in rule.symptoms:
            console.print(Text(f"  {printable(symptom)}"), soft_wrap=True)
    if rule.probe is not None:
        _head(console, "Confirm it")
        _text(console, f"envdoctor probe {rule.probe}", 2)
    _head(console, "Evidence")
    for source in rule.evidence:
        console.print(Text(f"  {printable(source.url)} ({source.kind})"), soft_wrap=True)
        _text(console, source.says, 4)


def _head(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _text(console: Console, text: str, indent: int = 0) -> None:
    console.print(Padding(Text(printable(text)), (0, 0, 0, indent)))


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
        "when": [] if rule.condition is None else when(rule.condition),
        "check": rule.check,
        "probe": rule.probe,
        "details": rule.details.strip(),
        "symptoms": list(rule.symptoms),
        "fixes": [
            {"kind": fix.kind, "pins": dict(fix.pins), "set": dict(fix.plan), "text": fix.text, "note": fix.note} for fix in rule.fixes
        ],
        "evidence": [{"url": source.url, "kind": source.kind, "says": source.says} for source in rule.evidence],
        "withdrawn": rule.withdrawn,
    }
