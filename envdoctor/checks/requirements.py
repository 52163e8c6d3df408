"""What the installed packages declare that they require, against what is installed: the questions that ``pip check`` asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.checks.refused_at_import import BY_ANOTHER, refused_by, walked
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.records import dataclass, replace
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.site_packages import BROKEN, Distribution
from envdoctor.world.markers import NotSimpleError, judge_simple, unwrap

UNMET = "declared-requirement-unmet"
MISSING = "declared-requirement-missing"

# `name`, `name[extra]`, `name>=1,<2`, `name (>=1,<2)`: all but direct references and old oddities.
# No two parts can match the same text, so that a hostile line costs no more than its length.
_SIMPLE = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\]\s*)?(?:\(([^()@;]*)\)|([=<>!~][^@;()]*))?")
_GROUP = re.compile(r"\([^()]*\)")
_EXTRA = re.compile(r"""\bextra\s*==\s*(?:"[^"]+"|'[^']+')""")
_OR = re.compile(r"\bor\b")
_LONGEST_SHOWN = 200
_PYTHON_VARIABLES = ("python_version", "python_full_version", "implementation_version")


@dataclass(frozen=True, slots=True)
class _Requirement:
    name: str
    specifier: str


class _NotARequirementError(Exception):
    """A line that PEP 508 has no reading for; the text says why."""


def declared(installed: Installed, environment: Mapping[str, str]) -> tuple[Hit, ...]:
    """Every declared requirement of an installed package that is missing, has another version, or cannot be judged.

    ``environment`` gives the marker variables (PEP 508) of the patient. Requirements of extras are passed over:
    nothing records which extras were asked for. Pre-releases count as what they are, as in ``pip check``.
    """
    versions = {d.name: None if d.version is None else exact(d.version) for d in installed.distributions}
    hits: list[Hit] = []
    asked: dict[str, dict[_Requirement, bool | None]] = {}
    for distribution in installed.distributions:
        # A release may be declared once a marker, and a hit be the same for two of them.
        seen = asked.setdefault(distribution.name, {})
        for line in distribution.requires:
            try:
                requirement, applies = _requirement(line, environment)
            except _NotARequirementError as error:
                detail = f"{_shown(distribution)} declares {line[:_LONGEST_SHOWN]!r}, which cannot be read: {error}"
                hits.append(Hit(BROKEN, True, detail=detail, packages=(distribution.name,)))
                continue
            if requirement is not None and applies is not False:
                seen.setdefault(requirement, applies)
    wanted = _wanted(asked, versions)
    known = {name: version for name, version in versions.items() if version is not None}
    compared = walked(known, lambda name: [one.name for one, applies in asked.get(name, {}).items() if applies])
    for distribution in installed.distributions:
        for requirement, applies in asked.pop(distribution.name, {}).items():
            found = _judged(distribution, requirement, applies, versions, compared=distribution.name in compared)
            hits += (replace(hit, pins=((requirement.name, wanted.get(requirement.name, requirement.specifier)),)) for hit in found)
    return tuple(hits)


def _wanted(asked: Mapping[str, Mapping[_Requirement, bool | None]], versions: Mapping[str, Exact | None]) -> dict[str, str]:
    """What all installed packages together ask of each that is missing: a release is looked for that pleases them all."""
    clauses: dict[str, dict[str, None]] = {}
    for requirements in asked.values():
        for one, applies in requirements.items():
            if one.name not in versions and applies:
                clauses.setdefault(one.name, {}).update(dict.fromkeys(filter(None, one.specifier.split(","))))
    return {name: ",".join(told) for name, told in clauses.items()}


