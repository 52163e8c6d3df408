"""What a script says of the run, kept while it, the files that it names and what reads it stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import adler32, crc32

from envdoctor.facts.fact import Collected, Defect, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.versions import Exact, Ranged, exact
from envdoctor.files.kept import EACH, Seen, keep, made, recall
from envdoctor.files.user_cache import cache_directory

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_ROOMS = ("facts", "files", "syntax", "world")
_SOURCES = ("declared", "installers", "launches", "model", "plans", "scripts", "shell", "stated")
_READING = tuple(os.path.join(_HERE, *room) for room in (*((room,) for room in _ROOMS), *(("sources", room) for room in _SOURCES)))
_READ: ContextVar[Callable[[Path], Collected | None] | None] = ContextVar("read", default=None)
_WORDS: Mapping[str, Any] = {"exact": exact, "ranged": Ranged, "not understood": NotUnderstood}


def collect_script(path: Path, installation: Installation | None = None, given: Mapping[str, str] | None = None) -> Collected:
    """What ``envdoctor.sources.scripts.script`` collects, read once; ``given`` are the settings that a command fills.

    Raises:
        EnvdoctorError: unreadable, no UTF-8, or a notebook that is no JSON, with line and column.
    """
    ready = _READ.get()
    told = None if ready is None or given else ready(path)
    if told is not None:
        return told
    seen = Seen()
    seen.content(str(path))
    of = "\0".join((_made(), "script", str(path), repr(installation), *([repr(sorted(given.items()))] if given else ())))
    before = recall(cache_directory(), of, EACH)
    if before is not None:
        try:
            return told_by(before)
        except (ValueError, LookupError, TypeError, AttributeError):
            pass
    from envdoctor.sources.scripts.script import read_script

    found, looked_for = read_script(path, installation, given)
    rows = rows_of(found)
    if rows is not None:
        for file in looked_for:
            seen.content(file)
        keep(cache_directory(), of, rows, seen, EACH)
    return found


@contextmanager
def read_before(ready: Callable[[Path], Collected | None]) -> Iterator[None]:
    """Ask ``ready`` for what a script says before it is read in here."""
    before = _READ.set(ready)
    try:
        yield
    finally:
        _READ.reset(before)


@lru_cache(maxsize=1)
def _made() -> str:
    """The code that reads scripts, as it is while this process runs."""
    told = made(_READING).encode()
    return f"{len(told)} {crc32(told):08x}{adler32(told):08x}"


def rows_of(found: Collected) -> dict[str, object] | None:
    """What a script says, as it is kept; None where it says what no script says today."""
    if found != Collected(found.facts, found.defects, found.skips, wanted=found.wanted):
        return None
    return {
        "wanted": list(found.wanted),
        "facts": [[one.name, _told(one.value), _place(one.origin), [_place(place) for place in one.places]] for one in found.facts],
        "defects": [[one.rule, one.detail, one.file, one.line, list(one.packages)] for one in found.defects],
        "skips": [[one.what, one.why, one.lost] for one in found.skips],
    }


def _told(value: FactValue) -> object:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bool | int | float | str):
        return value
    return {_word(value): value.text} if isinstance(value, Exact | Ranged | NotUnderstood) else {"absent": ""}


def _word(value: Exact | Ranged | NotUnderstood) -> str:
    return "exact" if isinstance(value, Exact) else "ranged" if isinstance(value, Ranged) else "not understood"


def _place(origin: Origin) -> list[object]:
    return [origin.source, origin.file, origin.line]


def told_by(kept: Mapping[str, Any]) -> Collected:
    """What a script says, of its rows.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: they are none.
    """
    return Collected(
        tuple(Fact(name, _value(value), _origin(place), tuple(map(_origin, places))) for name, value, place, places in kept["facts"]),
        tuple(Defect(rule, detail, file, line, tuple(packages)) for rule, detail, file, line, packages in kept["defects"]),
        tuple(Skip(what, why, lost) for what, why, lost in kept["skips"]),
        wanted=tuple(map(str, kept["wanted"])),
    )


def _value(told: Any) -> FactValue:
    if isinstance(told, list):
        return tuple(map(str, told))
    if isinstance(told, dict):
        ((word, text),) = told.items()
        value: FactValue = _WORDS[word](text)
        return value
    if not isinstance(told, bool | int | float | str):
        raise TypeError("no value")
    return told


def _origin(row: Sequence[Any]) -> Origin:
    source, file, line = row
    return Origin(source, file, line)
