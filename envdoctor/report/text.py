"""The report for people: calm at 80 columns, the worst thing first, the cure as a line to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.facts.values import shown
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import IN_BASELINE, Diagnosed, Report, Situation
from envdoctor.report.sheet import STYLES, Sheet
from envdoctor.report.words import install_command

_EFFECT = {
    "silent": "no error is raised: the result is wrong",
    "crash": "the run stops with an error",
    "oom": "the run needs far more memory",
    "slow": "the run is slower than it need be",
    "blocked": "the run cannot start",
}
_CONFIDENCE = {
    "cited": "cited: from the sources below",
    "boundary": "boundary: the range was checked on the released wheels",
    "reproduced": "reproduced: seen to fail and to pass in real environments",
    "reproduced-gpu": "reproduced-gpu: seen to fail and to pass on a GPU",
}
_MOST_POSSIBLE = 6
_MOST_VALUES = 4


def render(report: Report, *, width: int = 80, colour: bool = False) -> str:
    """The report as text; no line is wider than ``width`` unless it is one to paste."""
    sheet = Sheet(width, colour)
    _print(sheet, report)
    return sheet.text()


def _print(sheet: Sheet, report: Report) -> None:
    sheet.line(f"envdoctor {report.version}: {report.patient}")
    counted = [d for d in report.findings if not d.excused]
    decided = [d for d in counted if d.finding.status in ("matched", "confirmed")]
    possible = [d for d in counted if d.finding.status == "possible"]
    refuted = [d for d in counted if d.finding.status == "refuted"]
    for diagnosed in decided:
        _decided(sheet, diagnosed)
    _possible(sheet, possible)
    _refuted(sheet, refuted)
    _remedy(sheet, report, decided)
    _listed(sheet, "excused", list(_excused(report)))
    _listed(sheet, "files", report.recognised)
    unread(sheet, report)
    _summary(sheet, report)


def _decided(sheet: Sheet, diagnosed: Diagnosed) -> None:
    finding, rule = diagnosed.finding, diagnosed.finding.rule
    sheet.blank()
    status = " (confirmed by a probe)" if finding.status == "confirmed" else ""
    sheet.headline((finding.severity, STYLES[finding.severity]), "  ", (rule.id, "bold"), status)
    sheet.line(rule.title, 2)
    if diagnosed.within:
        sheet.item("with", ", ".join(diagnosed.within))
    if finding.detail:
        sheet.item("found", finding.detail)
    for number, reason in enumerate(finding.because):
        fact = reason.fact.removeprefix("packages.")
        where = reason.source if reason.line is None else f"{reason.file}:{reason.line}"
        sheet.item("because" if number == 0 else "", f"{fact} {reason.value}  (bad: {_brief(reason.condition)}; {where})")
    if finding.severity != "note":
        sheet.item("effect", _EFFECT[rule.effect])
    sheet.item("why", _first_paragraph(rule.details))
    if diagnosed.verdict is not None:
        sheet.item("probe", f"{diagnosed.verdict.probe}: {diagnosed.verdict.verdict}: {diagnosed.verdict.reason}")
    for number, cure in enumerate(diagnosed.cures):
        _cure(sheet, cure, "cure" if number == 0 else "or")
    sheet.item("known", _CONFIDENCE[rule.confidence])
    for number, source in enumerate(rule.evidence[:2]):
        sheet.paste("source" if number == 0 else "", source.url)


def _brief(condition: str) -> str:
    """A long list of values is counted, not told: `explain` has all of them."""
    values = condition.split(" or ")
    return condition if len(values) <= _MOST_VALUES else f"one of {len(values)}"


def _first_paragraph(details: str) -> str:
    return " ".join(details.strip().split("\n\n")[0].split())


def _cure(sheet: Sheet, cure: Cure, label: str) -> None:
    if cure.pins:
        sheet.paste(label, install_command(cure.pins))
        if cure.note:
            sheet.item("", cure.note)
    elif cure.plan:
        setting = ", ".join(f"{name} = {shown(value) if isinstance(value, (bool, str)) else value}" for name, value in cure.plan.items())
        sheet.item(label, f"{setting}: {cure.note}" if cure.note else setting)
    elif cure.text.startswith("pip "):
        sheet.paste(label, cure.text)
        sheet.item("", cure.note)
    else:
        sheet.item(label, ": ".join(filter(None, (cure.text, cure.note))))


def _possible(sheet: Sheet, possible: Sequence[Diagnosed]) -> None:
    if not possible:
        return
    sheet.blank()
    sheet.headline((f"possible ({len(possible)})", STYLES["possible"]), ": a fact is missing to tell")
    for diagnosed in possible[:_MOST_POSSIBLE]:
        finding = diagnosed.finding
        within = f" (with {', '.join(diagnosed.within)})" if diagnosed.within else ""
        sheet.line(f"{finding.rule.id}: {finding.rule.title}{within}", 2)
        if not finding.newest:
            if finding.missing:
                sheet.line(f"needs {', '.join(finding.missing)}", 4, "dim")
            continue
        sheet.line(finding.detail, 4)
        cure = next((cure for cure in diagnosed.cures if cure.pins), None)
        if cure is not None:
            bounds = " ".join(f'"{name}{bound}"' for name, bound in cure.bounds.items())
            sheet.unbroken(f"    {install_command(cure.pins)}{f', or as a bound {bounds}' if bounds else ''}")
    if len(possible) > _MOST_POSSIBLE:
        sheet.line(f"and {len(possible) - _MOST_POSSIBLE} more (--format json lists all)", 2)


def _refuted(sheet: Sheet, refuted: Sequence[Diagnosed]) -> None:
    for diagnosed in refuted:
        sheet.blank()
        sheet.headline(("refuted", STYLES["refuted"]), "  ", (diagnosed.finding.rule.id, "bold"))
        sheet.line(diagnosed.finding.rule.title, 2)
        if diagnosed.verdict is not None:
            sheet.item("probe", f"{diagnosed.verdict.probe}: {diagnosed.verdict.reason}")


def _remedy(sheet: Sheet, report: Report, decided: Sequence[Diagnosed]) -> None:
    """One set of pins, or one for each situation where they are several."""
    # A finding about no package has no pin to miss: its own cures say what to do.
    about_packages = {d.finding.rule.id for d in decided if d.finding.packages}
    told: dict[tuple[tuple[str, str], ...], list[str]] = {}
    by_pins: dict[tuple[tuple[str, str], ...], Remedy] = {}
    alone = len({situation.patient for situation in report.situations}) == 1
    for situation in report.situations or (Situation("", report.patient, report.facts, report.remedy),):
        pins = tuple(sorted(situation.remedy.pins.items()))
        if pins:
            whose = situation.label or situation.patient
            told.setdefault(pins, []).append(whose if alone else situation.name)
            by_pins[pins] = situation.remedy
    for pins, names in told.items():
        sheet.blank()
        sheet.paste("pins", install_command(dict(pins)))
        remedy = by_pins[pins]
        cleared = "it" if len(remedy.clears) == 1 else f"{len(remedy.clears)} findings"
        proof = "no resolver was asked" if remedy.verified == "none" else f"verified by {remedy.verified}"
        sheet.item("", f"clears {cleared}; {report.releases_known()}; {proof}")
        if report.situations:
            sheet.item("", f"for {', '.join(names)}")
    uncleared = [name for name in report.remedy.unfixable if name in about_packages]
    if uncleared:
        if not told:
            sheet.blank()
        sheet.item("" if told else "pins", f"none clears {', '.join(uncleared)}: its other cures are above")


def unread(sheet: Sheet, report: Report) -> None:
    _listed(sheet, "lost", [f"{skip.what} was not examined: {skip.why}" for skip in report.unexamined()])
    _listed(sheet, "not read", list(_skips(report)))


def _listed(sheet: Sheet, label: str, entries: Sequence[str]) -> None:
    if entries:
        sheet.blank()
        for number, entry in enumerate(entries):
            sheet.item(label if number == 0 else "", entry)


def _excused(report: Report) -> Iterator[str]:
    """What is ignored, one by one with its reason; what was there before, as a number."""
    before = 0
    for diagnosed in report.findings:
        if diagnosed.excused.startswith("ignored"):
            location = diagnosed.finding.location
            where = "" if location is None else f" ({location.file}{'' if location.line is None else f':{location.line}'})"
            yield f"{diagnosed.finding.rule.id}{where}: {diagnosed.excused}"
        before += diagnosed.excused == IN_BASELINE
    if before:
        yield f"{before} finding{'s' if before > 1 else ''} of the baseline"


def _skips(report: Report) -> Iterator[str]:
    for skip in report.skipped:
        if not skip.lost:
            yield f"{skip.what}: {skip.why}"


def _summary(sheet: Sheet, report: Report) -> None:
    sheet.blank()
    counts = [f"{report.count(s)} {s}{'s' if report.count(s) != 1 else ''}" for s in ("error", "warning", "note")]
    known = f"{report.coverage.packages_known} packages known to {report.rules} rules"
    newer = report.coverage.packages_newer_than_rules
    excused = f", {report.excused()} excused" if report.excused() else ""
    sheet.line(f"{', '.join(counts)}, {report.possible()} possible{excused}; {known}")
    if newer:
        sheet.line(f"newer than any release the rules have seen: {', '.join(newer)}")
    for hint in report.hints:
        if hint.startswith("envdoctor "):
            # A command is pasted, and must not be broken.
            sheet.unbroken(f"  {hint}")
        else:
            sheet.line(hint)