def _judged(
    distribution: Distribution, wanted: _Requirement, applies: bool | None, versions: Mapping[str, Exact | None], *, compared: bool
) -> Iterator[Hit]:
    """The hit of one requirement, if there is one; ``applies`` is None where its marker waits for the Python's version.

    ``compared``: somebody compares all that this package requires when it is imported.
    """
    name, specifier = wanted.name, wanted.specifier
    requirement = name + specifier
    packages = (distribution.name, name)
    because = ((f"packages.{distribution.name}", f"requires {requirement}"),)
    pins = ((name, specifier),)
    waiting = () if applies else ("python",)
    if name not in versions:
        detail = f"{_shown(distribution)} declares {requirement}, and {name} is not installed"
        yield Hit(BY_ANOTHER if compared else MISSING, applies, because, waiting, detail, packages, pins)
        return
    found = versions[name]
    if not specifier or (found is not None and _admits(specifier, found)):
        return
    if found is None:
        detail = f"{_shown(distribution)} declares {requirement}, and the installed release of {name} cannot be told"
        yield Hit(UNMET, None, because, (*waiting, f"packages.{name}"), detail, packages, pins)
        return
    detail = f"{_shown(distribution)} declares {requirement}, and {name} {found} is installed"
    release = None if distribution.version is None else exact(distribution.version)
    refused = compared or (release is not None and refused_by(distribution.name, release, name, found, specifier))
    rule, reasons = BY_ANOTHER if refused else UNMET, (*because, (f"packages.{name}", f"not {specifier}"))
    yield Hit(rule, applies, reasons, waiting, detail, packages, pins)


def _shown(distribution: Distribution) -> str:
    return distribution.name if distribution.version is None else f"{distribution.name} {distribution.version}"


def _admits(specifier: str, found: Exact) -> bool:
    return version_condition(specifier).admits(found)


def _requirement(line: str, environment: Mapping[str, str]) -> tuple[_Requirement | None, bool | None]:
    """A Requires-Dist line and whether its marker holds: None where that waits for the Python's version.

    The requirement is None where it is an extra's, or the marker is known not to hold.

    Raises:
        _NotARequirementError: the line is no requirement.
    """
    text, semicolon, marker = line.partition(";")
    if semicolon and _only_for_an_extra(marker):
        return None, False
    simple = _SIMPLE.fullmatch(text.strip())
    if simple is None:
        return _parsed(line, environment)
    try:
        holds = judge_simple(marker, environment) if semicolon else True
    except NotSimpleError:
        return _parsed(line, environment)
    if holds is False:
        return None, False
    specifier = re.sub(r"\s+", "", simple[2] or simple[3] or "").strip(",")
    _check_specifier(specifier)
    return _Requirement(canonical(simple[1]), specifier), holds


def _only_for_an_extra(marker: str) -> bool:
    """Whether the marker says ``... and extra == "x"`` at its top level, so that it holds for no package without extras."""
    if "extra" not in marker:
        return False
    flat = _flat(marker)
    return _EXTRA.search(flat) is not None and _OR.search(flat) is None


def _flat(marker: str) -> str:
    """The marker without what stands in parentheses, unless it is all in one pair."""
    marker = unwrap(marker)
    return _GROUP.sub("", marker) if "(" in marker else marker


def _parsed(line: str, environment: Mapping[str, str]) -> tuple[_Requirement | None, bool | None]:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import Requirement

    try:
        requirement = Requirement(line)
        applies: bool | None = True
        if requirement.marker is not None:
            if "python_version" not in environment and any(name in str(requirement.marker) for name in _PYTHON_VARIABLES):
                applies = None
            else:
                applies = requirement.marker.evaluate({**environment, "extra": ""})
    except RecursionError:
        raise _NotARequirementError("its marker is nested too deeply") from None
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName) as error:
        raise _NotARequirementError(str(error).partition("\n")[0][:_LONGEST_SHOWN]) from None
    if applies is False:
        return None, False
    # Of a direct reference only the presence can be judged.
    specifier = str(requirement.specifier)
    _check_specifier(specifier)
    return _Requirement(canonical(requirement.name), specifier), applies


def _check_specifier(specifier: str) -> None:
    try:
        version_condition(specifier)
    except ValueError:  # InvalidSpecifier, or a number of more digits than Python converts
        raise _NotARequirementError(f"{specifier[:_LONGEST_SHOWN]!r} is no version specifier") from None
