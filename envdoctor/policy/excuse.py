"""Findings that do not count: those that the project ignores, with a reason and a last day, and those of the baseline."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from envdoctor.diagnosis import Finding, Location
from envdoctor.policy.settings import Ignore, Settings
from envdoctor.remedies.cures import Cure
from envdoctor.report.location import Place, fingerprints, places
from envdoctor.report.model import IN_BASELINE, Diagnosed, Report, worst_first
from envdoctor.rules import Rule

EXPIRED = "ignore-expired"


def excuse(
    report: Report, settings: Settings, page: Callable[[str], Rule], *, today: datetime.date, baseline: Collection[str] = ()
) -> Report:
    """The report with its excused findings marked, a finding for every entry that has expired, and a word on those that were of no use.

    ``baseline`` are the fingerprints of findings that were there before; ``page`` gives a rule by its id.
    """
    root = settings.directory.resolve()
    shown = places(report, root)
    marks = fingerprints(report, shown) if baseline else ("",) * len(shown)
    used: set[int] = set()
    told = []
    for diagnosed, where, mark in zip(report.findings, shown, marks, strict=True):
        overrides = [one for one in settings.overrides if where.own and _matches(where.file, one.paths)]
        entries = [*settings.ignore, *(entry for one in overrides for entry in one.ignore)]
        entry = next((one for one in entries if _holds(one, diagnosed, where, today)), None)
        levels = [one.fail_on for one in overrides if one.fail_on is not None]
        known = f"ignored: {entry.reason}" if entry is not None else IN_BASELINE if mark in baseline else ""
        if entry is not None:
            used.add(id(entry))
        told.append(replace(diagnosed, excused=known, fail_on=levels[-1] if levels else diagnosed.fail_on))
    expired = [_expired(entry, settings, page) for entry in _entries(settings) if _is_over(entry, today)]
    unused = tuple(_unused(entry, settings) for entry in _entries(settings) if id(entry) not in used and not _is_over(entry, today))
    return replace(report, findings=worst_first([*told, *expired]), hints=(*report.hints, *unused))


def _entries(settings: Settings) -> Iterator[Ignore]:
    yield from settings.ignore
    for override in settings.overrides:
        yield from override.ignore


def _is_over(entry: Ignore, today: datetime.date) -> bool:
    return entry.until is not None and entry.until < today


def _holds(entry: Ignore, diagnosed: Diagnosed, where: Place, today: datetime.date) -> bool:
    rule = diagnosed.finding.rule
    about = entry.rule == rule.id or entry.rule in rule.aliases
    return about and not _is_over(entry, today) and (not entry.paths or (where.own and _matches(where.file, entry.paths)))


def _matches(file: str, patterns: Sequence[str]) -> bool:
    """Whether a path is one of those meant: by a glob (``*`` crosses directories), or below a directory that is named."""
    return any(fnmatchcase(file, pattern) or file.startswith(f"{pattern.rstrip('/')}/") for pattern in patterns)


def _expired(entry: Ignore, settings: Settings, page: Callable[[str], Rule]) -> Diagnosed:
    rule = page(EXPIRED)
    detail = f"{entry.rule} was ignored until {entry.until}: {entry.reason}"
    finding = Finding(rule, "matched", rule.severity, location=Location(settings.place, entry.line), detail=detail)
    return Diagnosed(finding, tuple(Cure(fix.kind, fix.note, {}, {}, fix.text) for fix in rule.fixes))


def _unused(entry: Ignore, settings: Settings) -> str:
    return f"ignored but not found: {entry.rule} ({settings.place}{f':{entry.line}' if entry.line else ''})"
