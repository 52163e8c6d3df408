"""What a project declares that it needs: every statement about a package joined into one fact, with file and line.

All readers of requirements, manifests and locks state their packages here, so that markers are evaluated, two
statements of one package are joined and impossible ones are told in one way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from envdoctor.facts import Collected, Defect, Fact, Origin, Skip
from envdoctor.names import canonical
from envdoctor.releases import release_texts
from envdoctor.sources.installation import Installation
from envdoctor.sources.jsonfile import plain
from envdoctor.values import parse_value
from envdoctor.versions import satisfiable

_DIRECT = re.compile(r"(?:[a-z]+\+)?[a-z]{2,12}://|\.{0,2}[/\\]|[A-Za-z]:\\|file:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Variant:
    """One consistent choice that a file offers, whole: what is always installed, and what the choice adds.

    ``label`` is empty for what is always installed; else ``extra train``, ``group dev``, ``stage build``.
    """

    label: str
    collected: Collected


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
    _stated: dict[str, list[_Statement]] = field(default_factory=dict)
    _constraints: dict[str, list[_Statement]] = field(default_factory=dict)

    def copy(self) -> Declarations:
        """The same declarations, to which a variant may add its own."""
        stated, constraints = ({name: list(rows) for name, rows in table.items()} for table in (self._stated, self._constraints))
        return Declarations(self.installation, list(self.facts), list(self.defects), list(self.skips), stated, constraints)

    def require(self, text: str, file: str, line: int | None, *, extra: str = "", constraint: bool = False) -> Requirement | None:
        """State a requirement in the words of PEP 508, and return it where it was understood and is installed here.

        What is no requirement is a defect; a URL or a path, whose version nobody states, is a skip.
        """
        place = file if line is None else f"{file}:{line}"
        if _DIRECT.match(text):
            self.skip(place, f"{text}: a URL or path requirement, its version is not known")
            return None
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            reason = str(error).splitlines()[0]
            self.defect("requirement-malformed", f"{text!r} is no requirement: {reason}", file, line)
            return None
        if not self.installation.applies(requirement.marker, extra):
            return None
        if requirement.url:
            self.skip(place, f"{requirement.name}: taken from a URL, its version is not known")
            return None
        self._add(requirement.name, requirement.specifier, file, line, constraint=constraint, extras=tuple(sorted(requirement.extras)))
        return requirement

    def state(
        self, name: str, specifier: str, file: str, line: int | None, *, marker: str = "", extra: str = "", constraint: bool = False
    ) -> bool:
        """State a package whose name, range (PEP 440) and marker stand apart, as locks have them; False where it is not installed here."""
        try:
            wanted, condition = SpecifierSet(specifier), Marker(marker) if marker.strip() else None
        except (InvalidSpecifier, InvalidMarker) as error:
            told = f"{name} {specifier}{f' ; {marker}' if marker else ''}".strip()
            self.defect("requirement-malformed", f"{told!r} is no requirement: {str(error).splitlines()[0]}", file, line)
            return False
        if not self.installation.applies(condition, extra):
            return False
        self._add(name, wanted, file, line, constraint=constraint)
        return True

    def skip(self, what: str, why: str) -> None:
        self.skips.append(Skip(plain(what, 4096), plain(why)))

    def defect(self, rule: str, detail: str, file: str, line: int | None, packages: tuple[str, ...] = ()) -> None:
        self.defects.append(Defect(rule, plain(detail), file, line, packages))

    def say(self, fact: Fact) -> None:
        """State a fact that is no package; the first statement of a name stays."""
        if all(other.name != fact.name for other in self.facts):
            self.facts.append(fact)

    def collected(self) -> Collected:
        """All that was stated. A constraint alone requires nothing: it narrows what something else requires."""
        defects, packages = list(self.defects), []
        for name, rows in self._stated.items():
            joined, clash = _join(name, [*self._constraints.get(name, ()), *rows])
            packages.append(Fact(f"packages.{name}", parse_value(f"packages.{name}", joined or "*"), rows[-1].origin))
            if clash is not None:
                defects.append(clash)
        return Collected(
            (*self.facts, *packages), tuple(defects), tuple(self.skips), wanted=_lines(self._stated), constraints=_lines(self._constraints)
        )

    def _add(
        self, name: str, specifier: SpecifierSet, file: str, line: int | None, *, constraint: bool, extras: tuple[str, ...] = ()
    ) -> None:
        row = _Statement(str(specifier), Origin(file, file, line), extras)
        (self._constraints if constraint else self._stated).setdefault(canonical(name), []).append(row)


def _lines(table: Mapping[str, list[_Statement]]) -> tuple[str, ...]:
    rows = ((name, row) for name, several in table.items() for row in several)
    return tuple(name + (f"[{','.join(row.extras)}]" if row.extras else "") + row.specifier for name, row in rows)


def _join(name: str, rows: list[_Statement]) -> tuple[str, Defect | None]:
    """The range that all statements admit together, and the defect of the first that leaves no release."""
    known, joined, clash = release_texts(name), "", None
    before: _Statement | None = None
    for row in rows:
        narrowed = ",".join(dict.fromkeys(filter(None, (row.specifier, joined))))
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
    return joined, clash


def _place(before: _Statement, row: _Statement) -> str:
    line = "" if before.origin.line is None else f"line {before.origin.line}"
    return f"on {line}" if before.origin.file == row.origin.file and line else f"in {before.origin.file}{f', {line}' if line else ''}"
