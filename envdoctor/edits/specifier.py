"""One requirement as it is written, and what is written in its place when it is to say something else of its version."""

from __future__ import annotations

import re

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.edits.edit import Pin, RefusedError
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import parse_package, version_condition
from envdoctor.records import dataclass
from envdoctor.sources.declared.requirement_line import wheel_release
from envdoctor.world.installation import Installation

_LONGEST = 2000
_HEAD = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)((?:[ \t]*\[[^\]]*\])?)[ \t]*", re.ASCII)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|file:|git@|[./\\~]|[A-Za-z]:[/\\]", re.ASCII)
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]*)")
_REPOSITORY = re.compile(r"(?:git|hg|svn|bzr)\+[^#?@]*?(?:@[^/]*)?/([A-Za-z0-9._-]+?)(?:\.git)?/?(?:[@#?].*)?")
# What a version, or what somebody took for one, begins with.
_VERSION = re.compile(r"[=<>!~$\uff1d\u2264\u2265\u2260]|v?[0-9]", re.ASCII)
_CLAUSE = re.compile(r"(===|~=|==|!=|<=|>=|<|>)([ \t]*)([^,\s]+)")
_VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
_BOUNDS = ("<", "<=", ">", ">=")
_REFUSALS = (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError)


@dataclass(frozen=True, slots=True)
class Written:
    """A requirement as written: ``start`` and ``end`` are where its version stands, or would.

    ``direct`` says that it is taken from a URL, a path or a repository, and so has no version.
    """

    text: str
    name: str
    start: int = 0
    end: int = 0
    marker: str = ""
    direct: bool = False

    @property
    def version(self) -> str:
        return self.text[self.start : self.end]

    @property
    def variable(self) -> str:
        """The first environment variable in it, as written."""
        found = _VARIABLE.search(self.text)
        return "" if found is None else found[0]

    @property
    def wellformed(self) -> bool:
        try:
            Requirement(self.text.rstrip("; \t"))
        except (ValueError, RecursionError):
            return False
        return len(self.text) <= _LONGEST

    def applies(self, installation: Installation) -> bool | None:
        """Whether it is installed here; None where its marker is none."""
        try:
            return installation.applies(Marker(self.marker) if self.marker else None)
        except _REFUSALS:
            return None

    def saying(self, version: str) -> str:
        """The requirement with another version."""
        return self.text[: self.start] + version + self.text[self.end :]


def written(text: str) -> Written | None:
    """Read a requirement; None for what names no package.

    One whose version is none of PEP 440 is read as well: it can be given one.
    """
    if len(text) > _LONGEST:
        return None
    if _ADDRESS.match(text) or wheel_release(text.split(";")[0].split(" @")[0].strip()) is not None:
        name = _name_at(text)
        return Written(text, canonical(name), marker=_after_address(text), direct=True) if name else None
    head = _HEAD.match(text)
    if head is None:
        return None
    name, rest = canonical(head[1]), text[head.end() :]
    if rest.startswith("@"):
        return Written(text, name, marker=_after_address(rest), direct=True)
    version, _, marker = rest.partition(";")
    start, end = head.end(), head.end() + len(version.rstrip())
    if version.startswith("(") and version.rstrip().endswith(")"):
        inner = version.rstrip()[1:-1]
        start += 1 + len(inner) - len(inner.lstrip())
        end = start + len(inner.strip())
    elif not version.strip():
        start = end = head.end(2)
    elif not _VERSION.match(version.lstrip()):
        return None
    return Written(text, name, start, end, marker.strip().rstrip(";").rstrip())


def _name_at(address: str) -> str:
    """The package that an address tells by its fragment, a wheel's file name, or the name of its repository."""
    told = _EGG.search(address)
    if told is not None:
        return told[1]
    release = wheel_release(address.split(" ;")[0].split("; ")[0].strip())
    if release is not None:
        return release[0]
    repository = _REPOSITORY.fullmatch(address.split(" ;")[0].split("; ")[0].strip())
    return repository[1] if repository is not None else ""


def _after_address(text: str) -> str:
    found = re.search(r"\s;|;\s", text)
    return "" if found is None else text[found.end() :].strip()


def wished(requirement: Written, pin: Pin) -> str | None:
    """The version to write in place of the one that stands there; None where it says just what is wished already.

    Raises:
        RefusedError: it is taken from elsewhere, has a variable in it, or what is wished contradicts what stays.
    """
    if requirement.direct:
        raise RefusedError(f"{requirement.name} is taken from a URL")
    new = pinned(requirement.version, pin.specifier) if pin.exact else bounded(requirement, pin.specifier)
    if new is not None and requirement.variable:
        raise RefusedError(f"the environment variable {requirement.variable} is in it")
    if new is not None and not Written(requirement.saying(new), requirement.name).wellformed:
        raise RefusedError(f"with {new} it would be no requirement")
    return new


def says(version: str, wish: str) -> bool:
    """Whether a version as written is the wished one and no other."""
    try:
        stated, asked = SpecifierSet(version), SpecifierSet(wish)
        if stated == asked:
            return True
        one, other = next(iter(stated), None), next(iter(asked))
        return (
            len(stated) == 1
            and one is not None
            and one.operator in ("==", "===")
            and "*" not in one.version + other.version
            and Version(one.version) == Version(other.version)
        )
    except _REFUSALS:
        return False


def admits(version: str, wish: str) -> bool:
    """Whether the exact version that is wished satisfies what is written."""
    try:
        return SpecifierSet(version).contains(wish.lstrip("="), prereleases=True)
    except _REFUSALS:
        return False


def pinned(version: str, wish: str) -> str | None:
    """An exact version in the spacing of what stands there; None where it says so."""
    if says(version, wish):
        return None
    operator = "===" if wish.startswith("===") else "=="
    first = _CLAUSE.match(version)
    return operator + (first[2] if first else "") + wish[len(operator) :].strip()


def bounded(requirement: Written, bound: str) -> str | None:
    """What stands there with bounds added; a wider bound of the same side is replaced. None where all of it follows already.

    Raises:
        RefusedError: no version satisfies both, or what stands there is no version.
    """
    text = requirement.version
    try:
        for clause in filter(None, (part.strip() for part in bound.split(","))):
            text = _narrowed(text, clause)
    except _REFUSALS as error:
        raise RefusedError(f"{requirement.version} is no range of versions") from error
    return None if text == requirement.version else text


def _narrowed(text: str, clause: str) -> str:
    if not text.strip():
        return clause
    if version_condition(clause).relation(parse_package(text)) is True:
        return text
    if not satisfiable(f"{text},{clause}", ()):
        raise RefusedError(f"it says {text}, and no version satisfies {clause} as well")
    own = _CLAUSE.match(clause)
    if own is not None and own[1] in _BOUNDS:
        for found in _CLAUSE.finditer(text):
            wider = found[1] in _BOUNDS and found[1][0] == own[1][0]
            if wider and version_condition(found[0]).relation(parse_package(clause)) is True:
                return f"{text[: found.start()]}{own[1]}{found[2]}{own[3]}{text[found.end() :]}"
    return f"{text.rstrip(', ')}{', ' if ', ' in text else ','}{clause}"


__all__ = ["RefusedError", "Written", "admits", "bounded", "pinned", "says", "wished", "written"]
