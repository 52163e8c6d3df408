"""``envdoctor diagnose``: from a traceback, a training log or a pasted bug report to the rule that explains it."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from envdoctor.cli.check import compose
from envdoctor.cli.gather import gather
from envdoctor.cli.judging import judge
from envdoctor.cli.output import write
from envdoctor.cli.snapshots import examined
from envdoctor.engine.diagnosis import Finding
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Facts
from envdoctor.logs.explanation import explain
from envdoctor.logs.out_of_memory import Account, fit_command
from envdoctor.logs.recognition import recognised
from envdoctor.logs.signatures import Signatures, plain_line, signatures
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.stated.env_reports import parse_env_report
from envdoctor.world.releases import release_texts

# Environment blocks stand at the head or the end of what people paste; between them only errors are looked for.
_HEAD_LINES, _TAIL_LINES = 4000, 4000
_LONGEST_LINE = 1 << 16
_TOO_LARGE = "plan-exceeds-gpu-memory"


def run(options: argparse.Namespace) -> int:
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    place = "<stdin>" if options.log == "-" else options.log
    kept: deque[str] = deque(maxlen=_TAIL_LINES)
    head: list[str] = []
    looking = signatures(book.rules)
    _look(looking, _lines(options.log), head, kept)
    ends = [*head, *kept]
    stated = parse_env_report("\n".join(ends), place) or Collected()
    options.targets = []
    gathered = examined(gather(options, stated))
    diagnosis = judge(gathered, book)
    explanation = explain(diagnosis, looking.found, book.rules, gathered.facts, gathered.derived, release_texts, place)
    hints = list(_elsewhere(explanation.elsewhere))
    if not looking.found:
        hints += _unknown_error(ends)
    hints += _would_it_fit(looking.memory.too_small, explanation.findings, gathered.derived)
    report = compose(
        gathered,
        book,
        replace(diagnosis, findings=explanation.findings),
        probe=options.probe,
        fail_on=options.fail_on,
        strict=options.strict,
        hints=hints,
    )
    write(options, report)
    return report.exit_code()


def _lines(log: str) -> Iterator[str]:
    """The lines of a log, none longer than 64 KiB in memory.

    Raises:
        EnvdoctorError: the file cannot be read.
    """
    if log == "-":
        yield from _decoded(iter(lambda: sys.stdin.buffer.readline(_LONGEST_LINE), b""))
        return
    try:
        with open(log, "rb") as file:
            if os.path.isdir(log):
                raise IsADirectoryError(21, "a directory")
            yield from _decoded(iter(lambda: file.readline(_LONGEST_LINE), b""))
    except OSError as error:
        raise EnvdoctorError(
            log, found=error.strerror or str(error), expected="a log that can be read, or - for stdin", next_step="check the path"
        ) from error


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    encoding = "utf-8"
    for number, line in enumerate(lines):
        if number == 0 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise EnvdoctorError("the log", found="UTF-16", expected="UTF-8 text", next_step="convert it: iconv -f UTF-16 -t UTF-8")
        yield line.decode(encoding, errors="replace").rstrip("\n")


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
