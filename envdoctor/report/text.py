"""The report for people: calm at 80 columns, the cure first, each finding in a few lines, the rest on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Literal, TypeAlias

from envdoctor.facts.vocabulary import UNREAD
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.at_length import print_at_length
from envdoctor.report.causes import EXPLAIN, OF_METADATA, Cause, find_causes, name
from envdoctor.report.excerpt import Sources
from envdoctor.report.model import ALREADY_TODAY, IN_BASELINE, Diagnosed, Report, Situation
from envdoctor.report.sheet import STYLES, Sheet
from envdoctor.report.where import print_where
from envdoctor.report.words import cure_line, install_command, setting_line

Detail: TypeAlias = Literal["short", "full", "verdict"]
DECIDED = ("matched", "confirmed")
_MOST_POSSIBLE = 3
_MOST_UNREAD = 4
# Of what these families find the text of their rules says no more than that something has to move.
_CURED_TOGETHER = OF_METADATA | {"import-breaks", "part-breaks"}
_MOST_PLACES = 6
_MOST_FIXES = 3


def render(
    report: Report, *, width: int = 80, colour: bool = False, links: bool = False, detail: Detail = "short", seconds: float | None = None
) -> str:
    """The report as text; no line is wider than ``width`` unless it is one to paste. ``seconds`` is how long the run took."""
    sheet = Sheet(width, colour, links=links)
    if detail == "verdict":
        sheet.unbroken(f"{report.patient}: {_verdict(report)}")
    else:
        _print(sheet, report, full=detail == "full", seconds=seconds)
    return sheet.text()


def _verdict(report: Report) -> str:
    """What a run comes to, on one line."""
    counts = [_number(report.count(s), s) for s in ("error", "warning", "note") if report.count(s)]
    counts += [f"{report.possible()} possible"] if report.possible() else []
    counts += [f"{report.excused()} excused"] if report.excused() else []
    lost = len(report.unexamined())
    counts += [f"{_number(lost, 'target')} not examined"] if lost else []
    return ", ".join(counts) or "no known problem"


def _print(sheet: Sheet, report: Report, *, full: bool, seconds: float | None) -> None:
    sheet.line(f"envdoctor {report.version}: {report.patient}")
    counted = [d for d in report.findings if not d.excused]
    decided = [d for d in counted if d.finding.status in DECIDED]
    _cure_of_all(sheet, report, decided)
    sources = Sources()
    causes = find_causes(decided)
    possible = [d for d in counted if d.finding.status == "possible" and (report.show_all or not d.finding.hidden)]
    # Most notes explain no failure: what may be is told before them.
    notes = all(d.finding.severity == "note" and d.finding.rule.id not in EXPLAIN for d in decided)
    untold = _possible(sheet, possible, report, full=full or report.show_all, alone=True) if notes else ""
    for cause in causes:
        _cause(sheet, cause, report, sources, full=full)
    if not notes:
        untold = _possible(sheet, possible, report, full=full or report.show_all, alone=False)
    _passed(sheet, [d for d in counted if d.finding.status == "refuted"])
    _listed(sheet, "excused", list(_excused(report)))
    _listed(sheet, "files", report.recognised)
    unread(sheet, report, full=full)
    unlisted = not notes and not full and not report.show_all and report.possible() > 0
    _closing(sheet, report, seconds, causes=len(causes), untold=untold, unlisted=unlisted)


def goals(report: Report) -> list[Diagnosed]:
    """The findings that a cure is for: errors and warnings that are decided and count."""
    return [d for d in report.findings if d.finding.status in DECIDED and d.finding.severity != "note" and not d.excused]


def _cure_of_all(sheet: Sheet, report: Report, decided: Sequence[Diagnosed]) -> None:
    """One set of pins for all findings, or one for each situation where they are several; what is left after it."""
    wanted = goals(report)
    told: dict[tuple[tuple[str, str], ...], list[Situation]] = {}
    for situation in report.situations or (Situation("", report.patient, report.facts, report.remedy),):
        pins = tuple(sorted(situation.remedy.pins.items()))
        if pins:
            told.setdefault(pins, []).append(situation)
    if not told or (len(wanted) == 1 and not report.situations and (report.either_way or _is_own(wanted[0], report.remedy))):
        return
    if report.by_change is not None and not report.situations:
        _by_change(sheet, report, report.by_change, wanted)
        return
    alone = len({situation.patient for situation in report.situations}) == 1
    for pins, situations in told.items():
        sheet.blank()
        names = [one.label or one.patient if alone else one.name for one in situations] if report.situations else []
        remedy = situations[0].remedy
        proof = "not verified by a resolver" if remedy.verified == "none" else f"verified by {remedy.verified}"
        whose = f" for {', '.join(names)}" if names else ""
        sheet.line(f"To fix {_how_many(remedy, wanted)}{whose} ({report.releases_known()}; {proof}):")
        sheet.unbroken(f"  {install_command(dict(pins))}")
    # A finding about no package has no pin to miss: its own fix says what to do.
    rest = list(dict.fromkeys(d.finding.rule.id for d in wanted if d.finding.rule.id in report.remedy.unfixable and d.finding.packages))
    in_code = [name for name in rest if name in report.remedy.in_code]
    left = [name for name in rest if name not in in_code]
    if left:
        sheet.line(f"No pins fix {', '.join(left)}: see below.")
    if in_code:
        sheet.line(f"Change the code for {', '.join(in_code)}: see below.")


def _settings(wanted: Sequence[Diagnosed], left: Mapping[str, object]) -> list[str]:
    """How settings are said: as the cures of the findings say them, where these set no others."""
    cures = (cure for d in wanted for cure in d.cures if cure.plan and cure.plan.items() <= left.items())
    told = {cure_line(cure): cure.plan for cure in cures if cure.written}
    said = {name for plan in told.values() for name in plan}
    rest = (cure_line(Cure("plan", "", {}, {name: value})) for name, value in left.items() if name not in said)
    return [*told, *rest]


def _by_change(sheet: Sheet, report: Report, remedy: Remedy, wanted: Sequence[Diagnosed]) -> None:
    """Settings of the plan with pins for what they leave; then the older releases that would do the same."""
    sheet.blank()
    sheet.line(f"To fix {_how_many(remedy, wanted)} ({report.releases_known()}; not verified by a resolver):")
    in_code = _of_scripts(remedy, wanted)
    for d in in_code:
        sheet.line(f"change the code: {d.cures[0].text} [{d.finding.rule.id}]", 2)
    covered = {name for d in in_code for name in d.cures[0].sets}
    settings = _settings(wanted, {name: value for name, value in remedy.settings.items() if name not in covered})
    if settings:
        sheet.line(f"set {', '.join(settings)}", 2)
    if remedy.pins:
        sheet.unbroken(f"  {install_command(remedy.pins)}")
    if set(remedy.clears) <= set(report.remedy.clears):
        sheet.unbroken(f"or, with older releases: {install_command(report.remedy.pins)}")
    rest = list(dict.fromkeys(d.finding.rule.id for d in wanted if d.finding.rule.id not in remedy.clears))
    if left := [name for name in rest if name not in report.remedy.in_code]:
        sheet.line(f"Not fixed by it: {', '.join(left)}: see below.")
    if by_hand := [name for name in rest if name in report.remedy.in_code]:
        sheet.line(f"Change the code for {', '.join(by_hand)}: see below.")


def _of_scripts(remedy: Remedy, wanted: Sequence[Diagnosed]) -> list[Diagnosed]:
    """The findings whose settings stand in a script, where nobody can set a fact but by changing the code, and what to change is known."""
    found = []
    for d in wanted:
        sets = d.cures[0].sets if d.cures else ()
        read = {reason.fact for reason in d.finding.because if (reason.file or "").endswith((".py", ".ipynb"))}
        if sets and read & set(sets) & remedy.settings.keys():
            found.append(d)
    return found


def _is_own(diagnosed: Diagnosed, remedy: Remedy) -> bool:
    """Whether the cure of all is what the one finding says anyway."""
    return any(dict(cure.pins) == dict(remedy.pins) for cure in diagnosed.cures[:1])


def _how_many(remedy: Remedy, wanted: Sequence[Diagnosed]) -> str:
    cleared = [d for d in wanted if d.finding.rule.id in remedy.clears]
    kinds = {d.finding.severity for d in wanted}
    kind = kinds.pop() if len(kinds) == 1 else "finding"
    if len(cleared) == len(wanted):
        return {1: f"the {kind}", 2: f"both {kind}s"}.get(len(wanted), f"all {len(wanted)} {kind}s")
    # In one situation of several there may be fewer than in all of them, and by a rule that is not loaded any more none at all.
    return f"{len(cleared) or len(remedy.clears)} of {_number(len(wanted), kind)}" if wanted else "it"


def _cause(sheet: Sheet, cause: Cause, report: Report, sources: Sources, *, full: bool) -> None:
    diagnosed, finding = cause.first, cause.first.finding
    sheet.blank()
    status = " (confirmed by a probe)" if finding.status == "confirmed" else ""
    repeats = f" ({len(cause.findings)} places)" if len(cause.findings) > 1 else ""
    within = f" (with {', '.join(diagnosed.within)})" if diagnosed.within else ""
    ids = cause.rules if full else cause.rules[:1]
    title = f"{finding.headline or finding.rule.title}{status}{repeats}{within}"
    said = sheet.titled((f"{finding.severity}:", STYLES[finding.severity]), title, ids)
    most = len(cause.findings) if full else _MOST_PLACES
    for number, one in enumerate(cause.findings[:most]):
        own = (name(one),) if number and one.finding.edge else () if said or number else ids
        print_where(sheet, one, sources, ids=own, at_fault=_at_fault(one), full=full)
    if len(cause.findings) > most:
        sheet.line(f"and {len(cause.findings) - most} more places (-v shows them)", 2)
    if full:
        print_at_length(sheet, cause.findings)
    else:
        _fixes(sheet, cause, report)


def _at_fault(diagnosed: Diagnosed) -> str:
    """The fact whose line is shown: that which the cure changes, else the one that another's requirement is about, else the first."""
    reasons = diagnosed.finding.because
    changed = [f"packages.{name}" for cure in diagnosed.cures[:1] for name in cure.pins]
    changed += [name for cure in diagnosed.cures[:1] for name in (*cure.plan, *cure.sets)]
    names = [reason.fact for reason in reasons if reason.line is not None]
    required = [reason.fact for reason in reasons if reason.line is not None and not reason.condition.startswith("requires ")]
    return next((name for name in changed if name in names), next(iter(required or names), ""))


