"""SARIF 2.1.0, as GitHub code scanning takes it.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. What GitHub reads of it, and its limits:
https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from envdoctor import __version__
from envdoctor.errors import EnvdoctorError
from envdoctor.report.location import NO_FILE, Place, checkout, fingerprints, places, relative
from envdoctor.report.markup import link, prose
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.words import EXPLAINED, advised, annotated, details, error_line, headline, level, reasons, skips
from envdoctor.rules.rule import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 25_000
"""What GitHub accepts in a run; it keeps the worst 5,000."""
_MOST_DESCRIPTION = 1024
_MOST_RELATED = 100
_MOST_NOTIFICATIONS = 1000
_ROOT = "%SRCROOT%"
_PRECISION = {"cited": "medium", "computed": "high", "boundary": "high", "reproduced": "very-high", "reproduced-gpu": "very-high"}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def render(report: Report, *, root: Path | None = None, category: str | None = None) -> str:
    """One run with a result a finding, worst first, each with a place and a fingerprint.

    What a probe refuted, and what is excused, is no result, but told among the notifications: GitHub shows a suppressed one as open
    (https://github.com/github/codeql-action/issues/1230). What is only possible is a note that says so. Its ``kind`` is not
    ``review``, which demands the level ``none`` (SARIF 2.1.0, 3.27.9) and is not read by GitHub.

    ``category`` names the analysis (``automationDetails.id``). Without one the uploading action chooses it by workflow, job and
    matrix; one that is in the file wins over the action's own input, and two uploads of one category in a run are refused.
    """
    root = root or checkout()
    shown = places(report, root)
    marks = fingerprints(report, shown)
    told = [(d, p, m) for d, p, m in zip(report.findings, shown, marks, strict=True) if annotated(d)]
    rules: dict[str, Diagnosed] = {}
    for diagnosed, _, _ in told[:MOST_RESULTS]:
        rules.setdefault(diagnosed.finding.rule.id, diagnosed)
    index = {identity: number for number, identity in enumerate(rules)}
    notes = list(skips(report))
    passed_over = [d for d in report.findings if not annotated(d) and not d.finding.hidden]
    notes += [f"{d.finding.rule.id}: {headline(d)}{f' ({d.excused})' if d.excused else ''}" for d in passed_over]
    if len(told) > MOST_RESULTS:
        notes.insert(0, f"{len(told) - MOST_RESULTS} of {len(told)} findings left out: GitHub accepts {MOST_RESULTS}")
    if len(notes) > _MOST_NOTIFICATIONS:
        notes[_MOST_NOTIFICATIONS:] = [f"and {len(notes) - _MOST_NOTIFICATIONS} more (--format json lists all)"]
    run: dict[str, object] = {
        "tool": {"driver": {**_driver(report.version), "rules": [_rule(one.finding.rule) for one in rules.values()]}},
        "invocations": [
            {
                "executionSuccessful": not report.unexamined() or report.allow_empty,
                "exitCode": report.exit_code(),
                "toolExecutionNotifications": [{"level": "note", "message": {"text": printable(note)}} for note in notes],
            }
        ],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the checkout."}}},
        "results": [_result(d, p, m, index[d.finding.rule.id], report, root) for d, p, m in told[:MOST_RESULTS]],
        "properties": {
            "patient": printable(report.patient),
            "summary": _summary(report),
            "rulesDigest": report.rules_digest,
        },
    }
    return _log(run, category)


def render_error(error: EnvdoctorError, *, exit_code: int = 2, category: str | None = None) -> str:
    """What exit status 2 and 3 write: a run that did not succeed, with the error as its notification and no result."""
    notification = {"level": "error", "message": {"text": error_line(error)}}
    invocation = {"executionSuccessful": False, "exitCode": exit_code, "toolExecutionNotifications": [notification]}
    run: dict[str, object] = {"tool": {"driver": {**_driver(__version__), "rules": []}}, "invocations": [invocation], "results": []}
    return _log(run, category)


def _log(run: dict[str, object], category: str | None) -> str:
    if category is not None:
        # What stands before the last slash is the category, the rest a run's own mark.
        run["automationDetails"] = {"id": printable(category).rstrip("/") + "/"}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _summary(report: Report) -> dict[str, int]:
    decided = {"error": report.count("error"), "warning": report.count("warning"), "note": report.count("note")}
    return {**decided, "possible": report.possible(), "excused": report.excused()}


def _driver(version: str) -> dict[str, object]:
    release = {"semanticVersion": version} if _RELEASE.fullmatch(version) else {}
    return {"name": "envdoctor", "version": version, **release}


def _rule(rule: Rule) -> dict[str, object]:
    body = details(rule)
    sources = [source for source in rule.evidence if source.url.startswith("https://")]
    plain = [body, *(f"Source: {source.url} ({source.says})" for source in sources), f"In full: {EXPLAINED} {rule.id}"]
    marked = ["\n\n".join(prose(paragraph) for paragraph in body.split("\n\n"))]
    marked += ["\n".join(f"- {link(source.url, source.url)}: {prose(source.says)}" for source in sources)] if sources else []
    found: dict[str, object] = {
        "id": printable(rule.id),
        "shortDescription": {"text": _cut(rule.title)},
        "fullDescription": {"text": _cut(body or rule.title)},
        "help": {"text": printable("\n\n".join(plain), keep_newlines=True), "markdown": "\n\n".join([*marked, f"`{EXPLAINED} {rule.id}`"])},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": [printable(tag) for tag in dict.fromkeys((rule.effect, *rule.packages[:4]))],
            "precision": _PRECISION[rule.confidence],
            "problem.severity": _PROBLEM[rule.severity],
        },
    }
    if sources:
        found["helpUri"] = quote(sources[0].url, safe="/:?#[]@!$&'()*+,;=%~")
    return found


def _cut(text: str) -> str:
    text = " ".join(printable(text, keep_newlines=True).split())
    return text if len(text) <= _MOST_DESCRIPTION else text[: _MOST_DESCRIPTION - 3] + "..."


def _result(diagnosed: Diagnosed, place: Place, mark: str, index: int, report: Report, root: Path) -> dict[str, object]:
    finding = diagnosed.finding
    related = [one for one in _stated(diagnosed, root) if one != (place.file, place.line)][:_MOST_RELATED]
    lines = [headline(diagnosed), *reasons(diagnosed), *advised(diagnosed)]
    text = "\n".join(map(_literal, lines))
    if related:
        links = (f"[{_literal(printable(f'{file}:{line}'))}]({number})" for number, (file, line) in enumerate(related, start=1))
        text += f"\nSee {', '.join(links)}"
    found: dict[str, object] = {
        "ruleId": printable(finding.rule.id),
        "ruleIndex": index,
        "level": level(diagnosed, report),
        "message": {"text": text},
        "locations": [_location(place, report)],
        "partialFingerprints": {
            # GitHub reads this one alone, and the uploading action would make it from the line's text, which every new pin changes.
            "primaryLocationLineHash": mark,
            "envdoctor/v1": mark,
        },
        "properties": {
            "status": finding.status,
            "severity": finding.severity,
            "effect": finding.rule.effect,
            "confidence": finding.rule.confidence,
        },
    }
    if related:
        found["relatedLocations"] = [{"id": number, **_physical(*one)} for number, one in enumerate(related, start=1)]
    return found


def _stated(diagnosed: Diagnosed, root: Path) -> Iterable[tuple[str, int]]:
    """The lines that state what decided, each once."""
    reasons = diagnosed.finding.because
    return dict.fromkeys((relative(one.file, root), one.line) for one in reasons if one.file is not None and one.line is not None)


def _location(place: Place, report: Report) -> dict[str, object]:
    found = _physical(place.file, place.line)
    if not place.own:
        why = "about the whole environment" if place.file == NO_FILE else "about the whole of what was checked"
        found["message"] = {"text": printable(f"No line states it: {why} ({report.patient}).")}
    return found


def _physical(file: str, line: int) -> dict[str, object]:
    region = {"startLine": line, "startColumn": 1, "endLine": line}
    return {"physicalLocation": {"artifactLocation": _artifact(file), "region": region}}


def _artifact(file: str) -> dict[str, object]:
    """A file as a URI: relative to the checkout, or absolute where it lies outside of it."""
    path = quote(file.encode("utf-8", "surrogatepass"), safe="/")
    if file.startswith("/"):
        return {"uri": f"file://{path}"}
    if re.match(r"[A-Za-z]:/", file):
        return {"uri": f"file:///{path}"}
    return {"uri": path, "uriBaseId": _ROOT}


def _literal(text: str) -> str:
    """Text in which nothing is a link (SARIF 2.1.0, 3.11.6)."""
    return re.sub(r"([\\\[\]])", r"\\\1", text)
