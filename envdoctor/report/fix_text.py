"""What ``fix`` has to say, for people: the diffs as `patch` takes them, then why, on what proof, and what is left."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.values import shown
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import replace
from envdoctor.remedies.remedy import Change, Remedy
from envdoctor.report.mended import Mended, Proved
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.sheet import STYLES, Sheet
from envdoctor.report.text import Detail, unread
from envdoctor.report.words import counts

_MOST_ALTERNATIVES = 3
_MOST_MOVES = 8
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}


def render(
    report: Report, *, width: int = 80, colour: bool = False, links: bool = False, detail: Detail = "short", seconds: float | None = None
) -> str:
    """The report of a fix as text; a diff's lines are never wrapped."""
    assert report.mended is not None
    head, tail = Sheet(width, colour), Sheet(width, colour, links=links)
    if detail == "verdict":
        for text in _ending(report, report.mended):
            head.line(text)
        return head.text()
    head.line(f"envdoctor {report.version}: {report.patient}")
    diffs = "".join(f"\n{_coloured(diff.diff) if colour else diff.diff}" for diff in report.mended.diffs)
    _print(tail, report, report.mended, full=detail == "full")
    # A line of a diff may end in spaces that are the file's own.
    return head.text() + diffs + tail.text()


def _coloured(diff: str) -> str:
    """A diff with colours and nothing else: a console would wrap it, make blanks of its tabs and drop what ends its lines."""
    lines = diff.removesuffix("\n").split("\n")
    return "".join(f"{_COLOURS[line[0]]}{line}\x1b[0m\n" if line[:1] in _COLOURS else f"{line}\n" for line in lines)


def _print(sheet: Sheet, report: Report, mended: Mended, *, full: bool) -> None:
    told = [one for one in report.findings if _worth_a_line(one, report)]
    if told:
        sheet.blank()
    for one in told:
        status = " (possible)" if one.finding.status == "possible" else ""
        ids = (one.finding.rule.id,)
        if not sheet.titled((f"{one.finding.severity}:", STYLES[one.finding.severity]), f"{one.finding.rule.title}{status}", ids):
            sheet.tagged("  ", ids)
    if report.remedy.pins or report.remedy.removes or mended.settings or mended.commands or report.remedy.conflict:
        sheet.blank()
    if not mended.instead:
        _remedy(sheet, report.remedy, report)
    for number, (name, value) in enumerate(mended.settings.items()):
        sheet.item("plan" if number == 0 else "", f"{name} = {shown(value) if isinstance(value, (bool, str)) else value}")
    for command in mended.instead:
        sheet.paste("or", command)
    for number, command in enumerate(mended.commands):
        sheet.paste("run" if number == 0 else "", command)
    for remedy in _other_ways(report)[:_MOST_ALTERNATIVES]:
        for number, command in enumerate(_commands(remedy)):
            sheet.paste("or" if number == 0 else "", command)
    for built in mended.proved:
        _proved(sheet, built, several=len(mended.proved) > 1)
    for number, skip in enumerate(mended.refused):
        sheet.item("refused" if number == 0 else "", f"{skip.what}: {skip.why}")
    unread(sheet, report, full=full)
    sheet.blank()
    for text in _ending(report, mended):
        sheet.line(text)


def _other_ways(report: Report) -> list[Remedy]:
    """The other sets that move other packages, or in another direction; of those that go the same way, the first. JSON has all."""
    seen = {_way(report.remedy)}
    ways = []
    for remedy in report.alternatives:
        if _way(remedy) not in seen:
            seen.add(_way(remedy))
            ways.append(remedy)
    return ways


def _way(remedy: Remedy) -> frozenset[tuple[str, bool]]:
    """Each package that changes, and whether it goes up."""
    return frozenset((one.package, _goes_up(one)) for one in remedy.changes)


def _goes_up(change: Change) -> bool:
    try:
        return version_condition(f">{change.before}").admits(exact(change.pin.removeprefix("==")))
    except ValueError:  # it was a range, or nothing; or it goes
        return True


def _commands(remedy: Remedy) -> list[str]:
    """Another set as lines to paste."""
    from envdoctor.remedies.indexes import index_for
    from envdoctor.remedies.installer import command

    return command(replace(remedy, index=index_for(remedy.pins), moves=())).splitlines()


def _worth_a_line(one: Diagnosed, report: Report) -> bool:
    counted = ("matched", "confirmed", "possible") if report.strict else ("matched", "confirmed")
    return one.finding.severity != "note" and one.finding.status in counted and not one.excused and not one.finding.hidden


