"""Where a finding was seen: the line of the file with what is at fault underlined, and the other values that make it so."""

from __future__ import annotations

import os
from collections.abc import Sequence
from textwrap import wrap as wrapped

from envdoctor.engine.diagnosis import Because
from envdoctor.facts.fact import REQUIRED
from envdoctor.facts.uses import CODE_USES
from envdoctor.files.paths import working_directory
from envdoctor.report.excerpt import Excerpt, Sources
from envdoctor.report.model import Diagnosed
from envdoctor.report.plain import printable
from envdoctor.report.sheet import STYLES, Sheet

# Their value stands not in the line that states them.
_OF_ANOTHER_FILE = frozenset(("plan.deepspeed_differs",))
_MOST_OTHERS = 2
_MOST_LINES = 4
_MOST_DETAIL = 8


def print_where(sheet: Sheet, diagnosed: Diagnosed, sources: Sources, *, ids: Sequence[str], at_fault: str, full: bool) -> None:
    """The place of one finding in two lines, or in one where no file states it; the rules' ids stand at its right."""
    finding = diagnosed.finding
    # Where a check says in which file it found it, that file is shown, and not the list that states the release.
    elsewhere = finding.location is not None and finding.location.file not in {one.file for one in finding.because}
    because = () if elsewhere else finding.because
    found = next((one for one in because if one.fact == at_fault and one.line is not None), None)
    if found is not None and found.file is not None and found.line is not None:
        excerpt = sources.excerpt(found.file, found.line, found.fact, found.value)
        place = _place(found.file, found.line)
        said = _said(diagnosed, found, full=full)
        if excerpt is None:
            value = f"{found.fact.removeprefix('packages.')} {found.value}"
            told = said if said.startswith(f"{value} ") else f"{value} {said}".strip()
            _prose(sheet, f"{place}: {told}", ids, full=full)
        else:
            _lines(sheet, place, excerpt, said, ids, STYLES[finding.severity])
        return
    location = finding.location
    if location is not None and location.line is not None and "\n" not in finding.detail:
        excerpt = sources.excerpt(location.file, location.line, "", "")
        if excerpt is not None:
            _lines(sheet, _place(location.file, location.line), excerpt, printable(finding.detail), ids, STYLES[finding.severity])
            return
    where = "" if location is None else _place(location.file, location.line)
    told = finding.detail or _together(finding.because, full=full)
    named = not where or (location is not None and os.path.basename(location.file) in told)
    _prose(sheet, (told or where) if named else f"{where}: {told}", ids, full=full)


def _place(file: str, line: int | None) -> str:
    """A file as one would name it from here, with its line."""
    here = str(working_directory())
    if os.path.isabs(file) and file.startswith(f"{here}{os.sep}"):
        file = os.path.relpath(file, here)
    return printable(file if line is None else f"{file}:{line}")


def _said(diagnosed: Diagnosed, found: Because, *, full: bool) -> str:
    """What stands beside the underlined value: who requires another one, or which other values make it a fault."""
    others = [one for one in diagnosed.finding.because if one is not found and not _is_all_that_is_used(one)]
    required = [one for one in others if one.condition.startswith("requires ")]
    if required:
        package = found.fact.removeprefix("packages.")
        said = [f"{_value(one, found)} {_required(one.condition, package)}" for one in required]
        # Of two that require a third, the one that is underlined has its own requirement.
        return printable(" and ".join([found.condition] * found.condition.startswith("requires ") + said))
    if diagnosed.finding.detail:
        return printable(diagnosed.finding.detail)
    value = printable(f"{found.value}; ") if found.fact in _OF_ANOTHER_FILE else ""
    return f"{value}with {_listed(others, found, full=full)}" if others else value


def _is_all_that_is_used(reason: Because) -> bool:
    """Whether a reason is that a script does not do something: the value is then all that it does."""
    return reason.fact == CODE_USES and reason.condition.startswith("not ")


def _required(condition: str, package: str) -> str:
    """``requires <1.0,>=0.23.0`` where the package is the one underlined."""
    requirement = condition.removeprefix("requires ")
    rest = requirement.removeprefix(package).strip()
    return f"requires {rest if rest[:1] in tuple('<>=!~') else requirement}"


def _together(reasons: Sequence[Because], *, full: bool) -> str:
    """The values that decided, where none stands in a line of a file."""
    if not reasons:
        return ""
    first, *others = sorted([one for one in reasons if not _is_all_that_is_used(one)] or reasons, key=_told_first)
    return f"{_value(first, None)}{f' with {_listed(others, first, full=full)}' if others else ''}"


def _told_first(reason: Because) -> int:
    """Packages and what files say come before what follows from them."""
    return 0 if reason.fact.startswith("packages.") else 1 if reason.line is not None else 3 if reason.source.startswith("default") else 2


