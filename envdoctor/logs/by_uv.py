"""What uv says around a build that failed: the Python that it builds for, the releases that it chose, and who asked for what was built.

Its words are those of uv 0.5 to 0.11: "Using Python 3.12.1 environment at", "`pathtools` (v0.1.2) was included because `wandb` (v0.15.12)
depends on `pathtools`".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.facts.names import canonical

_RUNS = re.compile(r"^\s*Using (?:CPython|Python) (3\.\d{1,2}(?:\.\d{1,2})?)\b")
_BUILT_FOR = re.compile(r"[\\/]builds-v0[\\/]\.tmp\w{1,12}[\\/]lib[\\/]python(3\.\d{1,2})[\\/]")
_BECAUSE = "was included because"
_CHOSEN = re.compile(r"`([A-Za-z][\w.-]{0,60})(?:\[[\w,.-]{1,80}\])?` \(v(\d[\w.+!-]{0,40})\)")
_ASKER = re.compile(r"`([A-Za-z][\w.-]{0,60})(?:\[[\w,.-]{1,80}\])?` \(v(\d[\w.+!-]{0,40})\)\s(?:which )?depends on `[\w.-]{1,60}`\s*$")


def read_python(lines: Sequence[tuple[int, str]]) -> tuple[str, int] | None:
    """The Python that uv installs for, and the line that says so."""
    for pattern in (_RUNS, _BUILT_FOR):
        for number, line in lines:
            if (found := pattern.search(line)) is not None:
                return found[1], number
    return None


def read_chosen(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str, int]]:
    """The releases that uv chose on the way to what it built: names, versions and lines."""
    for number, line in lines:
        if _BECAUSE in line:
            yield from ((canonical(found[1]), found[2], number) for found in _CHOSEN.finditer(line))


def read_asker(lines: Sequence[tuple[int, str]]) -> tuple[str, str] | None:
    """The package, and its release, that asks for what was built."""
    found = next((found for _, line in lines if _BECAUSE in line and (found := _ASKER.search(line)) is not None), None)
    return None if found is None else (canonical(found[1]), found[2])
