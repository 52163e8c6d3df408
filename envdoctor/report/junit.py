"""JUnit's XML: a test case a finding, as Jenkins, GitLab and Azure show it.

Elements and attributes are those of Jenkins' schema,
https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd,
which Ant's and Surefire's readers understand.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.report.location import checkout, places
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.report.words import error_line, headline, level, skips, whole

_CLASS = "envdoctor"
# Not characters in XML 1.0 (https://www.w3.org/TR/xml/#charsets); its other forbidden ones are controls and surrogates.
_NO_CHARACTER = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def render(report: Report, *, root: Path | None = None) -> str:
    """A failure for what makes the exit status 1, ``skipped`` for what is possible, refuted or excused, a pass with its text for the rest.

    Without a finding there is one passing case: a reader that sees no test takes it for a broken run. A case is named by
    rule and file, not by line, so that its history holds together.
    """
    cases: list[str] = []
    named: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for diagnosed, place in zip(report.findings, places(report, root or checkout()), strict=True):
        if diagnosed.finding.hidden:
            continue
        name = f"{diagnosed.finding.rule.id} ({place.file})"
        named[name] += 1
        if named[name] > 1:
            name += f" #{named[name]}"
        kind, body = _outcome(diagnosed, report, f"{place.file}:{place.line}")
        kinds[kind] += 1
        cases.append(f"    <testcase {_attributes(classname=_CLASS, name=name, time='0')}>\n      {body}\n    </testcase>\n")
    if not cases:
        cases.append(f"    <testcase {_attributes(classname=_CLASS, name='no findings', time='0')}/>\n")
    unread = "\n".join(skips(report))
    output = f"    <system-out>{_text('not read:' + chr(10) + unread)}</system-out>\n" if unread else ""
    return _document(cases, kinds, output)


def render_error(error: EnvdoctorError) -> str:
    """What exit status 2 and 3 write: a case that could not be run."""
    line = error_line(error)
    case = f"    <testcase {_attributes(classname=_CLASS, name='run', time='0')}>\n"
    case += f"      <error {_attributes(message=line, type='EnvdoctorError')}>{_text(line)}</error>\n    </testcase>\n"
    return _document([case], Counter(error=1), "")


def _outcome(diagnosed: Diagnosed, report: Report, where: str) -> tuple[str, str]:
    """What kind of case it is, and the element that says so."""
    text = _text(f"{where}\n{whole(diagnosed)}")
    message = f"{where}: {headline(diagnosed)}"
    if report.fails(diagnosed):
        return "failure", f"<failure {_attributes(message=message, type=level(diagnosed, report))}>{text}</failure>"
    if diagnosed.excused:
        return "skipped", f"<skipped {_attributes(message=f'{message} ({diagnosed.excused})', type='excused')}>{text}</skipped>"
    if diagnosed.finding.status in ("possible", "refuted"):
        return "skipped", f"<skipped {_attributes(message=message, type=diagnosed.finding.status)}>{text}</skipped>"
    return "passed", f"<system-out>{_text(level(diagnosed, report) + ': ')}{text}</system-out>"


def _document(cases: list[str], kinds: Counter[str], output: str) -> str:
    numbers = {"tests": str(len(cases)), "failures": str(kinds["failure"]), "errors": str(kinds["error"])}
    suite = _attributes(name=_CLASS, **numbers, skipped=str(kinds["skipped"]), time="0")
    suites = _attributes(name=_CLASS, **numbers, time="0")
    opening = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {suites}>\n  <testsuite {suite}>\n'
    return f"{opening}{''.join(cases)}{output}  </testsuite>\n</testsuites>\n"


def _attributes(**values: str) -> str:
    return " ".join(f'{name}="{_text(value).replace(chr(10), "&#10;")}"' for name, value in values.items())


def _text(text: str) -> str:
    return escape(printable(text, keep_newlines=True).translate(_NO_CHARACTER), quote=True)
