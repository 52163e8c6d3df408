"""``envdoctor fix``: the pins, or the change of plan, that clear all findings at once, as a diff of the files that say otherwise."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from envdoctor.cli.check import Case, examined_case, joined
from envdoctor.cli.gather import Gathered
from envdoctor.cli.judging import remedies_of
from envdoctor.cli.mending import Mend, decided, mend
from envdoctor.cli.output import write
from envdoctor.cli.project import judged, settled
from envdoctor.cli.proving import proved, proved_together
from envdoctor.edits.edit import Edited
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.policy.settings import Settings
from envdoctor.report.mended import Diff, Mended
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook
from envdoctor.world.releases import known_until

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class _Group:
    """Situations of the same targets: what is always there, and the choices that they offer; one mend is for all of them."""

    situations: tuple[Gathered, ...]
    reports: tuple[Report, ...]
    report: Report
    disputed: tuple[str, ...] = ()


def run(options: argparse.Namespace) -> int:
    if options.write and options.facts == "-":
        raise EnvdoctorError("--facts -", found="--write", expected="facts that can be read again after writing", next_step="give a file")
    with known_until(options.as_of):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    settings = settled(options)
    case = _counted(options, examined_case(options, most_searched=_ALL), settings)
    reports = tuple(proved(options, one, report, case.book) for one, report in zip(case.situations, case.reports, strict=True))
    groups = _groups(options, case, reports)
    report = joined(case.situations, tuple(one for group in groups for one in group.reports))
    mends = [_mended(group, options, case.book) for group in groups]
    edits = _distinct(mends)
    if options.write and edits:
        _write(options, mends, case, settings)
    report = replace(report, mended=_told(mends, report, written=options.write))
    write(options, report)
    return report.exit_code()


def _hashes(package: str, version: str) -> tuple[str, ...]:
    from envdoctor.cli.progress import waiting
    from envdoctor.uv.hashes import release_hashes

    with waiting(f"asking the index for the hashes of {package} {version}"):
        return release_hashes(package, version)


def _counted(options: argparse.Namespace, case: Case, settings: Settings) -> Case:
    """The case without what the project lives with: that is not to be mended."""
    reports = []
    for gathered, report in zip(case.situations, case.reports, strict=True):
        told = judged(options, report, settings, case.book)
        if any(one.excused for one in told.findings):
            left = [one.finding for one in told.findings if not one.excused]
            first, *others = remedies_of(gathered, case.book, left, strict=options.strict)
            told = replace(told, remedy=first, alternatives=tuple(others))
        reports.append(told)
    return replace(case, reports=tuple(reports))


def _mended(group: _Group, options: argparse.Namespace, book: Rulebook) -> Mend:
    if group.disputed:
        why = "the choices that the files offer need different releases of it, and none was found that suits all"
        report = group.report
        return Mend(refused=tuple(Skip(name, why) for name in group.disputed), pending=frozenset(report.remedy.clears))
    return mend(group.situations, group.report, book, hashes=None if options.offline else _hashes)


def _groups(options: argparse.Namespace, case: Case, reports: Sequence[Report]) -> list[_Group]:
    rows = zip(case.situations, case.reports, reports, strict=True)
    found = []
    for _, some in groupby(rows, key=lambda row: row[0].patient):
        ones, searched, told = zip(*some, strict=True)
        together = proved_together(options, ones, searched, told, case.book)
        found.append(_Group(tuple(ones), together.reports, joined(ones, together.reports), together.disputed))
    return found


def _distinct(mends: Iterable[Mend]) -> bool:
    return any(one.after != one.before for mend in mends for one in mend.edits)


def _write(options: argparse.Namespace, mends: Sequence[Mend], case: Case, settings: Settings) -> None:
    """Write all files, or none: they are read back and checked again.

    Raises:
        EnvdoctorError: a file that was changed meanwhile, or after which a finding is still there.
    """
    from envdoctor.edits.write import replace as replace_files

    edits = tuple(one for mend in mends for one in mend.edits if one.after != one.before)
    cleared = {rule for mend in mends for rule in mend.clears}
    before = _rules(case.reports)

    def gone() -> bool:
        again = _counted(options, examined_case(argparse.Namespace(**{**vars(options), "probe": "off"}), most_searched=0), settings)
        after = _rules(again.reports)
        left = sorted((after & cleared) | (after - before))
        if left:
            raise EnvdoctorError(
                ", ".join(str(one.path) for one in edits),
                found=f"{', '.join(left)} when it was checked again",
                expected="that what was written clears it",
                next_step="nothing was written; "
                + ("give what they share by itself" if getattr(options, "each", False) else "report this with the files"),
            )
        return True

    replace_files(edits, gone)


def _rules(reports: Iterable[Report]) -> set[str]:
    """The rules of decided errors and warnings."""
    return {
        one.finding.rule.id
        for report in reports
        for one in report.findings
        if one.finding.status in ("matched", "confirmed") and one.finding.severity != "note" and not one.excused
    }


def _told(mends: Sequence[Mend], report: Report, *, written: bool) -> Mended:
    from envdoctor.edits.write import unified

    edits: dict[str, Edited] = {}
    for one in chain.from_iterable(one.edits for one in mends):
        if one.after != one.before:
            edits.setdefault(os.path.realpath(one.path), one)
    diffs = tuple(Diff(str(one.path), unified(one), written) for one in edits.values())
    commands = tuple(dict.fromkeys(line for mend in mends for line in mend.commands))
    instead = tuple(dict.fromkeys(line for mend in mends for line in mend.instead))
    refused = tuple(dict.fromkeys(skip for mend in mends for skip in mend.refused))
    cleared = {rule for mend in mends for rule in mend.clears} if written else set()
    pending = {rule for mend in mends for rule in mend.pending}
    left = [one.finding.rule.id for one in report.findings if decided(one, report) and one.finding.rule.id not in cleared - pending]
    proposed = pending | {rule for mend in mends for rule in mend.clears}
    by_hand = tuple(dict.fromkeys(name for name in left if name not in proposed))
    settings = {name: value for mend in mends for name, value in mend.settings.items()}
    return Mended(diffs, commands, refused, report.alternatives, settings, tuple(dict.fromkeys(left)), instead, by_hand)


__all__ = ["run"]