def _fixes(sheet: Sheet, cause: Cause, report: Report) -> None:
    """The line to paste of each finding of a cause, told once; that one of two pins has to move, the cure of all says better."""
    told: dict[str, Cure] = {}
    for one in cause.findings:
        for cure in one.cures[:1]:
            told.setdefault(cure_line(cure), cure)
    if not told:
        return
    rule = cause.first.finding.rule.id
    by_all = rule in _CURED_TOGETHER and rule in report.remedy.clears
    listed = {line: cure for line, cure in told.items() if cure.pins or cure.plan or not by_all or cure.text.startswith("pip ")}
    for number, (line, cure) in enumerate(listed.items()):
        if number == _MOST_FIXES:
            sheet.line(f"and {len(listed) - number} more fixes (-v shows them)", 2)
            break
        if cure.pins or cure.text.startswith("pip "):
            sheet.command("fix", line)
        elif cure.plan:
            # Who pastes a log alone has no plan to set anything in: there the words say what it is.
            said = setting_line(cure, of_log=report.either_way)
            sheet.labelled("fix", f"{said}: {cure.note}" if report.either_way and cure.note else said)
        else:
            sheet.labelled("fix", ": ".join(filter(None, (line, cure.note))))
    if not listed:
        sheet.labelled("fix", "part of the line at the top")
    if report.either_way:
        _other_way(sheet, cause.first)


