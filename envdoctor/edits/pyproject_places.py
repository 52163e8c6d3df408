"""Every place of a ``pyproject.toml`` that states a package, in whoever's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import Requirement

from envdoctor.edits.constraints import name_of
from envdoctor.facts.names import canonical
from envdoctor.files.toml_spans import Path
from envdoctor.records import dataclass
from envdoctor.sources.declared.toml_document import table_of, text_of
from envdoctor.world.installation import Installation

Kind = Literal["requirement", "poetry", "version", "name", "direct"]
_REFUSALS = (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError)
_DIRECT = ("git", "hg", "svn", "bzr", "url", "path", "file", "workspace")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a package is stated: ``value`` is the path of the text, ``entry`` that of what goes when the package goes.

    ``kind`` says whose words they are: a requirement (PEP 508), a constraint of Poetry's, a version where a bare number is exact, the
    name alone, or an address. ``applies`` is None where the marker is none.
    """

    value: Path
    entry: Path
    kind: Kind
    text: str
    applies: bool | None = True
    build: bool = False


def places(table: Mapping[str, Any], package: str, installation: Installation) -> list[Place]:
    """The places of a package, by its normalised name, in the order of the standard tables, then of the tools'."""
    found = [place for path, extra in _lists(table) for place in _in_list(table, path, package, extra, installation)]
    for path in _poetry_tables(table):
        found += _in_poetry(table, path, package, installation)
    for path in (("tool", "pdm", "overrides"), ("tool", "pdm", "resolution", "overrides")):
        for name, value in table_of(_at(table, path)).items():
            if canonical(name) == package and isinstance(value, str):
                found.append(Place((*path, name), (*path, name), "direct" if "://" in value else "version", value))
    extras = ("tool", "poetry", "extras")
    for extra, names in table_of(_at(table, extras)).items():
        for place, name in enumerate(names if isinstance(names, list) else []):
            if isinstance(name, str) and name_of(name) == package:
                found.append(Place((*extras, extra, place), (*extras, extra, place), "name", name))
    return found


def _at(table: Any, path: Path) -> Any:
    for key in path:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _lists(table: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The lists of requirements, each with the extra or group that asks for it."""
    yield ("project", "dependencies"), ""
    for above in (("project", "optional-dependencies"), ("dependency-groups",), ("tool", "pdm", "dev-dependencies")):
        for name in table_of(_at(table, above)):
            yield (*above, name), name
    for key in ("dev-dependencies", "constraint-dependencies", "override-dependencies"):
        yield ("tool", "uv", key), ""
    for name in table_of(_at(table, ("tool", "hatch", "envs"))):
        for key in ("dependencies", "extra-dependencies"):
            yield ("tool", "hatch", "envs", name, key), ""
    yield ("tool", "flit", "metadata", "requires"), ""
    for name in table_of(_at(table, ("tool", "flit", "metadata", "requires-extra"))):
        yield ("tool", "flit", "metadata", "requires-extra", name), name
    yield ("build-system", "requires"), ""


def _in_list(table: Mapping[str, Any], path: Path, package: str, extra: str, installation: Installation) -> Iterator[Place]:
    rows = _at(table, path)
    for place, row in enumerate(rows if isinstance(rows, list) else []):
        if isinstance(row, str) and name_of(row) == package:
            where = (*path, place)
            yield Place(where, where, "requirement", row, _applies(row, extra, installation), path[0] == "build-system")


def _applies(row: str, extra: str, installation: Installation) -> bool | None:
    """Whether a requirement is installed here; None where its marker is none. One that is malformed is as its marker says."""
    marker: Marker | None
    try:
        marker = Requirement(row).marker
    except _REFUSALS:
        told = row.partition(";")[2].strip()
        try:
            marker = Marker(told) if told else None
        except _REFUSALS:
            return None
    try:
        return installation.applies(marker, extra)
    except _REFUSALS:
        return None


def _poetry_tables(table: Mapping[str, Any]) -> Iterator[Path]:
    yield ("tool", "poetry", "dependencies")
    yield ("tool", "poetry", "dev-dependencies")
    for name in table_of(_at(table, ("tool", "poetry", "group"))):
        yield ("tool", "poetry", "group", name, "dependencies")


def _in_poetry(table: Mapping[str, Any], path: Path, package: str, installation: Installation) -> Iterator[Place]:
    for name, value in table_of(_at(table, path)).items():
        if canonical(name) != package:
            continue
        several = isinstance(value, list)
        for place, row in enumerate(value if isinstance(value, list) else [value]):
            entry = (*path, name, place) if several else (*path, name)
            if isinstance(row, str):
                yield Place(entry, entry, "poetry", row)
            elif isinstance(row, dict):
                direct = any(row.get(key) for key in _DIRECT) or not isinstance(row.get("version"), str)
                kind: Kind = "direct" if direct else "poetry"
                yield Place((*entry, "version"), entry, kind, text_of(row.get("version")), _wanted_here(row, installation))


def _wanted_here(row: Mapping[str, Any], installation: Installation) -> bool | None:
    """Whether an entry of Poetry's is for this Python and platform; None where its conditions cannot be read."""
    from envdoctor.facts.poetry_ranges import admits

    here = installation.environment()
    marker, platform = text_of(row.get("markers")), text_of(row.get("platform"))
    names = [part.strip() for part in platform.split("|") if part.strip()]
    try:
        if not admits(text_of(row.get("python")), here["python_full_version"]):
            return False
        if marker and not installation.applies(Marker(marker)):
            return False
    except _REFUSALS:
        return None
    return not names or any((name.lstrip("!= ") == here["sys_platform"]) != name.startswith("!") for name in names)


__all__ = ["Kind", "Place", "places"]
