"""What a costly check found, kept between runs: it says the same until what it looked at, or the code that looks, is another.

A snapshot's code against its library costs as much as all other checks together; so does a stack of a hundred packages against the atlas.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Skip
from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own

_FORMAT = 3
_LIMIT = 4 * 2**20
_MOST = 64

# Of every file that was read: size in bytes and modification time in ns.
Files = Mapping[str, tuple[int, int]]


def key(parts: Iterable[str], made_by: Iterable[str]) -> str:
    """All that the outcome depends on, but the files that are looked at when it is recalled.

    ``made_by`` are the files, and the folders of Python, that decide: what another envdoctor found is not believed.
    """
    return "\0".join((repr((_FORMAT, [_stamp(place) for place in made_by])), *parts))


def recall(directory: Path, of: str) -> tuple[tuple[Hit, ...], tuple[Skip, ...]] | None:
    """What was found before; None where nothing is kept, it is damaged, or a file that was read is another."""
    try:
        kept = json.loads(read_own(_place(directory, of), _LIMIT))
        if kept["of"] != of or not all(_state(file) == tuple(state) for file, state in kept["files"].items()):
            return None
        return tuple(_hit(row) for row in kept["hits"]), tuple(Skip(str(what), str(why)) for what, why in kept["skips"])
    except (UnreadableError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None


def keep(directory: Path, of: str, hits: Sequence[Hit], skips: Sequence[Skip], files: Files) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    found = {"hits": [_row(hit) for hit in hits], "skips": [[skip.what, skip.why] for skip in skips]}
    text = json.dumps({"of": of, "files": files, **found})
    place = _place(directory, of)
    part = place.with_suffix(f".{os.getpid()}.part")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(place)
        kept = sorted(directory.glob("verdict-*"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-_MOST]:
            old.unlink(missing_ok=True)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _place(directory: Path, of: str) -> Path:
    # Two that share a number take turns: what is kept says of what it is.
    return directory / f"verdict-{crc32(of.encode('utf-8', 'surrogateescape')):08x}.json"


def _stamp(place: str) -> object:
    """Changes with a file, and with every Python file of a folder."""
    if not os.path.isdir(place):
        return _state(place)
    return sorted((entry.name, *(_state(entry.path) or ())) for entry in os.scandir(place) if entry.name.endswith(".py"))


def _state(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


_TEXT = ("rule", "detail", "edge", "headline", "witness")
_TEXTS = ("missing", "packages", "unless", "names")
_PAIRS = ("because", "pins")


def _row(hit: Hit) -> dict[str, object]:
    """All that a hit says; no check that is kept proposes plan facts."""
    return {name: getattr(hit, name) for name in (*_TEXT, *_TEXTS, *_PAIRS, "outcome", "file", "line", "yields")}


def _hit(row: Mapping[str, object]) -> Hit:
    """A hit from its row.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is none.
    """
    rule, detail, edge, headline, witness = (_text(row[name]) for name in _TEXT)
    missing, packages, unless, names = (_texts(row[name]) for name in _TEXTS)
    because, pins = (_pairs(row[name]) for name in _PAIRS)
    outcome, file, line, yields = (row[name] for name in ("outcome", "file", "line", "yields"))
    if outcome not in (True, None) or not isinstance(yields, bool):
        raise ValueError("no hit")
    if not isinstance(file, str | None) or not isinstance(line, int | None):
        raise TypeError("no place")
    return Hit(rule, None if outcome is None else True, because, missing, detail, packages, pins, (), file, line, yields, unless,
               edge, headline, witness, names)  # fmt: skip


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("no texts")
    return tuple(value)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise TypeError("no pairs")
    return tuple((first, second) for first, second in map(_texts, value))
