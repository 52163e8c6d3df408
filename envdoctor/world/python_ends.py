"""With which Python the import of a release ends, as its source says and its metadata does not."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import dataclass

_TABLE = Path(__file__).parent.parent / "data" / "python_ends.json"


@dataclass(frozen=True, slots=True)
class PythonEnd:
    """The second number of the first Python with which an import ends, the file that ends it, and why."""

    minor: int
    path: str
    why: str


def python_end(name: str, release: str) -> PythonEnd | None:
    """Where the import of a release ends; None where it does not, or where nothing is known of it."""
    rows = _packages().get(name)
    if rows is None:
        return None
    try:
        version = exact(release)
    except ValueError:  # no PEP 440 version
        return None
    found = (row for row in rows if version_condition(f">={row[3]},<={row[4]}").admits(version))
    return next((PythonEnd(minor, path, why) for minor, path, why, _, _ in found), None)


def packages_with_an_end() -> frozenset[str]:
    """The packages of the table."""
    return frozenset(_packages())


@lru_cache(maxsize=1)
def _packages() -> dict[str, list[tuple[int, str, str, str, str]]]:
    packages: dict[str, list[tuple[int, str, str, str, str]]] = json.loads(_TABLE.read_bytes())["packages"]
    return packages
