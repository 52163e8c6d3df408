"""The fit report for people: the verdict, what takes the memory, when, and what would make it fit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from envdoctor.memory.advice import Advice
from envdoctor.memory.estimate import GIB, TERMS
from envdoctor.report.fit import FitReport
from envdoctor.report.fit_words import (
    TERM_WORDS,
    assumed,
    between,
    change_line,
    counted,
    decisive,
    gib,
    gpu_words,
    plan_words,
    setting,
    verdict_word,
    verdict_words,
)
from envdoctor.report.plain import printable
from envdoctor.world.gpus import sold_with

_LABEL = 16
_COLOURS = {"yes": "32", "tight": "33", "no": "1;31", "unknown": "35"}
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Below this a bar would be of nothing.
_SHOWN = 0.005 * GIB


def render(report: FitReport, *, width: int = 80, colour: bool = False, blocks: bool = True) -> str:
    """The report as text; no line is wider than ``width`` unless it is one to paste. ``blocks`` draws bars with block characters."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(report, width, colour=colour, blocks=blocks))


def _lines(report: FitReport, width: int, *, colour: bool, blocks: bool) -> Iterator[str]:
    yield from _wrapped(f"envdoctor {report.version}: ", f"fit of {printable(report.model)}", width)
    yield from _item("plan", plan_words(report), width)
    yield from _item("GPU", gpu_words(report), width)
    yield from _item("stack", printable(report.stack), width)
    yield ""
    yield from _verdict(report, width, colour=colour)
    yield ""
    yield from _terms(report, width, blocks=blocks)
    yield ""
    yield from _moments(report, width, blocks=blocks)
    yield from _method(report, width)
    yield from _advice(report, width)
    yield from _listed("does not help", report.useless, width)
    yield from _lengths(report, width)
    yield from _assumptions(report, width)
    yield from _listed("to know", (*report.estimate.notes, *report.notes), width)
    yield from _listed("not read", [f"{skip.what}: {skip.why}" for skip in report.skipped], width)


def _verdict(report: FitReport, width: int, *, colour: bool) -> Iterator[str]:
    word = verdict_word(report)
    first, *rest = _wrapped(f"{word}: ", verdict_words(report), width, indent=2)
    yield f"\x1b[{_COLOURS[report.verdict.fits]}m{word}\x1b[0m{first[len(word) :]}" if colour else first
    yield from rest
    if decisive(report):
        yield from _wrapped("  ", decisive(report), width)
    yield from _undecided(report, width)
    if report.verdict.memory is None:
        told = "its name does not tell:" if report.gpu else 'name it: --gpu "RTX 3090 x3", or'
        sizes = [f"--set gpu.memory_gib={size:g}" for size in sold_with(report.gpu)] or ["--set gpu.memory_gib=24"]
        yield from _wrapped("  ", f"{told} {' or '.join(sizes)}", width)


def _undecided(report: FitReport, width: int) -> Iterator[str]:
    """What to state, each with the range that it leaves open."""
    open_ones = [one for one in report.undecided if one.modelled]
    for one in report.undecided:
        if not one.modelled:
            told = f"{one.fact}={assumed(one.taken)} is not modelled: {between(one.allocated)} GiB, by what it saves"
            yield from _wrapped("  ", told, width)
    if open_ones:
        yield "what nobody stated moves it by more than a quarter (allocated)"
    for one in open_ones:
        setting_ = f"--set {one.fact}={setting(one.others[0])}"
        data = ", or --data FILE" if one.fact == "plan.seq_len" else ""
        yield from _wrapped("  ", f"{between(one.allocated)} GiB  {setting_}{data} ({assumed(one.taken)} was taken)", width)


def _terms(report: FitReport, width: int, *, blocks: bool) -> Iterator[str]:
    estimate, verdict = report.estimate, report.verdict
    terms = {term: estimate.peak.terms.get(term, 0.0) for term in TERMS}
    room = width - _LABEL - 12
    scale = max(*terms.values(), 1.0)
    yield _row("at the peak", "GiB", "")
    for term, count in terms.items():
        yield _row(f"  {TERM_WORDS[term]}", _number(count), bar(count / scale, room, blocks=blocks) if count >= _SHOWN else "")
    yield _row("allocated", "" if estimate.is_a_range else _number(estimate.allocated.expected), between(estimate.allocated))
    yield _row("  CUDA context", _number(estimate.beside.expected), "outside of what torch allocates")
    yield _row("  fragments", _number(verdict.fragments.expected), f"up to {gib(verdict.fragments.high)}")
    yield _row("needed", "" if estimate.is_a_range else _number(verdict.needed.expected), between(verdict.needed))
    if verdict.memory is not None:
        yield _row("usable", _number(verdict.memory), "")
    yield from _wrapped("", f"nvidia-smi may show more: torch reserves {between(estimate.reserved)} GiB where there is room", width)


