"""Check: read, judge, confirm, propose, report."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.app.broken_imports import say_what_breaks
from envdoctor.app.composition import compose_report
from envdoctor.app.coverage import measure_coverage
from envdoctor.app.gathered import Gathered
from envdoctor.app.judgement import judge, remedy_the_rest
from envdoctor.app.own_code import Outlines, examine_own_code
from envdoctor.app.project import apply_policy
from envdoctor.app.request import Request
from envdoctor.app.situations import gather_all
from envdoctor.app.snapshots import examine_snapshots
from envdoctor.app.watch import Watch
from envdoctor.engine.diagnosis import Diagnosis, Outcomes
from envdoctor.errors import EnvdoctorError
from envdoctor.records import dataclass, replace
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook, load_rulebook
from envdoctor.sources.scripts.trees import handing_on
from envdoctor.world.releases import known_until, release_texts

# Of more situations than these, the joint pins of each are left to `fix`: the search is exact, and costs more than all the rest.
_MOST_SEARCHED = 24
_MANY = 8


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that the options name, read and judged: the situations, each with its report."""

    situations: tuple[Gathered, ...]
    reports: tuple[Report, ...]
    book: Rulebook


def check(request: Request) -> Report:
    """Everything that is to be said of a request, as one report.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    with known_until(request.as_of):
        case = examine(request)
        if request.against:
            case = _apart_from_today(request, case)
        reports = case.reports
        if request.resolve:
            from envdoctor.app.proving import prove_pins

            rows = zip(case.situations, reports, strict=True)
            reports = tuple(prove_pins(request, one, report, case.book) for one, report in rows)
        return apply_policy(request, join_reports(case.situations, reports), case.book)


def examine(request: Request, *, most_searched: int = _MOST_SEARCHED, renaming: bool = False) -> Case:
    """The situations of a request and what is to be said of each.

    Of more than ``most_searched`` situations no joint pins are searched, and that is said. With ``renaming``, what certain renames of
    the scripts clear is left out, and the situations have the edits.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    if request.resolve and request.offline:
        whose = f"offline = true in {request.policy.place}" if request.policy.offline else "--offline"
        raise EnvdoctorError("--resolve", found=whose, expected="leave to ask the package index", next_step="leave one of them out")
    outlines = Outlines()
    with handing_on(outlines):
        read = gather_all(request)
    examined = (examine_own_code(examine_snapshots(gathered, request.watch, full=request.full), outlines) for gathered in read)
    situations = tuple(map(say_what_breaks, examined))
    if renaming and any(target.kind == "script" for one in situations for target in one.targets):
        from envdoctor.app.renaming import rename_own_code

        situations = tuple(map(rename_own_code, situations))
    book = load_rulebook(request.rule_directories, absent=lambda package: all(one.derived.lacks(package) for one in situations))
    outcomes = Outcomes(release_texts)
    search = len(situations) <= most_searched
    reports: list[Report] = []
    watched = request.watch if len(situations) > _MANY else Watch()
    with watched.stages(f"checking {len(situations)} situations", "some 20 ms each") as tell:
        for one in situations:
            diagnosis = judge(one, book, outcomes)
            if request.against:
                one, diagnosis = _of_upgrade(request, one, diagnosis)
            reports.append(compose_report(request, one, book, diagnosis, outcomes, search=search))
            if tell is not None:
                tell(f"{len(reports)} done")
    return Case(situations, tuple(reports), book)


def _of_upgrade(request: Request, gathered: Gathered, diagnosis: Diagnosis) -> tuple[Gathered, Diagnosis]:
    """What the releases of ``--against`` have a part in, and which of them nothing is known of."""
    from envdoctor.app.upgrade import collect_against, is_about, unread_releases

    facts = collect_against(request.against).facts
    installed = {one.name: one.version for one in (gathered.installed.distributions if gathered.installed else ()) if one.version}
    unread = unread_releases(facts, installed=installed)
    told = {f"{skip.what.rpartition(' ')[2].replace('==', ' ')}" for skip in unread}
    skips = (*(skip for skip in gathered.situation.skips if skip.what not in told), *unread)
    gathered = replace(gathered, situation=replace(gathered.situation, skips=skips))
    return gathered, replace(diagnosis, findings=tuple(one for one in diagnosis.findings if is_about(one, facts)))


def _apart_from_today(request: Request, case: Case) -> Case:
    """The case in which what is so without the upgrade does not count, nor ask for a cure."""
    from envdoctor.app.upgrade import mark_present

    if not any(one.finding.status in ("matched", "confirmed") for report in case.reports for one in report.findings):
        return case
    try:
        present = examine(replace(request, against=(), probe="off", watch=Watch()), most_searched=0).reports
    except EnvdoctorError:  # nothing says what there is today
        return case
    reports = [
        remedy_the_rest(mark_present(report, present), gathered, case.book, strict=request.strict)
        for gathered, report in zip(case.situations, case.reports, strict=True)
    ]
    return replace(case, reports=tuple(reports))


def join_reports(situations: Sequence[Gathered], reports: Sequence[Report]) -> Report:
    """One report of all situations."""
    if len(reports) == 1 and not situations[0].label:
        return reports[0]
    from envdoctor.report.joined import join

    labelled = zip((one.label for one in situations), reports, strict=True)
    return join(tuple(labelled), measure_coverage(*(one.derived for one in situations)))
