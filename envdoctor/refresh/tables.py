"""The two tables as values, and as the text of their files: one release a line, so that a refresh reads well as a diff.

releases.json has of each package its releases, oldest first (version, day of the first upload, place of what it says of Python in the
package's list, and marks), the names of its pre-releases, and why releases were yanked. dependencies.json has of each package its
different requirements, in the order in which they came up, and rows of places in them with the releases that require just these. Those
of an extra have it in front, ``[torch] accelerate>=0.26.0``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.records import dataclass, field
from envdoctor.world.tables import SCHEMA, Table


@dataclass(frozen=True, slots=True)
class Listed:
    """One release; ``marks`` are ``yanked`` where every file is, and ``no-wheel`` where there are only source archives.

    ``reason`` is why it was yanked, in its maintainers' words; empty where they gave none.
    """

    version: str
    day: str | None
    python: str | None
    marks: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """What an index has of a package: final and post-releases, oldest version first, and the versions of pre-releases.

    ``pre`` is None where nobody has looked for those.
    """

    releases: tuple[Listed, ...]
    pre: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """Both tables. ``requires`` has of each release whose metadata was read what it requires; ``core`` names the tracked packages."""

    as_of: str | None = None
    core: tuple[str, ...] = ()
    packages: Mapping[str, Package] = field(default_factory=dict)
    requires: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


def releases_text(as_of: str, core: Sequence[str], packages: Mapping[str, Package]) -> str:
    """The text of releases.json."""
    blocks = []
    for name in sorted(packages):
        package = packages[name]
        pythons = list(dict.fromkeys(one.python for one in package.releases if one.python is not None))
        rows = [
            " ".join((one.version, one.day or "-", "-" if one.python is None else str(pythons.index(one.python)), *one.marks))
            for one in package.releases
        ]
        pre = "" if package.pre is None else f'"pre": {json.dumps(" ".join(package.pre))}, '
        reasons = {one.version: one.reason for one in package.releases if one.reason}
        yanked = f'"yanked": {json.dumps(reasons, ensure_ascii=False)}, ' if reasons else ""
        blocks.append(f'  {json.dumps(name)}: {{"python": {json.dumps(pythons)}, {pre}{yanked}"releases": {_column(rows)}}}')
    return _file(as_of, f' "core": {json.dumps(sorted(core))},\n', blocks)


def dependencies_text(as_of: str, listed: str, requires: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The text of dependencies.json; ``listed`` is the day of the list of releases that it was made from, which come oldest first."""
    blocks = []
    for name in sorted(requires):
        places: dict[str, int] = {}
        rows: dict[tuple[int, ...], list[str]] = {}
        for version, lines in requires[name].items():
            rows.setdefault(tuple(sorted(places.setdefault(line, len(places)) for line in lines)), []).append(version)
        texts = [f"{_runs(row)}: {' '.join(versions)}" for row, versions in rows.items()]
        blocks.append(f'  {json.dumps(name)}: {{"requires": {_column(list(places))}, "rows": {_column(texts)}}}')
    return _file(as_of, f' "releases_as_of": {json.dumps(listed)},\n', blocks)


def _file(as_of: str, more: str, blocks: Sequence[str]) -> str:
    head = f' "schema": {SCHEMA},\n "as_of": {json.dumps(as_of)},\n{more} "packages": {{\n'
    return "{\n" + head + ",\n".join(blocks) + "\n }\n}\n"


def _column(texts: Sequence[str]) -> str:
    return "[\n   " + ",\n   ".join(map(json.dumps, texts)) + "]" if texts else "[]"


def _runs(places: Sequence[int]) -> str:
    """``0-2 5`` for 0, 1, 2, 5."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def packages_of(table: Table) -> dict[str, Package]:
    """The packages of releases.json."""
    found = {}
    for name, entry in table.packages.items():
        pythons = _texts(entry, "python")
        reasons = entry.get("yanked")
        reasons = reasons if isinstance(reasons, dict) else {}
        releases = []
        for row in _texts(entry, "releases"):
            version, day, python, *marks = row.split(" ")
            said = None if python == "-" else pythons[int(python)]
            releases.append(Listed(version, None if day == "-" else day, said, tuple(marks), str(reasons.get(version, ""))))
        pre = entry.get("pre")
        found[name] = Package(tuple(releases), tuple(pre.split()) if isinstance(pre, str) else None)
    return found


def requires_of(table: Table) -> dict[str, dict[str, list[str]]]:
    """The releases of dependencies.json."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, entry in table.packages.items():
        texts = _texts(entry, "requires")
        found[name] = {}
        for row in _texts(entry, "rows"):
            places, _, versions = row.partition(":")
            lines = [texts[place] for place in _places(places)]
            found[name].update((version, lines) for version in versions.split())
    return found


def _places(runs: str) -> Iterator[int]:
    for run in runs.split():
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _texts(entry: Mapping[str, object], key: str) -> list[str]:
    value = entry.get(key)
    return [str(text) for text in value] if isinstance(value, list) else []
