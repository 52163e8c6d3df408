"""Annotations on GitHub: one workflow command a finding, and nothing else.

The commands and their parameters:
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message.
How the runner takes a line apart, and so what has to be escaped:
https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs.
"""

from __future__ import annotations

from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.report.location import NO_FILE, checkout, places
from envdoctor.report.model import Report
from envdoctor.report.plain import printable
from envdoctor.report.words import annotated, error_line, level, skips, whole

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}
_MOST_SKIPS = 20


def render(report: Report, *, root: Path | None = None) -> str:
    """A command a finding, worst first (GitHub shows ten of a kind), then a notice of what was not read; what a probe
    refuted, and what is excused, is left out.

    A note, and what is only possible, is a notice. Text is made printable and escaped, so that none can end its command.
    """
    lines = []
    for diagnosed, place in zip(report.findings, places(report, root or checkout()), strict=True):
        finding = diagnosed.finding
        if not annotated(diagnosed):
            continue
        title = f"{finding.rule.id} ({finding.status})" if finding.status != "matched" else finding.rule.id
        where = {} if place.file == NO_FILE and not place.own else {"file": place.file, "line": str(place.line)}
        lines.append(_command(_COMMAND[level(diagnosed, report)], {**where, "title": f"envdoctor: {title}"}, whole(diagnosed)))
    lost = len(report.unexamined())
    for told in skips(report)[: min(lost, _MOST_SKIPS)]:
        lines.append(_command("warning" if report.allow_empty else "error", {"title": "envdoctor: not examined"}, told))
    if len(report.skipped) > lost:
        unread = skips(report)[lost:]
        more = [f"and {len(unread) - _MOST_SKIPS} more"] if len(unread) > _MOST_SKIPS else []
        lines.append(_command("notice", {"title": "envdoctor: not read"}, "\n".join([*unread[:_MOST_SKIPS], *more])))
    return "".join(f"{line}\n" for line in lines)


def render_error(error: EnvdoctorError) -> str:
    """What exit status 2 and 3 print: one error."""
    return _command("error", {"title": "envdoctor"}, error_line(error)) + "\n"


def _command(name: str, properties: dict[str, str], message: str) -> str:
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{_data(message)}"


def _data(text: str) -> str:
    """A message: newlines stay, as escapes. The percent sign comes first, or it would escape the escapes."""
    return printable(text, keep_newlines=True).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