def _remedy(sheet: Sheet, remedy: Remedy, report: Report) -> None:
    for number, change in enumerate(remedy.changes):
        sheet.item(
            "pins" if number == 0 else "",
            f"{change.package} {change.before or 'not there'} -> {change.pin.removeprefix('==') or 'removed'}",
        )
        if change.reason:
            _under(sheet, change.reason)
        if change.clears:
            _under(sheet, f"clears {', '.join(change.clears)}")
        whose = _whose(change, report)
        if whose:
            _under(sheet, f"for {', '.join(whose)}")
    if remedy.pins or remedy.removes:
        sheet.item("proof", f"{remedy.verified}: {remedy.proof}" if remedy.proof else f"{remedy.verified}: not verified by a resolver")
        sheet.item("", report.releases_known())
    moves = [f"{one.package} {one.before or 'new'} -> {one.after or 'gone'}" for one in remedy.moves]
    if moves:
        more = f" and {len(moves) - _MOST_MOVES} more (--format json lists all)" if len(moves) > _MOST_MOVES else ""
        sheet.item("moves", f"{', '.join(moves[:_MOST_MOVES])}{more}")
    if remedy.conflict:
        sheet.item("conflict", remedy.conflict)


def _proved(sheet: Sheet, built: Proved, *, several: bool) -> None:
    """What came of building the cure, and of each fault before and after."""
    whose = f"{built.label}: " if several else ""
    if built.failure:
        sheet.item("built", f"{whose}no: {built.failure}")
        return
    sheet.item("built", f"{whose}{built.packages} packages on Python {built.python}, in {built.seconds:.0f} s")
    left = [f"{one.what} ({one.why})" for one in built.left_out]
    if left:
        _under(sheet, f"without {', '.join(left)}")
    for row in built.rows:
        sheet.item("", f"{row.rule}: {row.result}{f' ({row.means})' if row.means else ''}")
        if row.before:
            _under(sheet, f"before: {row.before}")
        _under(sheet, f"after: {row.after}" if row.means else row.after)


def _under(sheet: Sheet, text: str) -> None:
    """Words about the line above, set in from it."""
    from textwrap import wrap

    for part in wrap(printable(text), sheet.width - 13, break_long_words=False, break_on_hyphens=False):
        sheet.item("", f"  {part}")


def _whose(change: Change, report: Report) -> tuple[str, ...]:
    """The choices that a change is for, where others do without it; nothing where it is for all that is always there."""
    asking = [one for one in report.situations if _asks(one.remedy, change)]
    asked = [one for one in report.situations if one.remedy.pins or one.remedy.removes]
    if len(asking) == len(asked) or any(not one.label and len({two.patient for two in report.situations}) == 1 for one in asking):
        return ()
    return tuple(one.label or one.patient for one in asking)


def _asks(remedy: Remedy, change: Change) -> bool:
    return remedy.pins.get(change.package) == change.pin if change.pin else change.package in remedy.removes


def _verdict(mended: Mended) -> str:
    """What building it has shown, in a line."""
    rows = [row for one in mended.proved for row in one.rows]
    count = {result: sum(row.result == result for row in rows) for result in ("cured", "not cured", "not shown", "not run")}
    if not all(not one.failure for one in mended.proved):
        return "the cured environment could not be built"
    told = [f"{number} {result}" for result, number in count.items() if number]
    return f"in the environment that was built: {', '.join(told) or 'nothing to run'}"


def _ending(report: Report, mended: Mended) -> Iterator[str]:
    """What happened, what is still to be done, and by which line."""
    about = {one.finding.rule.id: one for one in report.findings}
    if mended.proved:
        yield _verdict(mended)
    if mended.diffs and not mended.holds:
        yield "nothing was written: the cure does not hold"
    elif mended.diffs:
        files = f"{len(mended.diffs)} file{'s' if len(mended.diffs) > 1 else ''}"
        yield (
            f"{files} written: re-checked, the findings are gone"
            if mended.written
            else f"{files} would change; --write writes {'them' if len(mended.diffs) > 1 else 'it'} and checks again"
        )
    elif mended.refused:
        yield "nothing was changed: what was refused is left to do by hand"
    elif mended.commands:
        yield f"nothing was changed: run the line{'s' if len(mended.commands) > 1 else ''} above, then check again"
    elif not mended.left:
        yield f"nothing to fix: {counts(report)}"
    possible = report.possible()
    if possible and not report.strict:
        yield f"{possible} possible finding{'s' if possible > 1 else ''} not changed: check -v explains them, --strict fixes them too"
    for name in mended.by_hand:
        advice = next((": ".join(filter(None, (cure.text, cure.note))) for cure in about[name].cures if cure.text), "")
        why = "no pin clears it" if name in report.remedy.unfixable else "nothing that clears it could be written"
        why = "change the code" if name in report.remedy.in_code else why
        yield f"left: {name}: {why}{f'; {printable(advice)}' if advice else ''}"


__all__ = ["render"]
