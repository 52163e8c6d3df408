"""Facts from a ``poetry.lock``: what ``poetry install`` takes, and with each extra and group.

A lock of Poetry 2 tells the groups and the marker of every package. One of Poetry 1 tells neither (the oldest tell ``dev``): there
the ``pyproject.toml`` beside it tells what the project asks for, and the lock what that needs. Without one a package is left out where
everything that needs it needs it under a marker that does not hold here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.facts.poetry_ranges import admits, alternatives, hull, one_specifier
from envdoctor.files.paths import is_file
from envdoctor.records import dataclass
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.locks import HOLDS, Choice, Locked, LockReading
from envdoctor.sources.declared.project_extras import Stated
from envdoctor.sources.declared.pyproject_poetry import read_poetry
from envdoctor.sources.declared.pyproject_sections import Sections
from envdoctor.sources.declared.toml_document import LOCK_LIMIT, TomlDocument, read_document, strings_of, table_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from envdoctor.world.releases import tracked

_MAIN = "main"
_EXTRA = re.compile(r"""extra\s*==\s*(['"])[^'"]*\1""")


def collect_poetry_lock(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What the lock installs by default, and with each extra and group.

    Raises:
        EnvdoctorError: the file cannot be read, or is no TOML.
    """
    document = read_document(path, LOCK_LIMIT)
    pythons = _python_range(document)
    reading = LockReading(document, installation.admitted_by(pythons))
    reading.python(pythons, "metadata", "python-versions")
    packages = [package for package in reading.packages("package") if _python_admitted(package, reading.installation)]
    if any("groups" in package.entry for package in packages):
        return reading.variants(_by_groups(packages, reading))
    project = _project(document, reading)
    return reading.variants(_by_edges(packages, reading) if project is None else _by_project(packages, reading, project))


def _python_range(document: TomlDocument) -> str:
    told = text_of(table_of(document.table.get("metadata")).get("python-versions"))
    try:
        choices = alternatives(told)
    except ValueError:
        return told
    return one_specifier(choices) or hull(choices)


def _python_admitted(package: Locked, installation: Installation) -> bool:
    try:
        return admits(text_of(package.entry.get("python-versions")), str(installation.environment()["python_full_version"]))
    except ValueError:
        return True


def _by_groups(packages: list[Locked], reading: LockReading) -> Iterator[Choice]:
    """The choices of a lock in which every package names its groups."""

    def there(group: str, extra: str = "", optional: Iterable[str] = ()) -> list[Locked]:
        return [
            package
            for package in packages
            if group in strings_of(package.entry.get("groups"))
            and (package.entry.get("optional") is not True or package.name in optional)
            and reading.holds(_marker(package, group), package.line, extra)
        ]

    base = there(_MAIN)
    yield Choice("", base)
    graph = _Edges(packages, reading)
    for extra, names in _extras(reading.document):
        yield Choice(f"extra {extra}", there(_MAIN, extra, graph.needed_by(names)))
    for group in dict.fromkeys(group for package in packages for group in strings_of(package.entry.get("groups"))):
        if group != _MAIN:
            yield Choice(f"group {group}", _together(base, there(group)))


def _marker(package: Locked, group: str) -> str:
    """The marker of a package: one for all its groups, or one for each."""
    markers = package.entry.get("markers")
    return text_of(table_of(markers).get(group)) if isinstance(markers, dict) else text_of(markers)


def _project(document: TomlDocument, reading: LockReading) -> Sections | None:
    """What the project that a lock belongs to asks Poetry for; None, and said, where that is not beside it."""
    path = document.path.with_name("pyproject.toml")
    told = "not beside it"
    if is_file(path):
        try:
            sections = Sections(read_document(path), Declarations(reading.installation))
        except EnvdoctorError as error:
            told = f"not to be read ({error.found})"
        else:
            read_poetry(sections)
            if sections.base or sections.groups:
                return sections
            told = "without dependencies of Poetry's"
    if document.table.get("package"):
        why = f"the lock does not tell which group needs a package, and pyproject.toml is {told}: all are taken together"
        reading.preamble.skip(document.file, why)
    return None


def _by_project(packages: list[Locked], reading: LockReading, project: Sections) -> Iterator[Choice]:
    """The choices of a lock whose project tells what it asks for."""
    graph = _Edges(packages, reading)
    yield Choice("", graph.asked_by(project.base))
    for kind, sections in (("extra", project.extras), ("group", project.groups)):
        for name, rows in sections.items():
            yield Choice(f"{kind} {name}", graph.asked_by([*project.base, *rows]))


def _by_edges(packages: list[Locked], reading: LockReading) -> Iterator[Choice]:
    """The choices of a lock in which only the dependencies have markers."""
    graph = _Edges(packages, reading)

    def choice(label: str, chosen: list[Locked]) -> Choice:
        kept = graph.installed(chosen)
        left = {package.name for package in chosen} - {package.name for package in kept}
        unsure = sorted(left & tracked())
        skips = [(f"{reading.document.file}: {name}", "what needs it does not need it here; the lock tells no more") for name in unsure]
        return Choice(label, kept, not unsure, skips)

    needed = [package for package in packages if package.entry.get("optional") is not True]
    main = [package for package in needed if package.entry.get("category", _MAIN) == _MAIN]
    yield choice("", main)
    for extra, names in _extras(reading.document):
        wanted = graph.needed_by(names)
        yield choice(f"extra {extra}", _together(main, [package for package in packages if package.name in wanted]))
    for category in dict.fromkeys(text_of(package.entry.get("category")) for package in needed):
        if category not in ("", _MAIN):
            yield choice(f"group {category}", needed)


def _together(base: list[Locked], others: list[Locked]) -> list[Locked]:
    known = {id(package) for package in base}
    return [*base, *(package for package in others if id(package) not in known)]


def _extras(document: TomlDocument) -> list[tuple[str, set[str]]]:
    """The project's extras, each with the packages that it names."""
    found = []
    for extra, entries in table_of(document.table.get("extras")).items():
        names = (re.match(r"[A-Za-z0-9._-]+", entry) for entry in strings_of(entries))
        found.append((extra, {canonical(name[0]) for name in names if name}))
    return found


@dataclass(frozen=True, slots=True)
class _Edge:
    target: int
    holds: bool


class _Edges:
    """Who needs whom, by the place of a package in the list."""

    def __init__(self, packages: list[Locked], reading: LockReading) -> None:
        self._packages = packages
        self._reading = reading
        self._named: dict[str, list[int]] = {}
        for place, package in enumerate(packages):
            self._named.setdefault(package.name, []).append(place)
        self._from = [self._edges(package) for package in packages]

    def needed_by(self, names: Iterable[str]) -> set[str]:
        """The named packages and all that they need here."""
        return {self._packages[place].name for place in self._reached(place for name in names for place in self._named.get(name, ()))}

    def asked_by(self, rows: Iterable[Stated]) -> list[Locked]:
        """What some requirements of the project ask for and all that it needs here, in the order of the lock."""
        starts: list[int] = []
        others: set[int] = set()
        for row in rows:
            try:
                requirement = Requirement(row.text)
            except (ValueError, RecursionError):
                continue  # told of the project itself
            if not self._reading.holds(str(requirement.marker or ""), row.line):
                continue
            named = self._named.get(canonical(requirement.name), [])
            fitting = [place for place in named if _contains(requirement, self._packages[place].version)]
            fitting = fitting if fitting or len(named) > 1 else named
            starts += fitting
            # Of several locked versions the project takes the one that it asks for itself.
            others.update(place for place in named if place not in fitting)
            if not named:
                self._reading.preamble.skip(self._reading.document.file, f"{requirement.name}: the project asks for it, it is not locked")
        return [self._packages[place] for place in sorted(self._reached(starts, others - set(starts)))]

    def _reached(self, starts: Iterable[int], barred: Collection[int] = ()) -> set[int]:
        reached: set[int] = set()
        pending = list(starts)
        while pending:
            place = pending.pop()
            if place not in reached:
                reached.add(place)
                pending += [edge.target for edge in self._from[place] if edge.holds and edge.target not in barred]
        return reached

    def installed(self, chosen: list[Locked]) -> list[Locked]:
        """Of some packages those that something needs here, or that nothing in the lock needs: the project itself does."""
        wanted = {id(package) for package in chosen}
        there = {place for place, package in enumerate(self._packages) if id(package) in wanted}
        live = dict.fromkeys(there, 0)
        asked = dict.fromkeys(there, False)
        for place in there:
            for edge in self._from[place]:
                if edge.target in there:
                    asked[edge.target] = True
                    live[edge.target] += edge.holds
        pending = [place for place in there if asked[place] and not live[place]]
        gone = set(pending)
        while pending:
            for edge in self._from[pending.pop()]:
                if edge.target in there and edge.holds:
                    live[edge.target] -= 1
                    if not live[edge.target] and edge.target not in gone:
                        gone.add(edge.target)
                        pending.append(edge.target)
        return [package for place, package in enumerate(self._packages) if place in there - gone]

    def _edges(self, package: Locked) -> list[_Edge]:
        found = []
        for name, entry in table_of(package.entry.get("dependencies")).items():
            targets = self._named.get(canonical(name), ())
            for row in entry if isinstance(entry, list) else [entry]:
                wanted, marker = (row, "") if isinstance(row, str) else (table_of(row).get("version"), table_of(row).get("markers"))
                # What an extra of the package needs is locked only where something asks for that extra.
                holds = self._reading.holds(_EXTRA.sub(HOLDS, text_of(marker)), package.line)
                found += [_Edge(target, holds) for target in targets if self._admitted(text_of(wanted), target, alone=len(targets) == 1)]
        return found

    def _admitted(self, constraint: str, target: int, *, alone: bool) -> bool:
        try:
            return alone or admits(constraint, self._packages[target].version)
        except ValueError:
            return True


def _contains(requirement: Requirement, version: str) -> bool:
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False
