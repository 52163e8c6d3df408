"""What a finding says, in plain lines: shared by the formats that machines read and show to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.values import shown
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.indexes import index_for
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.settings_in_code import in_code
from envdoctor.rules.rule import Rule, Severity

EXPLAINED = "envdoctor explain"
EFFECTS = {
    "silent": "silently wrong results",
    "crash": "crashes",
    "oom": "needs far more memory than it should",
    "slow": "slower than it needs to be",
    "blocked": "cannot start",
}


def level(diagnosed: Diagnosed, report: Report) -> Severity:
    """How loud a finding is: its severity; a note while it is only possible, or refuted, unless possible ones count (``strict``)."""
    finding = diagnosed.finding
    counted = finding.status in ("matched", "confirmed") or (report.strict and finding.status == "possible")
    return finding.severity if counted else "note"


def annotated(diagnosed: Diagnosed) -> bool:
    """Whether a finding is a mark on its line: not if a probe refuted it, nor if it is excused or hidden."""
    return diagnosed.finding.status != "refuted" and not diagnosed.excused and not diagnosed.finding.hidden


def headline(diagnosed: Diagnosed) -> str:
    """The title as a sentence; what is not decided says so first."""
    title = " ".join(printable(diagnosed.finding.headline or diagnosed.finding.rule.title, keep_newlines=True).split()).rstrip(".")
    status = diagnosed.finding.status
    return f"{'Possible: ' if status == 'possible' else 'Refuted by a probe: ' if status == 'refuted' else ''}{title}."


def reasons(diagnosed: Diagnosed) -> Iterator[str]:
    """What was found, one line each: with which choice, the detail, the facts that decided, what is missing, what a probe said."""
    finding = diagnosed.finding
    if diagnosed.within:
        yield printable(f"Only with {', '.join(diagnosed.within)}")
    if finding.said:
        yield f"Found: {printable(finding.said)}"
    for reason in finding.because:
        where = reason.source if reason.line is None else f"{reason.file}:{reason.line}"
        name = reason.fact.removeprefix("packages.")
        yield printable(f"Because {name} is {reason.value} (bad: {reason.condition}; {where})")
    if finding.missing:
        settings = " ".join(f"--set {setting}" for setting in finding.state)
        yield printable(f"To tell, needs {', '.join(finding.missing)}{f' ({settings})' if settings else ''}")
    if diagnosed.verdict is not None:
        yield printable(f"Probe {diagnosed.verdict.probe}: {diagnosed.verdict.verdict}: {diagnosed.verdict.reason}")


def cures(diagnosed: Diagnosed) -> Iterator[str]:
    """The cures, best first, one line each."""
    for cure in diagnosed.cures:
        yield printable(": ".join(filter(None, (cure_line(cure), cure.note))))


def advised(diagnosed: Diagnosed) -> Iterator[str]:
    """The cures, best first, each with a word before it."""
    for number, cure in enumerate(cures(diagnosed)):
        yield f"{'Cure' if number == 0 else 'Or'}: {cure}"


def paragraph(lines: Iterable[str]) -> str:
    """Lines as sentences of one paragraph."""
    return " ".join(line if line.endswith(".") else f"{line}." for line in lines)


def cure_line(cure: Cure) -> str:
    """What to do, without its note: a pip line, settings of the plan, or advice."""
    if cure.pins:
        return install_command(cure.pins)
    if cure.written:
        return cure.written
    if cure.plan:
        return ", ".join(f"{name} = {shown(value) if isinstance(value, (bool, str)) else value}" for name, value in cure.plan.items())
    return cure.text


def setting_line(cure: Cure, *, of_log: bool) -> str:
    """What a cure sets: as the file at hand says it, in a log's report as a script has it, else by the names of facts."""
    written = in_code(cure.plan) if of_log and not cure.written else ""
    return written or f"set {cure_line(cure)}"


def install_command(pins: Mapping[str, str]) -> str:
    """One pip line for the pins; the builds of PyTorch that have a label are not on the default index, so theirs is named."""
    requirements = " ".join(f'"{name}{pin}"' for name, pin in pins.items())
    index = index_for(pins)
    return f"pip install {requirements}" + (f" --extra-index-url {index}" if index else "")


def whole(diagnosed: Diagnosed) -> str:
    """A finding in full, one thing a line."""
    finding = diagnosed.finding
    lines = [headline(diagnosed), *reasons(diagnosed), *advised(diagnosed)]
    lines.append(printable(f"More: {EXPLAINED} {finding.rule.id}"))
    lines += [printable(f"Source: {source.url}") for source in finding.rule.evidence[:2]]
    return "\n".join(lines)


def details(rule: Rule) -> str:
    """What a rule says at length, in paragraphs of one line each."""
    paragraphs = rule.details.strip().split("\n\n")
    return "\n\n".join(" ".join(printable(paragraph, keep_newlines=True).split()) for paragraph in paragraphs)


def counts(report: Report) -> str:
    """The counts of the summary, in words."""
    told = [f"{report.count(s)} {s}{'s' if report.count(s) != 1 else ''}" for s in ("error", "warning", "note")]
    excused = f", {report.excused()} excused" if report.excused() else ""
    return f"{', '.join(told)}, {report.possible()} possible{excused}"


def skips(report: Report) -> tuple[str, ...]:
    """What was not read, and why, one line each."""
    ordered = sorted(report.skipped, key=lambda skip: not skip.lost)
    return tuple(printable(f"{skip.what}{' was not examined' if skip.lost else ''}: {skip.why}") for skip in ordered)


def error_line(error: EnvdoctorError) -> str:
    """An error that ended the run, as one line."""
    return printable(f"{error.place}: found {error.found}; expected {error.expected}; next: {error.next_step}")
