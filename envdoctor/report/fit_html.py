"""The fit report as one page: the memory over the moments of the step as a picture, the terms and the advice as tables.

It holds no script and asks for nothing: it can be opened anywhere and sent to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from envdoctor.memory.estimate import GIB, TERMS, Moment, Term
from envdoctor.report.fit import FitReport
from envdoctor.report.fit_words import (
    TERM_WORDS,
    assumed,
    between,
    change_line,
    decisive,
    gib,
    gpu_words,
    plan_words,
    verdict_word,
    verdict_words,
)
from envdoctor.report.plain import printable

# Distinct in lightness as well as in hue, so that they can be told apart without colour; the legend is in the order of the stack.
_FILLS: dict[Term, str] = {
    "weights": "#1b3a5c",
    "adapters": "#8c6bb1",
    "gradients": "#2c7fb8",
    "optimizer": "#7fcdbb",
    "activations": "#fdae61",
    "logits": "#d7301f",
    "other": "#bdbdbd",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 860px; margin: 2em auto; padding: 0 1em; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.3em; } h2 { font-size: 1.05em; margin-top: 2em; }
.verdict { border-left: 6px solid #888; padding: .4em .8em; background: #f5f5f5; }
.yes { border-color: #1a7f37; } .tight { border-color: #b58900; } .no { border-color: #cf222e; } .unknown { border-color: #8250df; }
table { border-collapse: collapse; } td, th { padding: .15em .9em .15em 0; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } code { background: #f0f0f0; padding: 0 .25em; }
svg text { font: 12px system-ui, sans-serif; fill: #1a1a1a; }
"""
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 820, 340, 52, 14, 46


def render(report: FitReport) -> str:
    """The page; everything that was read is escaped, and what no ASCII is, is a character reference."""
    page = "\n".join(_page(report)) + "\n"
    return page.encode("ascii", errors="xmlcharrefreplace").decode("ascii")


def _page(report: FitReport) -> Iterator[str]:
    title = f"envdoctor fit: {report.model}"
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{_safe(title)}</title><style>{_STYLE}</style></head><body>'
    yield f"<h1>{_safe(title)}</h1>"
    yield _table((("plan", plan_words(report)), ("GPU", gpu_words(report)), ("stack", report.stack)))
    told = f"<br>{_safe(decisive(report))}" if decisive(report) else ""
    yield f'<p class="verdict {report.verdict.fits}"><b>{verdict_word(report)}</b>: {_safe(verdict_words(report))}{told}</p>'
    yield "<h2>Memory of one GPU over the step</h2>"
    yield from _picture(report)
    yield from _numbers(report)
    if report.closed_form is not None:
        yield f"<p>Measured on fake tensors; the closed form says {gib(report.closed_form.allocated.expected)} "
        yield f"({between(report.closed_form.allocated)}).</p>"
    elif report.refused:
        yield f"<p>Not measured: {_safe(report.refused)}</p>"
    if report.advice:
        yield f"<h2>{'What each change leaves' if report.verdict.memory is None else 'What makes it fit'}</h2><table>"
        for advice in report.advice:
            tight = "tight; " if advice.fits == "tight" else ""
            yield f'<tr><td class="number">{gib(advice.allocated.expected)}</td><td><code>{_safe(change_line(advice))}</code><br>'
            yield f"{_safe(tight + advice.cost)}</td></tr>"
        yield "</table>"
    yield from _list("What does not help", report.useless)
    yield from _lengths(report)
    taken = [f"{one.fact} = {assumed(one.assumed)}{f' ({one.why})' if one.why else ''}" for one in report.assumptions]
    yield from _list("Not stated, and assumed", taken)
    yield from _list("To know", (*report.estimate.notes, *report.notes))
    yield from _list("Not read", [f"{skip.what}: {skip.why}" for skip in report.skipped])
    yield f"<p><small>envdoctor {_safe(report.version)}; GiB are 2<sup>30</sup> bytes.</small></p></body></html>"


def _picture(report: FitReport) -> Iterator[str]:
    """Stacked terms at every moment; the dashed line is the memory that torch may use."""
    moments, memory = report.estimate.moments, report.verdict.memory
    top = max(*(moment.total for moment in moments), memory or 0.0, 1.0) * 1.05
    room, height = _WIDTH - _LEFT - 8, _HEIGHT - _TOP - _BOTTOM
    told = "; ".join(f"{moment.name} {gib(moment.total)}" for moment in moments)
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img"><title>{_safe(f"Allocated memory: {told}")}</title>'
    for mark in _marks(top / GIB):
        y = _y(mark * GIB / top, height)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>'
    step = room / max(len(moments), 1)
    for number, moment in enumerate(moments):
        yield from _stack(moment, _LEFT + number * step + step * 0.14, step * 0.72, top, height)
    if memory is not None:
        y = _y(memory / top, height)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#000" stroke-dasharray="6 4"/>'
        yield f'<text x="{_WIDTH - 10}" y="{y - 5:.1f}" text-anchor="end">{gib(memory)} usable</text>'
    yield "</svg>"
    yield "<p>"
    for term in TERMS:
        yield f'<svg width="12" height="12"><rect width="12" height="12" fill="{_FILLS[term]}"/></svg> {TERM_WORDS[term]} &#160;'
    yield "</p>"


