"""A summary in Markdown, for a job summary or a comment on a pull request.

GitHub takes a comment of 65,536 characters (and a job summary of 1 MiB,
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits); what is longer is cut, and
says so. Text from files and rules can mark nothing up, mention nobody and link nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.report.location import NO_FILE, Place, checkout, places
from envdoctor.report.markup import block, code, in_html, inline, link, prose
from envdoctor.report.model import Diagnosed, Report, Situation
from envdoctor.report.words import (
    EXPLAINED,
    counts,
    cure_line,
    cures,
    details,
    error_line,
    headline,
    install_command,
    reasons,
    skips,
)

MOST_CHARACTERS = 65_536
_RESERVED = 1_000  # for the line that says what was left out
_MOST_IN_CELL = 300


def render(report: Report, *, root: Path | None = None) -> str:
    """The verdict, the findings as a table, the pins to paste, then details, what is possible and what was not read, folded.

    Cut, at a finding's end, to `MOST_CHARACTERS`; counted in UTF-8 bytes, so that every way of counting characters agrees.
    """
    shown = list(zip(report.findings, places(report, root or checkout()), strict=True))
    decided = [one for one in shown if one[0].finding.status in ("matched", "confirmed") and not one[0].excused]
    others = [one for one in shown if one not in decided and (report.show_all or not one[0].finding.hidden)]
    page = _Page(MOST_CHARACTERS - _RESERVED)
    failed = sum(report.fails(diagnosed) for diagnosed, _ in shown)
    lost = len(report.unexamined())
    verdict = f"failed by {failed} of {len(decided) + len(others)} findings" if failed else "incomplete" if report.exit_code() else "passed"
    page.add(f"## envdoctor: {counts(report)}: {verdict}\n")
    page.add(f"\n{inline(report.patient[:2000])}; envdoctor {inline(report.version, begins=False)}, {report.rules} rules\n")
    if lost:
        page.count("what was not examined", (f"\n**not examined**: {code(skip)}\n" for skip in skips(report)[:lost]))
    if decided:
        page.add("\n| severity | rule | where | cure |\n| --- | --- | --- | --- |\n")
        page.count("findings of the table", (_row(diagnosed, place) for diagnosed, place in decided), within=MOST_CHARACTERS // 2)
    page.count("blocks of pins", _pins(report))
    page.count("findings in detail", (_folded(diagnosed, place) for diagnosed, place in decided))
    for status in ("possible", "refuted"):
        chosen = [_item(diagnosed, place) for diagnosed, place in others if diagnosed.finding.status == status and not diagnosed.excused]
        page.fold(f"{status} ({len(chosen)})", f"{status} findings", chosen)
    excused = [_item(diagnosed, place) for diagnosed, place in others if diagnosed.excused]
    page.fold(f"excused ({len(excused)})", "excused findings", excused)
    page.fold(f"not read ({len(report.skipped)})", "entries of what was not read", (f"- {code(skip)}\n" for skip in skips(report)))
    unknown = [f"- {code(name)}: {count} rules wait for it\n" for name, count in report.unknown]
    page.fold(f"unknown ({len(unknown)})", "unknown facts", unknown)
    return page.text()


def render_error(error: EnvdoctorError) -> str:
    """What exit status 2 and 3 write."""
    return f"## envdoctor: could not run\n\n{inline(error_line(error)[:20_000])}\n"


def _pins(report: Report) -> Iterator[str]:
    """The pins to paste, once for the situations that share them."""
    told: dict[tuple[tuple[str, str], ...], list[Situation]] = {}
    for situation in report.situations or (Situation("", report.patient, report.facts, report.remedy),):
        if situation.remedy.pins:
            told.setdefault(tuple(sorted(situation.remedy.pins.items())), []).append(situation)
    for pins, several in told.items():
        number = len(several[0].remedy.clears)
        where = f" for {inline(', '.join(one.name for one in several))}" if report.situations else ""
        yield f"\nClears {'it' if number == 1 else f'{number} findings'}{where}:\n\n{block(install_command(dict(pins)), 'sh')}\n"


class _Page:
    """Text that grows to a limit, and remembers what did not fit."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._parts: list[str] = []
        self._left: list[str] = []

    def add(self, text: str, *, within: int | None = None) -> bool:
        """Append the text if it fits whole."""
        size = len(text.encode("utf-8"))
        if self._size + size > (within or self._limit):
            return False
        self._parts.append(text)
        self._size += size
        return True

    def count(self, what: str, texts: Iterable[str], *, within: int | None = None) -> None:
        """Append texts up to the first that does not fit, and note how many are left out."""
        every = list(texts)
        for number, text in enumerate(every):
            if not self.add(text, within=within):
                self._left.append(f"{len(every) - number} of {len(every)} {what}")
                return

    def fold(self, title: str, what: str, items: Iterable[str]) -> None:
        """A list under a title that opens; nothing where it is empty."""
        every = list(items)
        closing = "\n</details>\n"
        if every and self.add(f"\n<details><summary>{title}</summary>\n\n"):
            self.count(what, every, within=self._limit - len(closing))
            self._parts.append(closing)
            self._size += len(closing)
        elif every:
            self._left.append(f"{len(every)} of {len(every)} {what}")

    def text(self) -> str:
        if self._left:
            self._parts.append(f"\nLeft out, for want of room: {', '.join(self._left)}. `envdoctor check --format json` has all.\n")
        return "".join(self._parts)


