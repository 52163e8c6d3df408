"""What a run has to say, as one value: every format renders this, so that none can disagree with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Facts, Skip
from envdoctor.records import dataclass
from envdoctor.rules.rule import Severity

if TYPE_CHECKING:
    from envdoctor.engine.diagnosis import Finding
    from envdoctor.probes.verdict import Verdict
    from envdoctor.remedies.cures import Cure
    from envdoctor.remedies.remedy import Remedy
    from envdoctor.report.mended import Mended

FAIL_ON: Mapping[str, tuple[Severity, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "note": ("error", "warning", "note"),
    "never": (),
}

IN_BASELINE = "in the baseline"
ALREADY_TODAY = "already so today"
# Releases come out every few days: a list of a month ago knows most of them.
_STALE_DAYS = 31


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A finding with its cures and, where one ran, the verdict of its probe.

    ``within`` names the choices under which alone it stands (``extra train``); empty where it always does.
    ``excused`` says why it does not count, where it does not; ``fail_on`` is the level of its file, where that has its own.
    """

    finding: Finding
    cures: tuple[Cure, ...]
    verdict: Verdict | None = None
    within: tuple[str, ...] = ()
    excused: str = ""
    fail_on: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """One of several that a report is about: a file, or a choice that a file offers, named by its label."""

    label: str
    patient: str
    facts: Facts
    remedy: Remedy

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.patient, self.label)))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the stack the rules can speak of."""

    packages_known: int
    packages_stated: int
    packages_newer_than_rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """``situations`` is empty where there is but one, which ``patient``, ``facts`` and ``remedy`` are of.

    ``alternatives`` are other sets of pins than the remedy's, as small or nearly. ``mended`` is what ``fix`` did about it, None where
    nobody asked. ``releases_age`` is how old the list of releases is, in days. ``by_change`` does with a change of the plan what the remedy
    does by going back to older releases, where there is one. ``either_way``: where two packages are at odds, both are told how to move.
    """

    version: str
    rules: int
    rules_digest: str
    releases_as_of: str
    patient: str
    facts: Facts
    findings: tuple[Diagnosed, ...]
    remedy: Remedy
    unknown: tuple[tuple[str, int], ...]
    skipped: tuple[Skip, ...]
    coverage: Coverage
    probes: tuple[Verdict, ...]
    hints: tuple[str, ...]
    fail_on: str
    strict: bool
    recognised: tuple[str, ...] = ()
    situations: tuple[Situation, ...] = ()
    alternatives: tuple[Remedy, ...] = ()
    releases_age: int = 0
    mended: Mended | None = None
    by_change: Remedy | None = None
    allow_empty: bool = False
    show_all: bool = False
    either_way: bool = False

    def releases_known(self) -> str:
        """The day up to which pins may name releases, and how long ago that was where it is long ago."""
        old = f", {self.releases_age} days ago (envdoctor rules refresh)" if self.releases_age > _STALE_DAYS else ""
        return f"releases up to {self.releases_as_of}{old}"

    def count(self, severity: Severity) -> int:
        """Decided findings of a severity; refuted, possible and excused ones do not count."""
        decided = ("matched", "confirmed")
        return sum(d.finding.severity == severity and d.finding.status in decided and not d.excused for d in self.findings)

    def possible(self) -> int:
        return sum(d.finding.status == "possible" and not d.excused and not d.finding.hidden for d in self.findings)

    def hidden(self) -> int:
        """Possible findings that wait for a package which nothing names."""
        return sum(d.finding.hidden and not d.excused for d in self.findings)

    def excused(self) -> int:
        """Findings that would count, and are ignored or in the baseline."""
        return sum(d.finding.status != "refuted" and bool(d.excused) for d in self.findings)

    def fails(self, diagnosed: Diagnosed) -> bool:
        """Whether this finding alone makes the exit status 1: decided (with ``strict`` possible too), at or above its ``fail_on``."""
        counted = ("matched", "confirmed", "possible") if self.strict else ("matched", "confirmed")
        level = FAIL_ON[diagnosed.fail_on or self.fail_on]
        return (
            not diagnosed.excused
            and not diagnosed.finding.hidden
            and diagnosed.finding.status in counted
            and diagnosed.finding.severity in level
        )

    def unexamined(self) -> tuple[Skip, ...]:
        """What was meant to be examined, and was not."""
        return tuple(skip for skip in self.skipped if skip.lost)

    def exit_code(self) -> int:
        """1 when any finding fails, or a fix leaves something to do; else 2 when something went unexamined that should not; else 0."""
        found = int(any(map(self.fails, self.findings))) if self.mended is None else self.mended.status()
        if found:
            return found
        return 2 if self.unexamined() and not self.allow_empty else 0


def _is_in_a_script(finding: Finding) -> bool:
    files = [finding.location.file if finding.location is not None else None, *(one.file for one in finding.because)]
    return not finding.hidden and any(file is not None and file.endswith((".py", ".ipynb")) for file in files)


def worst_first(findings: Sequence[Diagnosed]) -> tuple[Diagnosed, ...]:
    """Findings in the order of their diagnosis, but what a probe confirmed first, what it refuted last, and what is excused after that.

    What is said by the way of one release stands behind what may be, and what is hidden behind all that is shown. Of what may be, what a
    line of the user's own code is about comes first.
    """
    order = ("confirmed", "matched", "possible", "refuted")

    def place(one: Diagnosed) -> tuple[bool, int, bool]:
        status = "possible" if one.finding.aside else one.finding.status
        return bool(one.excused), order.index(status), one.finding.status == "possible" and not _is_in_a_script(one.finding)

    return tuple(sorted(findings, key=place))