def _other_way(sheet: Sheet, diagnosed: Diagnosed) -> None:
    """After a cure in words the pins that do the same; after pins those of another package, or of the other direction, and the change of
    the code that does without them."""
    pins = [cure for cure in diagnosed.cures if cure.pins]
    first, rest = (pins[0], pins[1:]) if diagnosed.cures and diagnosed.cures[0].pins else (None, pins)
    differing = (cure for cure in rest if first is not None and cure.pins.keys() != first.pins.keys())
    by_hand = _by_hand(diagnosed)
    other = next(differing, rest[0] if rest and (first is None or by_hand is None) else None)
    if other is not None:
        sheet.command(" or", cure_line(other))
    if by_hand is not None:
        said = setting_line(by_hand, of_log=True)
        sheet.labelled(" or", by_hand.text or f"{said}{f': {by_hand.note}' if by_hand.note else ''}")


def _by_hand(diagnosed: Diagnosed) -> Cure | None:
    """After a setting the next setting; else the first change of the code or the command, where what is told first is none, and which is
    not true of every finding of a family."""
    general = {fix.text for fix in diagnosed.finding.rule.fixes} if diagnosed.finding.edge else set()
    first, *rest = diagnosed.cures or (None,)
    if first is None or first.kind not in ("pin", "plan"):
        return None
    settings = [cure for cure in rest if cure.plan] if first.kind == "plan" else []
    return next(iter((*settings, *(cure for cure in rest if cure.kind == "code" and cure.text not in general))), None)


