"""What a project declares that it needs: every statement about a package joined into one fact, with file and line.

All readers of requirements, manifests and locks state their packages here, so that markers are evaluated, two
statements of one package are joined and impossible ones are told in one way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from envdoctor.facts.fact import OVERRIDE, Collected, Defect, Fact, Origin, Skip
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.names import canonical
from envdoctor.facts.values import parse_value
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

_DIRECT = re.compile(r"(?:[a-z]+\+)?[a-z]{2,12}://|\.{0,2}[/\\]|[A-Za-z]:\\|file:", re.IGNORECASE)
# What packaging raises of a text that is no requirement or whose marker cannot be judged; a ValueError also of a number without end.
_REFUSALS = (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError)
_LONGEST = 2000
# OpenMMLab's own instructions of the days of torch 1: ``mmcv-full==latest+torch1.6.0+cu101``, which the pip of those days takes.
_LEGACY = re.compile(r"==\s*latest\+torch1\.")
_PIN = re.compile(r"==\s*[^,*]+")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][A-Za-z0-9._-]{0,200})")


@dataclass(slots=True)
class _Statement:
    specifier: str
    origin: Origin
    extras: tuple[str, ...] = ()


@dataclass(slots=True)
class Declarations:
    """Collects what is declared for one installation; a copy of it may go on as a variant."""

    installation: Installation = field(default_factory=Installation)
    facts: list[Fact] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    project: tuple[str, str] | None = None
    _stated: dict[str, list[_Statement]] = field(default_factory=dict)
    _constraints: dict[str, list[_Statement]] = field(default_factory=dict)
    _direct: list[str] = field(default_factory=list)
    overridden: set[str] = field(default_factory=set)

    def copy(self) -> Declarations:
        """The same declarations, to which a variant may add its own."""
        stated, constraints = ({name: list(rows) for name, rows in table.items()} for table in (self._stated, self._constraints))
        return Declarations(
            self.installation,
            list(self.facts),
            list(self.defects),
            list(self.skips),
            self.project,
            stated,
            constraints,
            list(self._direct),
            set(self.overridden),
        )

    def require(self, text: str, file: str, line: int | None, *, extra: str = "", constraint: bool = False) -> Requirement | None:
        """State a requirement in the words of PEP 508, and return it where it was understood and is installed here.

        What is no requirement is a defect; a URL or a path, whose version nobody states, is a skip.
        """
        place = file if line is None else f"{file}:{line}"
        if _DIRECT.match(text):
            self.skip(place, f"{text}: a URL or path requirement, its version is not known")
            named = _EGG.search(text)
            if named and not constraint:
                self.elsewhere(named[1], text)
            return None
        try:
            requirement = _requirement(text)
            installed = self.installation.applies(requirement.marker, extra)
        except _REFUSALS as error:
            if _LEGACY.search(text):
                self.skip(place, f"{text}: which release this is, is not known; pip from 24.1 on takes it for no requirement")
                return None
            self.defect("requirement-malformed", f"{plain(repr(text))} is no requirement: {_reason(error)}", file, line)
            return None
        if not installed:
            return None
        if requirement.url:
            self.skip(place, f"{requirement.name}: taken from a URL, its version is not known")
            if not constraint:
                self.elsewhere(requirement.name, requirement.url)
            return None
        self._add(requirement.name, requirement.specifier, file, line, constraint=constraint, extras=tuple(sorted(requirement.extras)))
        return requirement

    def state(
        self,
        name: str,
        specifier: str,
        file: str,
        line: int | None,
        *,
        marker: str = "",
        extra: str = "",
        constraint: bool = False,
        source: str = "",
    ) -> bool:
        """State a package whose name, range (PEP 440) and marker stand apart, as locks have them; False where it is not installed here.

        ``source`` is what it is taken from, where that is not an index.
        """
        try:
            _bounded(specifier)
            wanted = SpecifierSet(specifier)
            installed = self.installation.applies(Marker(_bounded(marker)) if marker.strip() else None, extra)
        except _REFUSALS as error:
            told = f"{name} {specifier}{f' ; {marker}' if marker else ''}".strip()
            self.defect("requirement-malformed", f"{plain(repr(told))} is no requirement: {_reason(error)}", file, line)
            return False
        if not installed:
            return False
        self._add(name, wanted, file, line, constraint=constraint, source=source)
        return True

    def bring(self, name: str, origin: Origin) -> None:
        """Say that a file given by its address is installed: no index is asked for a wheel of the package."""
        place = next((at for at, fact in enumerate(self.facts) if fact.name == "present"), None)
        before = () if place is None else self.facts.pop(place).value
        names = {canonical(name), *(before if isinstance(before, tuple) else ())}
        self.facts.append(Fact("present", tuple(sorted(names)), origin))

    def elsewhere(self, name: str, address: str) -> None:
        """Say that a package comes from a URL, a path or a repository: no release of the index is taken in its place."""
        self._direct.append(f"{canonical(name)} @ {address}")

    def skip(self, what: str, why: str, *, lost: bool = False) -> None:
        self.skips.append(Skip(plain(what, 4096), plain(why), lost))

    def defect(self, rule: str, detail: str, file: str, line: int | None, packages: tuple[str, ...] = (), advice: str = "") -> None:
        self.defects.append(Defect(rule, plain(detail), file, line, packages, plain(advice)))

    def say(self, fact: Fact) -> None:
        """State a fact that is no package; the first statement of a name stays."""
        if all(other.name != fact.name for other in self.facts):
            self.facts.append(fact)

    def collected(self) -> Collected:
        """All that was stated. A constraint alone requires nothing: it narrows what something else requires."""
        defects, skips, packages = list(self.defects), list(self.skips), []
        for name, rows in self._stated.items():
            joined = _join(name, [*self._constraints.get(name, ()), *rows])
            origin = rows[-1].origin
            if name in self.overridden:
                origin = replace(origin, source=f"{OVERRIDE}{origin.source}")
            packages.append(Fact(f"packages.{name}", parse_value(f"packages.{name}", joined.specifier or "*"), origin))
            if joined.clash is not None:
                defects.append(joined.clash)
            if joined.left:
                skips.append(Skip(f"{joined.left} statements about {name}", "more than are joined into one range"))
        wanted = (*_lines(self._stated), *self._direct)
        return Collected(
            (*self.facts, *packages),
            tuple(defects),
            tuple(skips),
            wanted=wanted,
            constraints=_lines(self._constraints),
            project=self.project,
        )

    def _add(
        self,
        name: str,
        specifier: SpecifierSet,
        file: str,
        line: int | None,
        *,
        constraint: bool,
        extras: tuple[str, ...] = (),
        source: str = "",
    ) -> None:
        row = _Statement(str(specifier), Origin(source or file, file, line), extras)
        (self._constraints if constraint else self._stated).setdefault(canonical(name), []).append(row)


def _lines(table: Mapping[str, list[_Statement]]) -> tuple[str, ...]:
    rows = ((name, row) for name, several in table.items() for row in several)
    return tuple(name + (f"[{','.join(row.extras)}]" if row.extras else "") + row.specifier for name, row in rows)


def _bounded(text: str) -> str:
    """The text, where it is not longer than any that a person or a tool writes.

    Raises:
        ValueError: it is.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"{len(text)} characters, more than the {_LONGEST} that are read")
    return text


