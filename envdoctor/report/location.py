"""Where a finding is shown, and by what mark it is known again in the next run."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from pathlib import Path

from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.old_spellings import as_before
from envdoctor.facts.uses import CODE_USES
from envdoctor.files.paths import real_path, working_directory
from envdoctor.records import dataclass
from envdoctor.report.model import Report

# Where no file states anything, as for an installed stack: GitHub refuses a whole upload for one result without a place
# (https://github.com/github/codeql-action/issues/2459), and GitLab wants a path for every entry.
NO_FILE = "environment"
_NUMBERED = re.compile(r"(\blines? |:)\d+")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file. ``file`` is relative to the checkout, with forward slashes, or absolute where it lies outside.

    ``line`` counts from 1, and is 1 where no line is known. ``own`` says that the finding or a fact that decided it was read there;
    else the place is only the first file that stated anything, or `NO_FILE`.
    """

    file: str
    line: int
    own: bool


def checkout() -> Path:
    """The directory that paths are relative to: the checkout of the CI job if this process runs inside it, else the working directory.

    ``GITHUB_WORKSPACE`` (https://docs.github.com/en/actions/reference/workflows-and-actions/variables) and ``CI_PROJECT_DIR``
    (https://docs.gitlab.com/ci/variables/predefined_variables/) name it.
    """
    here = working_directory().resolve()
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        stated = os.environ.get(name)
        if stated and os.path.isabs(stated):
            root = Path(str(real_path(stated)))
            if here.is_relative_to(root):
                return root
    return here


def relative(file: str, root: Path) -> str:
    """A path as it is called in the checkout; one outside of it stays absolute.

    Links are followed: code scanning shows nothing for a file that it knows under another name.
    """
    whole = os.path.normpath(os.path.join(str(working_directory()), file))
    try:
        real = str(real_path(whole))
    except (OSError, ValueError):  # no name that a file system knows, such as one with a NUL
        real = whole
    for path in (real, whole):
        if Path(path).is_relative_to(root) and Path(path) != root:
            return str(Path(path).relative_to(root)).replace(os.sep, "/")
    return whole.replace(os.sep, "/")


def place(finding: Finding, report: Report, root: Path) -> Place:
    """The place to show: the finding's own, that of the first fact that decided it, or the first file that stated anything."""
    if finding.location is not None:
        return Place(relative(finding.location.file, root), max(finding.location.line or 1, 1), own=True)
    for reason in finding.because:
        if reason.file is not None:
            return Place(relative(reason.file, root), max(reason.line or 1, 1), own=True)
    for facts in (report.facts, *(situation.facts for situation in report.situations)):
        for name in sorted(facts, key=lambda name: (not name.startswith("packages."), name)):
            file = facts[name].origin.file
            if file is not None:
                return Place(relative(file, root), 1, own=False)
    return Place(NO_FILE, 1, own=False)


def places(report: Report, root: Path) -> tuple[Place, ...]:
    """The place of every finding, in the report's order."""
    return tuple(place(one.finding, report, root) for one in report.findings)


def fingerprints(report: Report, shown: tuple[Place, ...]) -> tuple[str, ...]:
    """A mark for every finding, in the report's order: 32 hexadecimal digits, a colon, and a count from 1.

    It is made of the rule, the file, the packages, and the facts and conditions that decided: not of lines, of versions found, of
    status or severity, nor of anything else in the report. A finding that no fact decided (a malformed line) is told from others
    by its words. What is still the same is counted by line.
    """
    marks = [_mark(one.finding, where) for one, where in zip(report.findings, shown, strict=True)]
    order = sorted(range(len(marks)), key=lambda n: (shown[n].line, report.findings[n].finding.detail, report.findings[n].within))
    seen: Counter[str] = Counter()
    found = [""] * len(marks)
    for number in order:
        seen[marks[number]] += 1
        found[number] = f"{marks[number]}:{seen[marks[number]]}"
    return tuple(found)


def _mark(finding: Finding, where: Place) -> str:
    told = (as_before(reason.condition) if reason.fact == CODE_USES else reason.condition for reason in finding.because)
    reasons = sorted(f"{reason.fact} {text}" for reason, text in zip(finding.because, told, strict=True))
    words = "" if reasons else _NUMBERED.sub(r"\1", finding.detail)
    parts = (finding.rule.id, where.file if where.own else "", " ".join(sorted(finding.packages)), *reasons, words)
    text = "\0".join(part.replace("\0", "") for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
