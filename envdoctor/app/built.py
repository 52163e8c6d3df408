"""``fix --prove``: the cured environment is built by uv, and what shows each fault is run before and after."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from envdoctor.app.gathered import Gathered
from envdoctor.app.proving import whole_set
from envdoctor.app.request import Request
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Facts, Origin, Skip
from envdoctor.facts.values import parse_value
from envdoctor.files.own import remove_left
from envdoctor.files.text import plain
from envdoctor.records import replace
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.resolver import Resolver
from envdoctor.remedies.shown import Shown, Side, show
from envdoctor.remedies.whole_set import WholeSet
from envdoctor.report.mended import Proved
from envdoctor.report.model import Report
from envdoctor.rules.rulebook import Rulebook, reproductions_of
from envdoctor.sources.machine.hardware import collect_hardware
from envdoctor.uv.asking import Answer
from envdoctor.uv.command import uv_command
from envdoctor.uv.environments import Builder, Environment, NotBuiltError, UvBuilder, describe
from envdoctor.world.installation import Installation

Row: TypeAlias = "tuple[Gathered, Report, Mapping[str, object], Set[str]]"
_PREFIX = "envdoctor-prove-"
_LONGEST = 300


def prove_in_environments(request: Request, rows: Iterable[Row], book: Rulebook) -> tuple[Proved, ...]:
    """What came of each situation that has a cure: its report, the settings of its plan, and the rules that its cure clears.

    Raises:
        EnvdoctorError: no uv, or no leave to ask it.
    """
    wanted = [(one, report, settings, clears) for one, report, settings, clears in rows if _has_cure(report.remedy, settings)]
    if request.offline:
        raise EnvdoctorError("--prove", found="--offline", expected="a network: packages are installed", next_step="leave one of them out")
    if wanted:
        uv_command("--prove")
    return tuple(_prove(request, *row, book) for row in wanted)


def _has_cure(remedy: Remedy, settings: Mapping[str, object]) -> bool:
    return bool(remedy.pins or remedy.removes or settings)


def _prove(
    request: Request, gathered: Gathered, report: Report, settings: Mapping[str, object], clears: Set[str], book: Rulebook
) -> Proved:
    label = ", ".join(filter(None, (gathered.patient, gathered.label)))
    whole = whole_set(gathered, request.as_of)
    foreign = _foreign(whole.installation)
    if foreign:
        return Proved(label, failure=foreign)
    findings = [one.finding for one in report.findings if one.finding.rule.id in clears and _is_told(one.finding, request)]
    started = time.monotonic()
    with _workplace() as directory:
        build = _Sets(request, whole, gathered, directory)
        after = build.after(report.remedy)
        before = build.before(report.remedy) if report.remedy.pins or report.remedy.removes else after
        cured = Side(_with(gathered.derived, settings), after.built, after.why)
        if after.built is None:
            return Proved(label, seconds=time.monotonic() - started, failure=after.why)
        shown = tuple(_show(request, findings, before, cured, book))
        seconds = round(time.monotonic() - started, 1)
        return Proved(label, after.built.python, len(after.built.installed), seconds, shown, build.left_out())


def _is_told(finding: Finding, request: Request) -> bool:
    counted = ("matched", "confirmed", "possible") if request.strict else ("matched", "confirmed")
    return finding.status in counted and finding.severity != "note" and not finding.hidden


def _show(request: Request, findings: Iterable[Finding], before: Side, after: Side, book: Rulebook) -> Iterator[Shown]:
    once = {(one.rule.id, one.witness): one for one in findings}
    listed = reproductions_of(book, (one.rule.id for one in once.values()), request.rule_directories)
    gpu = any(fact.name == "gpu.name" for fact in collect_hardware().facts)
    for number, finding in enumerate(once.values(), start=1):
        with request.watch.stages(f"{number}/{len(once)} {finding.rule.id}", "minutes at most") as told:
            yield show(finding, listed.get(finding.rule.id), before, after, gpu=gpu, trust=request.trust_remote_code, told=told)


def _with(facts: Facts, settings: Mapping[str, object]) -> Facts:
    changed = [Fact(name, parse_value(name, value), Origin("fix")) for name, value in settings.items()]
    return derive(facts.with_facts(changed)) if changed else facts


class _Sets:
    """The environments of one situation: as it is, and with the cure. Both are of exact releases that uv took, from wheels alone."""

    def __init__(self, request: Request, whole: WholeSet, gathered: Gathered, directory: Path) -> None:
        self._request, self._whole, self._gathered = request, whole, gathered
        self._directory = directory
        self._resolver = Resolver(whole, None)
        self._answers: list[Answer] = []
        self._taken: dict[str, str] = {}
        self._options: tuple[str, ...] = ()

    def before(self, remedy: Remedy) -> Side:
        """As it is stated; where uv refuses that, with the cured set around it."""
        gathered = self._gathered
        if gathered.installed is not None and gathered.interpreter is not None and not self._whole.declared:
            return self._made(lambda: describe(gathered.interpreter or Path()), gathered.derived)
        found = self._side(Remedy({}, (), ()), gathered.derived, "the environment as it is")
        return found if found.built is not None else self._forced(remedy, found)

    def _forced(self, remedy: Remedy, refused: Side) -> Side:
        """The cured set with the releases that are stated in place of its pins, as one gets it who installs one after the other."""
        stated = self._whole.releases()
        pins = {name: version for name, version in self._taken.items() if name not in remedy.pins}
        pins |= {name: stated[name] for name in (*remedy.pins, *remedy.removes) if name in stated}
        if not pins or any(name not in stated for name in remedy.pins):
            return refused
        build = builder(self._directory, self._options)
        wanted = [f"{name}=={version}" for name, version in sorted(pins.items())]
        forced = self._made(lambda: build(self._python(), wanted, forced=True), refused.facts)
        return replace(forced, why=refused.why)

    def after(self, remedy: Remedy) -> Side:
        return self._side(remedy, self._gathered.derived, "the cured environment")

    def left_out(self) -> tuple[Skip, ...]:
        found = {name: why for answer in self._answers for name, why in answer.left_out.items()}
        return tuple(Skip(name, why) for name, why in found.items())

    def _side(self, remedy: Remedy, facts: Facts, what: str) -> Side:
        try:
            with self._request.watch.waiting(f"asking uv which releases make up {what}"):
                taken = self._resolver.taken(remedy)
        except EnvdoctorError as error:
            return Side(facts, why=f"uv could not be asked: {plain(error.found, _LONGEST)}")
        self._answers.append(taken)
        if taken.conflict:
            return Side(facts, why=f"does not install: {plain(taken.conflict, _LONGEST)}")
        pins = [f"{name}=={told.version}" for name, told in sorted(taken.taken.items())]
        self._taken = {name: told.version for name, told in taken.taken.items()}
        words = [word for line in self._resolver.asked_indexes(remedy) for word in line.split(" ", 1)]
        self._options = ("--no-build", *words, *(("--index-strategy", "unsafe-best-match") if words else ()))
        build = builder(self._directory, self._options)
        with self._request.watch.waiting(f"building {what}: {len(pins)} packages"):
            return self._made(lambda: build(self._python(), pins, bare=list(taken.taken)), facts)

    def _made(self, make: Callable[[], Environment], facts: Facts) -> Side:
        try:
            return Side(facts, make())
        except NotBuiltError as error:
            return Side(facts, why=plain(str(error), _LONGEST))

    def _python(self) -> str:
        """The examined interpreter itself, else the release of Python that the requirements are for."""
        gathered = self._gathered
        if gathered.installed is not None and gathered.interpreter is not None:
            return str(gathered.interpreter)
        return self._whole.installation.python


def builder(directory: Path, options: tuple[str, ...]) -> Builder:
    """Who builds: uv, below a directory, with words for each installation."""
    return UvBuilder(directory, options)


def _foreign(installation: Installation) -> str:
    """Why nothing can be built here for where the packages are to be; empty where it can."""
    told = installation.environment()
    machine = platform.machine()
    if (told["sys_platform"], told["platform_machine"]) == (sys.platform, machine):
        return ""
    return f"it is for {told['sys_platform']} {told['platform_machine']}, and this machine is {sys.platform} {machine}: nothing was built"


@contextmanager
def _workplace() -> Iterator[Path]:
    """A directory that is gone afterwards; those of runs that were killed go first."""
    base = Path(tempfile.gettempdir())
    remove_left(base, re.compile(rf"{_PREFIX}(\d+)-\w+"))
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


__all__ = ["builder", "prove_in_environments"]
