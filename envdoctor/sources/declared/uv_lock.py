"""Facts from a ``uv.lock``: what uv installs here, for the project itself and for each of its extras and groups.

The lock is a graph whose edges have markers. What is installed is what is reached from the project; extras and groups that were
declared to be in conflict appear in the markers under names of uv's own (``extra-7-project-cpu``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.facts.names import canonical
from envdoctor.records import dataclass
from envdoctor.sources.declared.locks import FAILS, HOLDS, Choice, Locked, LockReading
from envdoctor.sources.declared.toml_document import LOCK_LIMIT, read_document, strings_of, table_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_KNOWN_VERSION = 1
_CONFLICT = re.compile(r"""extra\s*(==|!=)\s*(['"])((?:extra|group|project)-[0-9]+-[^'"]*)\2""")
_HERE = ("virtual", "editable", "directory")
_MOST_ROUNDS = 10
_NOTHING: frozenset[str] = frozenset()


def collect_uv_lock(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What the lock installs: the project alone, and with each extra and group.

    Raises:
        EnvdoctorError: the file cannot be read, or is no TOML.
    """
    document = read_document(path, LOCK_LIMIT)
    requires = text_of(document.table.get("requires-python"))
    reading = LockReading(document, installation.admitted_by(requires))
    reading.python(requires, "requires-python")
    version = document.table.get("version")
    if version != _KNOWN_VERSION:
        reading.preamble.skip(document.place("version"), f"written for version {version} of the format; it is read as {_KNOWN_VERSION}")
    return reading.variants(_Graph(reading).choices())


@dataclass(frozen=True, slots=True)
class _Edge:
    """One entry of a list of dependencies."""

    name: str
    version: str
    source: Mapping[str, object]
    extras: tuple[str, ...]
    marker: str


class _Graph:
    def __init__(self, reading: LockReading) -> None:
        self._reading = reading
        self._packages = reading.packages("package")
        self._named: dict[str, list[Locked]] = {}
        for package in self._packages:
            self._named.setdefault(package.name, []).append(package)

    def choices(self) -> Iterator[Choice]:
        """What is installed always, then with each extra, group and member of the workspace; made one by one."""
        manifest = table_of(self._reading.document.table.get("manifest"))
        roots = self._roots(manifest)
        own = _edges(manifest.get("requirements"))  # of a script, which has no project
        if not roots and not own:
            yield self._everything()
            return
        yield Choice("", self._reached(roots, own))
        for root in roots:
            for kind, key in (("extra", "optional-dependencies"), ("group", "dev-dependencies")):
                for name, entries in table_of(root.entry.get(key)).items():
                    flag = _flag(kind, root.name, name)
                    yield Choice(f"{kind} {name}", self._reached(roots, [*own, *_edges(entries)], frozenset({flag})))
        for name, entries in table_of(manifest.get("dependency-groups")).items():
            yield Choice(f"group {name}", self._reached(roots, [*own, *_edges(entries)]))
        members = {canonical(name) for name in strings_of(manifest.get("members"))} - {root.name for root in roots}
        for member in (package for package in self._packages if package.name in members):
            yield Choice(f"member {member.name}", self._reached([*roots, member], own))

    def _roots(self, manifest: Mapping[str, object]) -> list[Locked]:
        """The project at the lock's own place; where there is none, all members of the workspace."""
        here = [package for package in self._packages if _is_at(package, ".")]
        if here:
            return here
        members = {canonical(name) for name in strings_of(manifest.get("members"))}
        return [package for package in self._packages if package.name in members]

    def _everything(self) -> Choice:
        document = self._reading.document
        if self._packages:
            self._reading.preamble.skip(document.file, "it names no project that its packages are locked for: all of them are read")
        return Choice("", [package for package in self._packages if self._applies(package, _NOTHING)], complete=False)

    def _reached(self, roots: list[Locked], own: list[_Edge], flags: frozenset[str] = _NOTHING) -> list[Locked]:
        """The packages that are installed for some projects and requirements; ``flags`` are the extras and groups that are asked for."""
        own_names = {root.name for root in roots}
        for _ in range(_MOST_ROUNDS):
            walked = self._walked(roots, own, flags)
            # An extra of the project's own that another one asks for is asked for as well, and decides markers.
            more = flags | {_flag("extra", package.name, extra) for package, extra in walked if extra and package.name in own_names}
            if more == flags:
                break
            flags = more
        installed = {id(package): package for package, _ in walked if "virtual" not in table_of(package.entry.get("source"))}
        return sorted(installed.values(), key=lambda package: package.line or 0)

    def _walked(self, roots: list[Locked], own: list[_Edge], flags: frozenset[str]) -> list[tuple[Locked, str]]:
        """Every package that is reached, once by itself and once for each of its extras that is asked for."""
        walked: dict[tuple[int, str], tuple[Locked, str]] = {}
        pending = [(root, "") for root in roots]
        pending += [target for edge in own for target in self._targets(edge, flags)]
        while pending:
            package, extra = pending.pop()
            if (id(package), extra) in walked:
                continue
            walked[id(package), extra] = (package, extra)
            optional = table_of(package.entry.get("optional-dependencies"))
            for edge in _edges(optional.get(extra) if extra else package.entry.get("dependencies")):
                pending += self._targets(edge, flags)
        return list(walked.values())

    def _targets(self, edge: _Edge, flags: frozenset[str]) -> list[tuple[Locked, str]]:
        if not self._holds(edge.marker, None, flags):
            return []
        meant = [
            package
            for package in self._named.get(edge.name, ())
            if edge.version in ("", package.version) and (not edge.source or edge.source == package.entry.get("source"))
        ]
        if len(meant) > 1:
            meant = [package for package in meant if self._applies(package, flags)]
        return [(package, extra) for package in meant for extra in ("", *edge.extras)]

    def _applies(self, package: Locked, flags: frozenset[str]) -> bool:
        forks = strings_of(package.entry.get("resolution-markers"))
        return not forks or any(self._holds(fork, package.line, flags) for fork in forks)

    def _holds(self, marker: str, line: int | None, flags: frozenset[str]) -> bool:
        if "extra" in marker:
            marker = _CONFLICT.sub(lambda match: HOLDS if (match[3] in flags) == (match[1] == "==") else FAILS, marker)
        return self._reading.holds(marker, line)


def _is_at(package: Locked, place: str) -> bool:
    source = table_of(package.entry.get("source"))
    return any(source.get(key) == place for key in _HERE)


def _flag(kind: str, project: str, name: str) -> str:
    """The name under which uv asks in markers for an extra or group that is in conflict with another."""
    return f"{kind}-{len(project)}-{project}-{name}"


def _edges(entries: object) -> list[_Edge]:
    found = []
    for entry in entries if isinstance(entries, list) else []:
        name = text_of(table_of(entry).get("name"))
        if name:
            extras = (*strings_of(entry.get("extra")), *strings_of(entry.get("extras")))
            version, marker = text_of(entry.get("version")), text_of(entry.get("marker"))
            found.append(_Edge(canonical(name), version, table_of(entry.get("source")), extras, marker))
    return found
