"""Diagnose: from a traceback, a training log or a pasted bug report to the rule that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from envdoctor.app.composition import compose_report
from envdoctor.app.judgement import judge
from envdoctor.app.log_context import say_fit, within_environment
from envdoctor.app.request import Request
from envdoctor.app.situations import gather
from envdoctor.app.snapshots import examine_snapshots
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Facts
from envdoctor.logs.derived import derive_findings
from envdoctor.logs.explanation import explain
from envdoctor.logs.out_of_memory import Account, fit_command
from envdoctor.logs.reading import Reading, read_log, read_misspelt
from envdoctor.logs.stated import read_statements
from envdoctor.logs.unknown import tell_unknown
from envdoctor.records import replace
from envdoctor.report.model import Report
from envdoctor.report.plain import printable
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.situation import states_packages
from envdoctor.world.releases import release_texts

_TOO_LARGE = "plan-exceeds-gpu-memory"


def diagnose(request: Request, blocks: Iterable[bytes], place: str) -> Report:
    """What explains a log, in the situation that it states and the request names.

    ``blocks`` are the bytes of the log, each of whole lines; ``place`` is what a report calls it.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    book = load_rulebook(request.rule_directories)
    with request.watch.stages(f"reading {printable(place)}", "a second for some 250,000 lines") as tell:
        reading = read_log(_counted(blocks, tell), book.rules)
    stated = read_statements(reading, place)
    if not states_packages(stated):
        request = within_environment(request, reading)
    gathered = examine_snapshots(gather(request, stated), request.watch)
    diagnosis = judge(gathered, book)
    derived = derive_findings(reading, gathered.facts)
    explanation = explain(diagnosis, reading, derived, book.rules, gathered.facts, gathered.derived, release_texts, place)
    if not explanation.findings and (typed := read_misspelt(reading, book.rules)).shown:
        explanation = explain(diagnosis, typed, derived, book.rules, gathered.facts, gathered.derived, release_texts, place)
    hints: list[str] = []
    if not explanation.explained:
        hints += _elsewhere(explanation.elsewhere)
        decided = any(finding.status == "matched" and finding.severity == "error" for finding in explanation.findings)
        hints += _unknown_error(reading, gathered.facts, decided=decided)
    said = list(say_fit(request, gathered, reading.too_small)) if reading.too_small is not None else []
    hints += said or _would_it_fit(reading.too_small, explanation.findings, gathered.derived)
    report = compose_report(request, gathered, book, replace(diagnosis, findings=explanation.findings), hints=hints, of_log=True)
    if request.resolve and not request.offline:
        from envdoctor.app.proving import prove_pins

        return prove_pins(request, gathered, report, book)
    return report


def _counted(blocks: Iterable[bytes], tell: Callable[[str], None] | None) -> Iterator[bytes]:
    """The blocks, and how many lines they were so far for whoever watches: a log may be that of a run which is not over."""
    lines = 0
    for block in blocks:
        yield block
        lines += block.count(b"\n")
        if tell is not None:
            tell(f"{lines:,} lines")


def _elsewhere(names: tuple[str, ...]) -> Iterator[str]:
    for name in names[:3]:
        yield f"the text is that of {name}, but what is stated lies outside its range: envdoctor explain {name}"


def _would_it_fit(short: Account | None, found: Iterable[Finding], facts: Facts) -> Iterator[str]:
    """The command that computes what an error says, where the card is plainly too small or nothing but its name tells of memory."""
    if short is not None:
        card = f"the {short.total / 2**30:.2f} GiB of this card"
    elif any(finding.rule.id == _TOO_LARGE for finding in found):
        card = "the card"
    else:
        return
    count = facts.value("gpu.count")
    model = facts.text("model.path") or facts.text("model.id")
    yield f"what fills {card}, and which change makes the plan fit:"
    yield fit_command(short, model, facts.text("gpu.name"), count if isinstance(count, int) else None)


def _unknown_error(reading: Reading, facts: Facts, *, decided: bool) -> Iterator[str]:
    """What is certain of an error that no finding explains. What is ``decided`` is so by the stated releases, and may be its cause."""
    if decided and reading.decisive is None:
        yield "what is told above is of the stated releases; the log itself shows no error that is known"
        return
    yield (
        "what is told above is of the stated releases; the log's own words are not known"
        if decided
        else ("nothing that is known explains this log")
    )
    yield from tell_unknown(reading, facts)
    yield "to ask somebody: envdoctor report --log LOG prints a block without paths, tokens and names"