def _listed(others: Sequence[Because], beside: Because, *, full: bool) -> str:
    ordered = sorted(others, key=_told_first)
    most = len(ordered) if full or len(ordered) <= _MOST_OTHERS + 1 else _MOST_OTHERS
    more = f", and {len(ordered) - most} more" if len(ordered) > most else ""
    return printable(", ".join(_value(one, beside) for one in ordered[:most])) + more


def _value(reason: Because, beside: Because | None) -> str:
    """A value with its place, in as few words as tell it from the place of the one beside it."""
    fact = "the code's" if reason.fact == CODE_USES else reason.fact.removeprefix("packages.")
    if reason.line is not None and reason.file is not None:
        same = beside is not None and beside.file == reason.file
        where = f"line {reason.line}" if same else _place(reason.file, reason.line)
        # The line names another package, which leaves no choice of this one.
        where = f"{reason.source}, {where}" if reason.source.startswith(REQUIRED) else where
    else:
        where = "" if beside is not None and beside.line is None and beside.source == reason.source else reason.source
    return f"{fact} {reason.value}{f' ({where})' if where else ''}"


def _lines(sheet: Sheet, place: str, excerpt: Excerpt, said: str, ids: Sequence[str], style: str) -> None:
    """The line of the file, the carets below it with what is said, and the ids where there is room for them."""
    tag = _tag(ids)
    gutter = f"  {place} | "
    if len(gutter) > sheet.width // (3 if tag else 2) or len(gutter) + len(excerpt.text) > sheet.width:
        # The place has a line of its own, and the ids are beside it.
        fits = bool(tag) and len(place) + 4 + len(tag) <= sheet.width
        sheet.tagged(f"  {place}{'  ' if fits else ''}", ids if fits else ())
        ids, tag = ((), "") if fits else (ids, tag)
        gutter = f"  {place.rpartition(':')[2]} | "
    shown = excerpt.within(sheet.width - len(gutter))
    carets = shown.underline()
    bar = f"{' ' * (len(gutter) - 3)} | "
    room = sheet.width - len(bar) - len(carets) - 1
    placed = bool(tag) and len(gutter) + len(shown.text) + 1 + len(tag) <= sheet.width and shown.text.isascii()
    if placed:
        gap = " " * (sheet.width - len(gutter) - len(shown.text) - len(tag))
        sheet.tagged(f"{gutter}{shown.text}{gap}", ids)
    else:
        sheet.raw(f"{gutter}{shown.text}")
    rest = "" if placed else tag
    if not said or len(said) <= room:
        beside = f" {said}" if said else ""
        if rest and len(said) + 1 + len(rest) <= room:
            sheet.raw(bar, (carets, style), f"{beside} ", ids=ids)
            return
        sheet.raw(bar, (carets, style), beside)
    else:
        sheet.raw(bar, (carets, style))
        ways = [(indent, _whole_clauses(said, sheet.width - len(indent))) for indent in (bar, "    ")]
        indent, (*lines, last) = min(ways, key=lambda way: len(way[1]))
        for line in lines:
            sheet.raw(f"{indent}{line}")
        if rest and len(indent) + len(last) + 2 + len(rest) <= sheet.width:
            sheet.tagged(f"{indent}{last}  ", ids)
            return
        sheet.raw(f"{indent}{last}")
    if rest:
        sheet.tagged("  ", ids)


def _whole_clauses(said: str, width: int) -> list[str]:
    """The lines of a text, without the clauses at its end that do not fit: half a sentence tells nothing, or something else."""
    lines = wrapped(said, width, break_on_hyphens=False)
    kept = said
    while len(lines) > _MOST_LINES and "; " in kept:
        kept = kept.rpartition("; ")[0]
        lines = wrapped(kept, width, break_on_hyphens=False)
    return lines[:_MOST_LINES]


def _prose(sheet: Sheet, text: str, ids: Sequence[str], *, full: bool) -> None:
    """What was found, in words, with the ids behind it."""
    tag = _tag(ids)
    paragraphs = printable(text, keep_newlines=True).split("\n")
    lines = [part for line in paragraphs for part in wrapped(line, sheet.width - 2, break_on_hyphens=False)]
    if not full and len(lines) > _MOST_DETAIL:
        lines = [*lines[: _MOST_DETAIL - 1], f"and {len(lines) - _MOST_DETAIL + 1} more lines (-v shows them)"]
    for line in lines[:-1]:
        sheet.unbroken(f"  {line}")
    last = lines[-1] if lines else ""
    if tag and last and len(last) + 4 + len(tag) <= sheet.width:
        sheet.tagged(f"  {last}  ", ids)
        return
    if last:
        sheet.unbroken(f"  {last}")
    if tag:
        sheet.tagged("  ", ids)


def _tag(ids: Sequence[str]) -> str:
    return f"[{', '.join(ids)}]" if ids else ""


__all__ = ["print_where"]