def _stack(moment: Moment, x: float, width: float, top: float, height: float) -> Iterator[str]:
    below = 0.0
    for term in TERMS:
        count = moment.terms.get(term, 0.0)
        if count > 0:
            y, high = _y((below + count) / top, height), count / top * height
            yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}" fill="{_FILLS[term]}">'
            yield f"<title>{_safe(moment.name)}: {TERM_WORDS[term]} {gib(count, 2)}</title></rect>"
            below += count
    middle = x + width / 2
    yield f'<text x="{middle:.1f}" y="{_y(below / top, height) - 4:.1f}" text-anchor="middle">{below / GIB:.1f}</text>'
    for line, word in enumerate(_two_lines(moment.name)):
        yield f'<text x="{middle:.1f}" y="{_HEIGHT - _BOTTOM + 16 + 14 * line}" text-anchor="middle">{_safe(word)}</text>'


def _two_lines(name: str) -> tuple[str, ...]:
    words = name.split(" ")
    half = (len(words) + 1) // 2
    return (name,) if len(words) < 3 else (" ".join(words[:half]), " ".join(words[half:]))


def _marks(top: float) -> list[float]:
    """Round numbers of GiB up to the top, about five."""
    step = 10.0 ** (len(str(int(max(top, 1)))) - 1)
    while top / step < 4:
        step /= 2
    return [step * number for number in range(int(top / step) + 1)]


def _y(part: float, height: float) -> float:
    return _TOP + height * (1 - part)


def _numbers(report: FitReport) -> Iterator[str]:
    """All terms at all moments, for those who do not see the picture."""
    moments = report.estimate.moments
    yield "<table><tr><th>GiB</th>" + "".join(f"<th>{_safe(moment.name)}</th>" for moment in moments) + "</tr>"
    for term in TERMS:
        cells = "".join(f'<td class="number">{moment.terms.get(term, 0.0) / GIB:.2f}</td>' for moment in moments)
        yield f"<tr><td>{TERM_WORDS[term]}</td>{cells}</tr>"
    totals = "".join(f'<td class="number"><b>{moment.total / GIB:.2f}</b></td>' for moment in moments)
    yield f"<tr><th>allocated</th>{totals}</tr></table>"
    estimate, verdict = report.estimate, report.verdict
    rows = [
        ("allocated at the peak", f"{gib(estimate.allocated.expected)} ({between(estimate.allocated)})"),
        ("CUDA context", f"{gib(estimate.beside.expected)} ({between(estimate.beside)})"),
        ("fragments", f"{gib(verdict.fragments.expected)} ({between(verdict.fragments)})"),
        ("needed", f"{gib(verdict.needed.expected)} ({between(verdict.needed)})"),
        ("reserved by torch where there is room", f"{between(estimate.reserved)} GiB"),
    ]
    yield _table(rows)


def _lengths(report: FitReport) -> Iterator[str]:
    lengths, advice = report.lengths, report.length_advice
    if lengths is None:
        return
    rows = [
        ("rows", f"{lengths.rows:,} of {lengths.data}"),
        ("tokens", f"{lengths.tokens:,}"),
        ("half have at most", f"{lengths.p50} tokens"),
        ("95 %", f"{lengths.p95}"),
        ("99 %", f"{lengths.p99}"),
        ("longest", f"{lengths.longest}"),
    ]
    if advice is not None:
        rows.append(("worst batch", f"{advice.rows} rows of {advice.now.longest} tokens; {100 * advice.now.waste:.0f} % of all is padding"))
    yield "<h2>Lengths of the data</h2>"
    yield _table(rows)
    if advice is not None:
        yield from _list("", [saving.words for saving in advice.savings[:3]])
    yield from _list("", lengths.notes)


def _list(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield (f"<h2>{title}</h2>" if title else "") + "<ul>" + "".join(f"<li>{_safe(entry)}</li>" for entry in entries) + "</ul>"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "<table>" + "".join(f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in rows) + "</table>"


def _safe(text: str) -> str:
    return escape(printable(text))
