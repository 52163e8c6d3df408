"""Findings that do not count: those that the project ignores, with a reason and a last day, and those of the baseline."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from envdoctor.engine.diagnosis import Finding, Location
from envdoctor.policy.settings import Ignore, Settings
from envdoctor.records import replace
from envdoctor.remedies.cures import Cure
from envdoctor.report.location import Place, fingerprints, places, relative
from envdoctor.report.model import IN_BASELINE, Diagnosed, Report, worst_first
from envdoctor.rules.rulebook import Rulebook

EXPIRED = "ignore-expired"


def excuse(
    report: Report,
    settings: Settings,
    book: Rulebook,
    *,
    today: datetime.date,
    root: Path,
    targets: Sequence[str] = (),
    baseline: Collection[str] = (),
) -> Report:
    """The report with its excused findings marked, a finding for every entry that has expired, and a word on those that were of no use.

    ``baseline`` are the fingerprints of findings that were there before; ``root`` is what paths are relative to. An entry for
    some files is of no use only where one of these was looked at: a target, or a file that stated a fact.
    """
    shown = places(report, root)
    marks = fingerprints(report, shown) if baseline else ("",) * len(shown)
    used: set[int] = set()
    told = []
    for diagnosed, where, mark in zip(report.findings, shown, marks, strict=True):
        overrides = [one for one in settings.overrides if where.own and _matches(where.file, one.paths)]
        entries = [*settings.ignore, *(entry for one in overrides for entry in one.ignore)]
        holding = [one for one in entries if _holds(one, diagnosed, where, today)]
        levels = [one.fail_on for one in overrides if one.fail_on is not None]
        known = f"ignored: {holding[0].reason}" if holding else IN_BASELINE if mark in baseline else ""
        used.update(map(id, holding))
        told.append(replace(diagnosed, excused=known or diagnosed.excused, fail_on=levels[-1] if levels else diagnosed.fail_on))
    rows = list(_entries(settings))
    expired = [_expired(entry, settings, book) for entry, _ in rows if _is_over(entry, today)]
    left = [(entry, paths) for entry, paths in rows if id(entry) not in used and not _is_over(entry, today)]
    seen = _files(report, targets, root) if any(paths for _, paths in left) else frozenset()
    hints = [_unused(entry, settings, book) for entry, paths in left if all(any(_matches(f, some) for f in seen) for some in paths)]
    return replace(report, findings=worst_first([*told, *expired]), hints=(*report.hints, *hints))


def _files(report: Report, targets: Sequence[str], root: Path) -> frozenset[str]:
    """The files that this run is about."""
    files = {place.file for place in places(report, root) if place.own} | {relative(target, root) for target in targets}
    for facts in (report.facts, *(situation.facts for situation in report.situations)):
        files.update(relative(file, root) for file in {fact.origin.file for fact in facts.values()} if file is not None)
    return frozenset(files)


def _entries(settings: Settings) -> Iterator[tuple[Ignore, tuple[tuple[str, ...], ...]]]:
    """Every entry, with the lists of paths of each of which its file must be one."""
    for entry in settings.ignore:
        yield entry, (entry.paths,) if entry.paths else ()
    for override in settings.overrides:
        for entry in override.ignore:
            yield entry, (override.paths, entry.paths) if entry.paths else (override.paths,)


def _is_over(entry: Ignore, today: datetime.date) -> bool:
    return entry.until is not None and entry.until < today


def _holds(entry: Ignore, diagnosed: Diagnosed, where: Place, today: datetime.date) -> bool:
    rule = diagnosed.finding.rule
    about = entry.rule == rule.id or entry.rule in rule.aliases
    return about and not _is_over(entry, today) and (not entry.paths or (where.own and _matches(where.file, entry.paths)))


def _matches(file: str, patterns: Sequence[str]) -> bool:
    """Whether a path is one of those meant: by a glob (``*`` crosses directories), or below a directory that is named."""
    return any(fnmatchcase(file, pattern) or file.startswith(f"{pattern.rstrip('/')}/") for pattern in patterns)


def _expired(entry: Ignore, settings: Settings, book: Rulebook) -> Diagnosed:
    rule = book.whole(EXPIRED)
    detail = f"{entry.rule} was ignored until {entry.until}: {entry.reason}"
    finding = Finding(rule, "matched", rule.severity, location=Location(settings.place, entry.line), detail=detail)
    return Diagnosed(finding, tuple(Cure(fix.kind, fix.note, {}, {}, fix.text) for fix in rule.fixes))


def _unused(entry: Ignore, settings: Settings, book: Rulebook) -> str:
    place = f"{settings.place}{f':{entry.line}' if entry.line else ''}"
    if book.knows(entry.rule):
        return f"ignored but not found: {entry.rule} ({place})"
    close = get_close_matches(entry.rule, book.tables, n=1)
    return f"ignored, but there is no such rule: {entry.rule} ({place}){f'; perhaps {close[0]}' if close else ''}"
