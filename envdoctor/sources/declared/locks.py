"""What all locks have in common: packages with one version each, chosen by markers, extras and groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from packaging.markers import Marker

from envdoctor.facts.fact import Collected, Fact, Origin, Skip
from envdoctor.facts.names import canonical
from envdoctor.facts.values import parse_value
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.toml_document import TomlDocument, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from envdoctor.world.releases import tracked

# A part of a marker that is known to hold, or not to: there is no literal for it.
HOLDS, FAILS = 'python_version >= "0"', 'python_version < "0"'
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MOST_PACKAGES = 20_000
_MOST_VARIANTS = 300
_MOST_STATED = 50_000


@dataclass(frozen=True, slots=True)
class Locked:
    """One package of a lock; ``version`` is empty where the lock states none."""

    name: str
    version: str
    line: int | None
    entry: Mapping[str, object]


@dataclass(slots=True)
class Choice:
    """What one choice of extras and groups installs; not ``complete`` where that could not be told for a package."""

    label: str
    packages: list[Locked]
    complete: bool = True
    skips: list[tuple[str, str]] = field(default_factory=list)


class LockReading:
    """One lock being read for one installation."""

    def __init__(self, document: TomlDocument, installation: Installation) -> None:
        self.document = document
        self.installation = installation
        self.preamble = Declarations(installation)
        self._locked = 0
        self._held: dict[tuple[str, str], bool | None] = {}

    def python(self, specifier: str, *keys: str | int) -> None:
        """State the Pythons that the lock is for."""
        if specifier:
            say_python(self.preamble, specifier, self.document.file, self.document.line_beside_packages(*keys))

    def packages(self, key: str) -> list[Locked]:
        """The entries of the lock; what is no package is said."""
        entries = self.document.table.get(key, [])
        if not isinstance(entries, list):
            self.preamble.skip(self.document.place(key), f"{key} is {kind_of(entries)}, not a list of packages", lost=True)
            return []
        if len(entries) > _MOST_PACKAGES:
            self.preamble.skip(self.document.file, f"{len(entries)} packages, of which {_MOST_PACKAGES} are read")
        found = []
        for place, (entry, line) in enumerate(zip(entries[:_MOST_PACKAGES], self.document.entry_lines(key), strict=False)):
            name = text_of(entry.get("name")) if isinstance(entry, dict) else ""
            if not _NAME.fullmatch(name):
                self.preamble.skip(self.document.place(key, place, "name"), "no package: it has no name that a package can have")
                continue
            self._locked += 1
            found.append(Locked(canonical(name), text_of(entry.get("version")), line, entry))
        return found

    def holds(self, marker: str, line: int | None, extra: str = "") -> bool:
        """Whether a marker holds for the installation; one that cannot be read is a defect, and does not hold."""
        if not marker.strip():
            return True
        known = (marker, extra)
        if known not in self._held:
            self._held[known] = self._evaluated(marker, line, extra)
        return self._held[known] is True

    def _evaluated(self, marker: str, line: int | None, extra: str) -> bool | None:
        try:
            return self.installation.applies(Marker(marker), extra)
        except (ValueError, RecursionError) as error:
            reason = str(error).splitlines()[0]
            self.preamble.defect("requirement-malformed", f"{plain(marker)!r} is no marker: {reason}", self.document.file, line)
            return None

    def variants(self, choices: Iterable[Choice]) -> tuple[Variant, ...]:
        """Each choice as a variant; one that installs what the first does is left out."""
        if not self._locked and not self.preamble.skips and not self.preamble.defects:
            self.preamble.skip(self.document.file, "it locks no package")
        found: list[Variant] = []
        base: set[tuple[str, str]] | None = None
        stated = 0
        for choice in choices:
            stated += len(choice.packages)
            if len(found) >= _MOST_VARIANTS or (found and stated > _MOST_STATED):
                more = Skip(self.document.file, f"it has more extras and groups than the {len(found)} choices that are read")
                found[0] = replace(found[0], collected=replace(found[0].collected, skips=(*found[0].collected.skips, more)))
                break
            _one_each(choice, self.document.file)
            content = {(package.name, package.version) for package in choice.packages}
            if content != base:
                found.append(Variant(choice.label, self._collected(choice)))
            base = content if base is None else base
        return tuple(found)

    def _collected(self, choice: Choice) -> Collected:
        stated = self.preamble.copy()
        for what, why in choice.skips:
            stated.skip(what, why)
        for package in choice.packages:
            if package.version:
                stated.state(package.name, f"=={package.version}", self.document.file, package.line)
            else:
                place = self.document.file if package.line is None else f"{self.document.file}:{package.line}"
                stated.skip(place, f"{package.name}: its version is not stated")
        unknown = any(not package.version and package.name in tracked() for package in choice.packages)
        return replace(stated.collected(), closed=choice.complete and bool(choice.packages) and not unknown and not self.preamble.defects)


def _one_each(choice: Choice, file: str) -> None:
    """Of a package with several versions none is stated: nothing told which of them is installed."""
    versions: dict[str, dict[str, Locked]] = {}
    for package in choice.packages:
        versions.setdefault(package.name, {}).setdefault(package.version, package)
    choice.packages = [next(iter(rows.values())) for rows in versions.values() if len(rows) == 1]
    for name, rows in versions.items():
        if len(rows) > 1:
            told = " and ".join(f"{version or 'no version'} (line {package.line})" for version, package in rows.items())
            choice.skips.append((f"{file}: {name}", f"locked as {told}, and the lock does not tell which of them is installed here"))
            choice.complete = False


def say_python(stated: Declarations, specifier: str, file: str, line: int | None) -> None:
    """The Pythons that a project admits, as the fact ``python``; what is no range is a defect."""
    from packaging.specifiers import SpecifierSet

    try:
        SpecifierSet(specifier)
    except ValueError:  # no specifier, or a number without end in one
        stated.defect("requirement-malformed", f"{specifier!r} is no range of Pythons", file, line)
        return
    if specifier.strip():
        stated.say(Fact("python", parse_value("python", specifier), Origin(file, file, line)))


def kind_of(value: object) -> str:
    """What a TOML value is, in words."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