def _possible(sheet: Sheet, possible: Sequence[Diagnosed], report: Report, *, full: bool, alone: bool) -> str:
    """What could not be told, one by one where nothing else was found or on request; else a line for the end of the report."""
    if not possible:
        return ""
    waiting = [d.finding for d in possible if not d.finding.newest]
    missing = list(dict.fromkeys(name for one in waiting for name in one.missing))
    if not full and not alone:
        # Where a plan is what is missing, a hint says so.
        told = not missing or any("plan" in hint for hint in report.hints)
        state = next((setting for one in waiting for setting in one.state), f"{missing[0]}=..." if missing else "")
        return "" if told else f"could not tell: needs {', '.join(missing[:3])} (--set {quote(state)})"
    sheet.blank()
    sheet.headline(("could not tell", STYLES["possible"]), f" ({len(possible)} possible):")
    most = len(possible) if full else _MOST_POSSIBLE
    for diagnosed in possible[:most]:
        _possible_one(sheet, diagnosed, of_log=report.either_way)
    if len(possible) > most:
        sheet.line(f"and {len(possible) - most} more (-v lists them)", 2)
    return ""


def _possible_one(sheet: Sheet, diagnosed: Diagnosed, *, of_log: bool) -> None:
    """What may be, what to state so that it is known, and what to do if it is so."""
    finding = diagnosed.finding
    within = f" (with {', '.join(diagnosed.within)})" if diagnosed.within else ""
    sheet.line(f"{finding.headline or finding.rule.title}{within} [{finding.rule.id}]", 2)
    if finding.newest and finding.detail:
        sheet.line(finding.detail, 4)
        cure = next((cure for cure in diagnosed.cures if cure.pins), None)
        if cure is not None:
            bounds = " ".join(f'"{name}{bound}"' for name, bound in cure.bounds.items())
            sheet.unbroken(f"    {install_command(cure.pins)}{f', or as a bound {bounds}' if bounds else ''}")
        return
    if finding.missing and UNREAD.keys() >= {*finding.missing}:
        sheet.line("where a script asks for it: check yours beside this", 4, "dim")
    elif finding.missing:
        sheet.line(f"could not tell: needs {', '.join(finding.missing)}", 4, "dim")
        if finding.state:
            sheet.unbroken(f"    {' '.join(f'--set {quote(setting)}' for setting in finding.state)}")
    elif finding.detail:
        sheet.line(finding.detail, 4)
    if diagnosed.cures:
        line, cure = cure_line(diagnosed.cures[0]), diagnosed.cures[0]
        if cure.pins or cure.text.startswith("pip "):
            sheet.unbroken(f"    to try: {line}")
        else:
            sheet.line(f"to try: {setting_line(cure, of_log=of_log) if cure.plan else line}", 4)