def _moments(report: FitReport, width: int, *, blocks: bool) -> Iterator[str]:
    """Every moment as a bar; the mark is where the memory ends."""
    estimate, verdict = report.estimate, report.verdict
    names = [printable(moment.name) for moment in estimate.moments]
    label = min(max(len(name) for name in [*names, "over the step"]) + 3, width // 2)
    limit = None if verdict.memory is None else max(0.0, verdict.memory - verdict.needed.expected + estimate.allocated.expected)
    scale = max(*(moment.total for moment in estimate.moments), limit or 0.0, 1.0)
    room = width - label - 12
    mark = "" if limit is None else f"| {gib(limit)}, the most that torch can take"
    yield _row("over the step", "GiB", mark if len(mark) <= room else mark.partition(",")[0], label)
    for name, moment in zip(names, estimate.moments, strict=True):
        line = bar(moment.total / scale, room, blocks=blocks)
        if limit is not None:
            place = min(room, round(limit / scale * room))
            line = f"{line[:place].ljust(place)}|{line[place + 1 :]}"
        yield _row(f"  {name[: label - 3]}", _number(moment.total), line, label)


def _method(report: FitReport, width: int) -> Iterator[str]:
    if report.closed_form is not None:
        yield ""
        measured, computed = report.estimate.allocated.expected, report.closed_form.allocated
        told = f"{gib(measured)} by running the model on fake tensors; the closed form says {gib(computed.expected)} ({between(computed)})"
        yield from _item("measured", told, width)
    elif report.refused:
        yield ""
        yield from _item("--exact", f"not measured: {printable(report.refused)}", width)


def _advice(report: FitReport, width: int) -> Iterator[str]:
    if not report.advice:
        if report.verdict.fits == "no":
            yield ""
            yield "what makes it fit: none of the changes that are known here"
        return
    head = "what each change leaves" if report.verdict.memory is None else "what makes it fit"
    yield ""
    yield f"{head} (allocated, each by itself)"
    for advice in report.advice:
        yield from _one(advice, width)


def _one(advice: Advice, width: int) -> Iterator[str]:
    total = f"{gib(advice.allocated.expected):>10}"
    yield f"  {total}  {change_line(advice)}"
    tight = "tight; " if advice.fits == "tight" else ""
    yield from _wrapped(" " * 14, printable(f"{tight}{advice.cost}"), width)


def _lengths(report: FitReport, width: int) -> Iterator[str]:
    lengths, advice = report.lengths, report.length_advice
    if lengths is None:
        return
    yield ""
    cut = "" if lengths.whole else ", as far as was read"
    rows, tokens = counted(lengths.rows, "row"), counted(lengths.tokens, "token")
    found = f"{printable(lengths.data)}: {rows} ({printable(lengths.form)}), {tokens}{cut}"
    yield from _item("data", found, width)
    told = f"half have at most {lengths.p50}, 95 % {lengths.p95}, 99 % {lengths.p99}, the longest {counted(lengths.longest, 'token')}"
    yield from _item("lengths", told, width)
    if advice is not None:
        worst = f"rows of {counted(advice.now.longest, 'token')} in the worst batch"
        batch = f"{worst}; {100 * advice.now.waste:.0f} % of what is computed is padding"
        yield from _item("batches", batch, width)
        for number, saving in enumerate(advice.savings[:3]):
            yield from _item("saves" if number == 0 else "", printable(saving.words), width)
    for note in lengths.notes:
        yield from _item("note", printable(note), width)
    for why, count in lengths.reasons[:3]:
        yield from _item("left out", f"{counted(count, 'row')}: {printable(why)}", width)


def _assumptions(report: FitReport, width: int) -> Iterator[str]:
    if not report.assumptions:
        return
    yield ""
    yield "not stated, and assumed (--set NAME=VALUE states it)"
    for one in report.assumptions:
        why = f" ({printable(one.why)})" if one.why else ""
        yield from _wrapped("  ", f"{printable(one.fact)} = {printable(assumed(one.assumed))}{why}", width, indent=4)


def _listed(label: str, entries: Sequence[str], width: int) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield label
    for entry in entries:
        yield from _wrapped("  - ", printable(entry), width)


def bar(part: float, room: int, *, blocks: bool) -> str:
    """A bar of ``part`` (0 to 1) of ``room`` characters; what is there shows, be it ever so little."""
    if not blocks:
        return "#" * max(1, round(part * room))
    eighths = max(1, round(part * room * 8))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _row(label: str, number: str, rest: str, width: int = _LABEL) -> str:
    return f"{label:<{width}}{number:>9}  {rest}"


def _number(count: float) -> str:
    return f"{count / GIB:.2f}"


def _item(label: str, text: str, width: int) -> Iterator[str]:
    yield from _wrapped(f"  {label:<8} ", text, width)


def _wrapped(head: str, text: str, width: int, indent: int | None = None) -> Iterator[str]:
    """Text after a head, its further lines under its first or ``indent``ed."""
    further = " " * (len(head) if indent is None else indent)
    yield from textwrap.wrap(text, width, initial_indent=head, subsequent_indent=further, break_on_hyphens=False) or [head]
