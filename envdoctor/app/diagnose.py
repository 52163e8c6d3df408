"""Diagnose: from a traceback, a training log or a pasted bug report to the rule that explains it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from envdoctor.app.composition import compose_report
from envdoctor.app.judgement import judge
from envdoctor.app.request import Request
from envdoctor.app.situations import gather
from envdoctor.app.snapshots import examine_snapshots
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Collected, Facts
from envdoctor.logs.explanation import explain
from envdoctor.logs.out_of_memory import Account, fit_command
from envdoctor.logs.recognition import recognised
from envdoctor.logs.signatures import Signatures, plain_line, signatures
from envdoctor.records import replace
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.stated.env_reports import parse_env_report
from envdoctor.world.releases import release_texts

# Environment blocks stand at the head or the end of what people paste; between them only errors are looked for.
_HEAD_LINES, _TAIL_LINES = 4000, 4000
_TOO_LARGE = "plan-exceeds-gpu-memory"


def diagnose(request: Request, lines: Iterable[str], place: str) -> Report:
    """What explains a log, in the situation that it states and the request names; ``place`` is what a report calls the log.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    book = load_rulebook(request.rule_directories)
    kept: deque[str] = deque(maxlen=_TAIL_LINES)
    head: list[str] = []
    looking = signatures(book.rules)
    _look(looking, lines, head, kept)
    ends = [*head, *kept]
    stated = parse_env_report("\n".join(ends), place) or Collected()
    gathered = examine_snapshots(gather(request, stated), request.watch)
    diagnosis = judge(gathered, book)
    explanation = explain(diagnosis, looking.found, book.rules, gathered.facts, gathered.derived, release_texts, place)
    hints = list(_elsewhere(explanation.elsewhere))
    if not looking.found:
        hints += _unknown_error(ends)
    hints += _would_it_fit(looking.memory.too_small, explanation.findings, gathered.derived)
    return compose_report(request, gathered, book, replace(diagnosis, findings=explanation.findings), hints=hints)


def _look(looking: Signatures, lines: Iterable[str], head: list[str], kept: deque[str]) -> None:
    def seen() -> Iterator[str]:
        for line in lines:
            if len(head) < _HEAD_LINES:
                head.append(line)
            else:
                kept.append(line)
            yield line

    looking.read(seen())


def _elsewhere(names: tuple[str, ...]) -> Iterator[str]:
    for name in names[:3]:
        yield f"the text is that of {name}, but the versions stated lie outside its range: envdoctor explain {name}"


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


def _unknown_error(lines: Iterable[str]) -> Iterator[str]:
    yield "no rule knows this error"
    for sentence in recognised(plain_line(line) for line in lines):
        yield f"recognised: {sentence}"