def _passed(sheet: Sheet, refuted: Sequence[Diagnosed]) -> None:
    for diagnosed in refuted:
        sheet.blank()
        sheet.headline(("passed", STYLES["refuted"]), ": ", diagnosed.finding.rule.title, f" [{diagnosed.finding.rule.id}]")
        if diagnosed.verdict is not None:
            sheet.line(f"the probe {diagnosed.verdict.probe} saw no harm: {diagnosed.verdict.reason}", 2)


def unread(sheet: Sheet, report: Report, *, full: bool = False) -> None:
    """What was not examined, and what was not read of what was."""
    _listed(sheet, "lost", [f"{skip.what} was not examined: {skip.why}" for skip in report.unexamined()])
    skips = [f"{skip.what}: {skip.why}" for skip in report.skipped if not skip.lost]
    more = len(skips) - _MOST_UNREAD
    _listed(sheet, "not read", skips if full or more <= 1 else [*skips[:_MOST_UNREAD], f"and {more} more (-v lists them)"])


def _listed(sheet: Sheet, label: str, entries: Sequence[str]) -> None:
    if entries:
        sheet.blank()
        for number, entry in enumerate(entries):
            sheet.item(label if number == 0 else "", entry)


def _excused(report: Report) -> Iterator[str]:
    """What is ignored, one by one with its reason; what was there before, as a number."""
    before = 0
    for diagnosed in report.findings:
        if diagnosed.excused.startswith(("ignored", ALREADY_TODAY)):
            location = diagnosed.finding.location
            where = "" if location is None else f" ({location.file}{'' if location.line is None else f':{location.line}'})"
            yield f"{diagnosed.finding.rule.id}{where}: {diagnosed.excused}"
        before += diagnosed.excused == IN_BASELINE
    if before:
        yield f"{before} finding{'s' if before > 1 else ''} of the baseline"


def _closing(sheet: Sheet, report: Report, seconds: float | None, *, causes: int, untold: str, unlisted: bool) -> None:
    """What was found, what it was compared with, and how long it took."""
    sheet.blank()
    counts = [_number(report.count(s), s) for s in ("error", "warning", "note")]
    excused = f", {report.excused()} excused" if report.excused() else ""
    found = sum(report.count(s) for s in ("error", "warning", "note"))
    more = " (-v lists them)" if unlisted else ""
    grouped = f" ({_number(causes, 'cause')})" if causes < found else ""
    sheet.line(f"{', '.join(counts)}{grouped}, {report.possible()} possible{more}{excused}")
    if untold:
        sheet.line(untold)
    took = "" if seconds is None else f" in {seconds:.1f} s"
    if report.coverage.packages_known or not report.recognised:
        known, stated = report.coverage.packages_known, report.coverage.packages_stated
        checked = _number(known, "package") if known == stated else f"{known} of {_number(stated, 'package')}"
        sheet.line(f"checked {checked} against {report.rules} rules{took}")
    if report.hidden() and not report.show_all:
        waits, it = ("waits", "it") if report.hidden() == 1 else ("wait", "them")
        sheet.line(f"{report.hidden()} more {waits} for packages that nothing names (--all shows {it})")
    newer = report.coverage.packages_newer_than_rules
    if newer:
        sheet.line(f"newer than any release the rules have seen: {', '.join(newer)}")
    for hint in report.hints:
        if hint.startswith("envdoctor "):
            # A command is pasted, and must not be broken.
            sheet.unbroken(f"  {hint}")
        else:
            sheet.line(hint)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


__all__ = ["DECIDED", "Detail", "goals", "render", "unread"]