def _row(diagnosed: Diagnosed, place: Place) -> str:
    finding = diagnosed.finding
    severity = f"**{finding.severity}**" + (", confirmed" if finding.status == "confirmed" else "")
    first = next(iter(diagnosed.cures), None)
    cure = "" if first is None else _command_or_words(first.pins or first.plan, cure_line(first))
    title = inline(_cut(finding.rule.title))
    return f"| {severity} | {_linked(diagnosed)}<br>{title} | {code(_cut(_where(place)), cell=True)} | {cure} |\n"


def _command_or_words(exact: object, text: str) -> str:
    return code(_cut(text), cell=True) if exact else inline(_cut(text))


def _linked(diagnosed: Diagnosed) -> str:
    """The rule's id, which leads to its first evidence."""
    rule = diagnosed.finding.rule
    return link(rule.id, rule.evidence[0].url) if rule.evidence else inline(rule.id)


def _where(place: Place) -> str:
    return f"{place.file}:{place.line}" if place.own else place.file if place.file == NO_FILE else f"{place.file} as a whole"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_IN_CELL else text[: _MOST_IN_CELL - 3] + "..."


def _folded(diagnosed: Diagnosed, place: Place) -> str:
    finding = diagnosed.finding
    lines = [f"\n<details><summary>{finding.severity}: {in_html(finding.rule.id)}</summary>\n"]
    lines.append(f"{inline(headline(diagnosed))} {code(_where(place))}\n")
    lines += [f"- {inline(reason)}" for reason in reasons(diagnosed)]
    lines += [f"- Cure: {code(cure)}" for cure in cures(diagnosed)]
    lines += ["", *(prose(paragraph) + "\n" for paragraph in details(finding.rule).split("\n\n"))]
    lines += [f"- {link(source.url, source.url)}: {prose(source.says)}" for source in finding.rule.evidence]
    lines += ["", f"{code(f'{EXPLAINED} {finding.rule.id}')}\n", "</details>\n"]
    return "\n".join(lines)


def _item(diagnosed: Diagnosed, place: Place) -> str:
    needs = f" Needs {inline(', '.join(diagnosed.finding.missing))}." if diagnosed.finding.missing else ""
    needs += f" Only with {inline(', '.join(diagnosed.within))}." if diagnosed.within else ""
    needs += f" {inline(diagnosed.excused)}." if diagnosed.excused else ""
    return f"- {_linked(diagnosed)} {code(_where(place))}: {inline(diagnosed.finding.rule.title)}.{needs}\n"