@lru_cache(maxsize=1024)
def _requirement(text: str) -> Requirement:
    return Requirement(_bounded(text))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return plain((str(error).splitlines() or ["no reason given"])[0])


@dataclass(frozen=True, slots=True)
class _Joined:
    """What all statements of a package come to: a range, what is wrong with them, and how many were too many."""

    specifier: str
    clash: Defect | None = None
    left: int = 0


def _join(name: str, rows: list[_Statement]) -> _Joined:
    """The range that all statements admit together; an exact pin that agrees with the others is what it is."""
    known, joined, left = release_texts(name), "", 0
    clash: Defect | None = None
    before: _Statement | None = None
    for row in rows:
        narrowed = ",".join(dict.fromkeys(filter(None, (row.specifier, joined))))
        if len(narrowed) > _LONGEST:
            left += 1
            continue
        if clash is None and narrowed and narrowed != joined and not satisfiable(narrowed, known):
            with_ = f", with {joined} {_place(before, row)}" if before is not None and joined else ""
            clash = Defect(
                "requirement-unsatisfiable",
                f"no release can satisfy {name} {row.specifier}{with_}",
                row.origin.file,
                row.origin.line,
                (name,),
            )
        # Nothing may be concluded from a range that admits no release: the statement that broke it stands for itself.
        joined, before = row.specifier if clash is not None else narrowed, row
    pin = next((row for row in rows if _PIN.fullmatch(row.specifier)), None) if clash is None else None
    return _Joined(joined if pin is None else pin.specifier, clash, left)


def _place(before: _Statement, row: _Statement) -> str:
    line = "" if before.origin.line is None else f"line {before.origin.line}"
    return f"on {line}" if before.origin.file == row.origin.file and line else f"in {before.origin.file}{f', {line}' if line else ''}"
