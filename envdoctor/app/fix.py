"""Fix: the pins, or the change of plan, that clear all findings at once, as a diff of the files that say otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, groupby

from envdoctor.app.check import Case, examine, join_reports
from envdoctor.app.gathered import Gathered
from envdoctor.app.judgement import remedy_the_rest
from envdoctor.app.mending import Mend, mend, needs_change
from envdoctor.app.project import apply_policy
from envdoctor.app.proving import prove_pins, prove_together
from envdoctor.app.request import Request
from envdoctor.app.watch import Watch
from envdoctor.edits.edit import Edited
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.files.paths import real_path
from envdoctor.records import dataclass, replace
from envdoctor.report.mended import Diff, Mended, Proved
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


def fix(request: Request, *, written: bool = False) -> Report:
    """The report of a request with the change that clears its findings; with ``written`` the files have it.

    Raises:
        EnvdoctorError: anything that cannot be used at all, or a file that cannot be written, or should not be.
    """
    if written and request.facts == "-":
        raise EnvdoctorError("--facts -", found="--write", expected="facts that can be read again after writing", next_step="give a file")
    with known_until(request.as_of):
        case = _without_excused(request, examine(request, most_searched=_ALL, renaming=True))
        rows = zip(case.situations, case.reports, strict=True)
        groups = _group(request, case, tuple(prove_pins(request, one, report, case.book) for one, report in rows))
        report = join_reports(case.situations, tuple(one for group in groups for one in group.reports))
        mends = [_mend(group, request, case.book) for group in groups]
        proved = _prove(request, groups, mends, case.book) if request.prove else ()
        written = written and all(one.holds for one in proved)
        if written and any(one.after != one.before for mend in mends for one in mend.edits):
            renamed = {rule for mend in mends for rule in mend.renames}
            left = _write(request, mends, case)
            mends = [replace(mend, clears=mend.clears | (renamed - left), renames=mend.renames - left) for mend in mends]
        return replace(report, mended=replace(_summarise(mends, report, written=written), proved=proved))


def _prove(request: Request, groups: Sequence[_Group], mends: Sequence[Mend], book: Rulebook) -> tuple[Proved, ...]:
    from envdoctor.app.built import prove_in_environments

    rows = (
        (one, report, mend.settings, mend.clears | mend.pending)
        for group, mend in zip(groups, mends, strict=True)
        for one, report in zip(group.situations, group.reports, strict=True)
    )
    return prove_in_environments(request, rows, book)


def _ask_hashes(watch: Watch, package: str, version: str) -> tuple[str, ...]:
    from envdoctor.uv.hashes import release_hashes

    with watch.waiting(f"asking the index for the hashes of {package} {version}"):
        return release_hashes(package, version)


def _without_excused(request: Request, case: Case) -> Case:
    """The case without what the project lives with: that is not to be mended."""
    reports = [
        remedy_the_rest(apply_policy(request, report, case.book), gathered, case.book, strict=request.strict)
        for gathered, report in zip(case.situations, case.reports, strict=True)
    ]
    return replace(case, reports=tuple(reports))


def _mend(group: _Group, request: Request, book: Rulebook) -> Mend:
    if group.disputed:
        why = "the choices that the files offer need different releases of it, and none was found that suits all"
        report = group.report
        return Mend(refused=tuple(Skip(name, why) for name in group.disputed), pending=frozenset(report.remedy.clears))
    told = mend(group.situations, group.report, book, hashes=None if request.offline else partial(_ask_hashes, request.watch))
    renamed = group.situations[0].renamed
    if not renamed:
        return told
    from envdoctor.app.renaming import is_renamed

    taken = {one.path for one in told.edits}
    edits = [one for one in renamed if one[0].path not in taken]
    rules = frozenset(one.finding.rule.id for one in group.report.findings if is_renamed(one.finding, edits))
    return replace(told, edits=(*told.edits, *(edited for edited, *_ in edits)), renames=rules)


def _group(request: Request, case: Case, reports: Sequence[Report]) -> list[_Group]:
    rows = zip(case.situations, case.reports, reports, strict=True)
    found = []
    for _, some in groupby(rows, key=lambda row: row[0].patient):
        ones, searched, told = zip(*some, strict=True)
        together = prove_together(request, ones, searched, told, case.book)
        found.append(_Group(tuple(ones), together.reports, join_reports(ones, together.reports), together.disputed))
    return found


def _write(request: Request, mends: Sequence[Mend], case: Case) -> set[str]:
    """Write all files, or none: they are read back and checked again. What is found then.

    Raises:
        EnvdoctorError: a file that was changed meanwhile, or after which a finding is still there.
    """
    from envdoctor.edits.write import replace as replace_files

    edits = tuple(one for mend in mends for one in mend.edits if one.after != one.before)
    cleared = {rule for mend in mends for rule in mend.clears}
    before = _list_rules(case.reports)
    after: set[str] = set()

    def gone() -> bool:
        again = _without_excused(request, examine(replace(request, probe="off"), most_searched=0, renaming=True))
        after.update(_list_rules(again.reports))
        left = sorted((after & cleared) | (after - before))
        if left:
            raise EnvdoctorError(
                ", ".join(str(one.path) for one in edits),
                found=f"{', '.join(left)} when it was checked again",
                expected="that what was written clears it",
                next_step="nothing was written; " + ("give what they share by itself" if request.each else "report this with the files"),
            )
        return True

    replace_files(edits, gone)
    return after


def _list_rules(reports: Iterable[Report]) -> set[str]:
    """The rules of needs_change errors and warnings."""
    return {
        one.finding.rule.id
        for report in reports
        for one in report.findings
        if one.finding.status in ("matched", "confirmed") and one.finding.severity != "note" and not one.excused
    }


def _summarise(mends: Sequence[Mend], report: Report, *, written: bool) -> Mended:
    from envdoctor.edits.write import unified

    edits: dict[str, Edited] = {}
    for one in chain.from_iterable(one.edits for one in mends):
        if one.after != one.before:
            edits.setdefault(str(real_path(one.path)), one)
    diffs = tuple(Diff(str(one.path), unified(one), written) for one in edits.values())
    commands = tuple(dict.fromkeys(line for mend in mends for line in mend.commands))
    instead = tuple(dict.fromkeys(line for mend in mends for line in mend.instead))
    refused = tuple(dict.fromkeys(skip for mend in mends for skip in mend.refused))
    cleared = {rule for mend in mends for rule in mend.clears} if written else set()
    pending = {rule for mend in mends for rule in mend.pending}
    left = [one.finding.rule.id for one in report.findings if needs_change(one, report) and one.finding.rule.id not in cleared - pending]
    proposed = pending | {rule for mend in mends for rule in (*mend.clears, *mend.renames)}
    by_hand = tuple(dict.fromkeys(name for name in left if name not in proposed))
    settings = {name: value for mend in mends for name, value in mend.settings.items()}
    return Mended(diffs, commands, refused, report.alternatives, settings, tuple(dict.fromkeys(left)), instead, by_hand)


__all__ = ["fix"]
