"""Releases that stand in place of those of a situation: what an upgrade would break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from envdoctor.checks.own_code import CODE_BREAKS
from envdoctor.engine.diagnosis import Finding
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.files.paths import is_file, why_missing
from envdoctor.records import replace
from envdoctor.report.model import ALREADY_TODAY, Report
from envdoctor.world.releases import release_texts

AGAINST = "--against"
_PACKAGE = "packages."
_DECIDED = ("matched", "confirmed")
_FILES = (".cfg", ".in", ".lock", ".toml", ".txt", ".yaml", ".yml")
_NEXT = re.compile(r"(?<=[\w\]*])(?:\s*,\s*|\s+)(?=[A-Za-z])")


def collect_against(wanted: Sequence[str]) -> Collected:
    """The releases that ``--against`` names; of a range, and of a bare name, the newest that it admits.

    Raises:
        EnvdoctorError: neither a requirement nor a file that states packages, or no release that it admits.
    """
    facts: dict[str, Fact] = {}
    for text in (one for told in wanted for one in _each(told)):
        found = list(_in_file(text)) if _is_file(text) else [_requirement(text)]
        if not found:
            raise EnvdoctorError(
                f"{AGAINST} {text}", found="a file that states no package", expected="requirements", next_step="check the path"
            )
        facts.update((one.name, one) for one in found)
    return Collected(facts=tuple(facts.values()))


def is_about(finding: Finding, facts: Iterable[Fact]) -> bool:
    """Whether a finding is of one of these packages; what is not was there before them."""
    names = {one.name for one in facts}
    told = {*(f"{_PACKAGE}{name}" for name in finding.packages), *(reason.fact for reason in finding.because)}
    return not names.isdisjoint(told)


def mark_present(report: Report, present: Iterable[Report]) -> Report:
    """A report in which the decided findings do not count that stand without the upgrade as well: it does not break them."""
    known = {_known_by(one.finding) for told in present for one in told.findings if one.finding.status in _DECIDED}
    findings = tuple(
        replace(one, excused=ALREADY_TODAY) if one.finding.status in _DECIDED and _known_by(one.finding) in known else one
        for one in report.findings
    )
    return replace(report, findings=findings)


def _known_by(finding: Finding) -> tuple[object, ...]:
    """What a finding says, whichever release it says it of: the rule, the name, the place, and what else than packages decided."""
    reasons = frozenset((one.fact, one.value, one.file, one.line) for one in finding.because if not one.fact.startswith(_PACKAGE))
    # Of others the place may be the line that states a release, for which --against stands.
    place = finding.location if finding.rule.id == CODE_BREAKS else None
    return finding.rule.id, finding.severity, finding.edge, None if place is None else (place.file, place.line), reasons


def unread_releases(facts: Iterable[Fact], *, installed: Mapping[str, str]) -> tuple[Skip, ...]:
    """The releases of ``--against`` that the atlas has not read: what they would break is not known, or only by others."""
    from envdoctor.app.installed_code import say_unread
    from envdoctor.atlas.shelf import open_package

    skips = []
    for fact in facts:
        name = fact.name.removeprefix(_PACKAGE)
        bound = open_package(name)
        release = fact.value.text if isinstance(fact.value, Exact) else ""
        if bound is None:
            skips.append(Skip(f"{AGAINST} {name}", "no release of this package was ever read", lost=True))
            continue
        if not release or release.partition("+")[0] in bound.volume.places or installed.get(name) == release:
            continue
        skips.append(Skip(f"{AGAINST} {name}=={release}", say_unread(bound, release), lost=True))
    return tuple(skips)


def _is_file(text: str) -> bool:
    return is_file(text)


def _each(text: str) -> list[str]:
    """Several requirements in one option: at commas and blanks behind which a name begins."""
    return [text] if _is_file(text) or ";" in text or "@" in text else _NEXT.split(text.strip())


def _requirement(text: str) -> Fact:
    from packaging.requirements import InvalidRequirement, Requirement

    if text.endswith(_FILES):
        raise EnvdoctorError(f"{AGAINST} {text}", found=why_missing(Path(text)), expected="requirements", next_step="check the path")
    try:
        told = Requirement(text)
    except InvalidRequirement:
        raise EnvdoctorError(
            f"{AGAINST} {text}", found="neither a requirement nor a file", expected="a release such as transformers==5.23.0",
            next_step="check the spelling, or the path",
        ) from None  # fmt: skip
    if told.url:
        raise EnvdoctorError(
            f"{AGAINST} {text}", found="a URL", expected="a release such as transformers==5.23.0", next_step="name the release"
        )
    name = canonical(told.name)
    pinned = [one.version for one in told.specifier if one.operator in ("==", "===") and not one.version.endswith(".*")]
    release = pinned[0] if len(pinned) == len(told.specifier) == 1 else _newest(name, str(told.specifier), text)
    return Fact(f"{_PACKAGE}{name}", exact(release), Origin(f"{AGAINST} {text}"))


def _in_file(text: str) -> Iterator[Fact]:
    from envdoctor.sources.targets import read_target

    for fact in read_target(text).collected.facts:
        if not fact.name.startswith(_PACKAGE):
            continue
        if isinstance(fact.value, Exact):
            yield fact
        elif isinstance(fact.value, Ranged):
            name = fact.name.removeprefix(_PACKAGE)
            if release_texts(name):
                yield replace(fact, value=exact(_newest(name, fact.value.text, f"{name}{fact.value.text}")))


def _newest(name: str, specifier: str, text: str) -> str:
    """The newest release that a specifier admits, as an installer would take it."""
    condition = version_condition(specifier or ">=0")
    for release in reversed(release_texts(name)):
        if condition.admits(exact(release)):
            return release
    raise EnvdoctorError(
        f"{AGAINST} {text}", found="no release that is known and that it admits", expected="a release such as transformers==5.23.0",
        next_step="name the release with ==",
    )  # fmt: skip
