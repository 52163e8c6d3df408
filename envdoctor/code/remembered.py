"""What comparing one snapshot's code with one library found, kept between runs.

The comparison costs as much as all other checks together, and says the same until code, library, plan or envdoctor change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Skip
from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own

_FORMAT = 1
_LIMIT = 4 * 2**20
_MOST = 64

# Of every library file that was read: size in bytes and modification time in ns.
Files = Mapping[str, tuple[int, int]]


def key(parts: Iterable[str]) -> str:
    """A name for all that the outcome depends on, but the library's files: those are looked at when it is recalled."""
    digest = sha256(f"{_FORMAT}\0{_stamp()}".encode())
    for part in parts:
        digest.update(b"\0" + part.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def recall(directory: Path, name: str) -> tuple[tuple[Hit, ...], tuple[Skip, ...]] | None:
    """What was found before; None where nothing is kept, it is damaged, or a file of the library is another."""
    try:
        kept = json.loads(read_own(_place(directory, name), _LIMIT))
        if not all(_state(file) == tuple(state) for file, state in kept["files"].items()):
            return None
        return tuple(_hit(row) for row in kept["hits"]), tuple(Skip(str(what), str(why)) for what, why in kept["skips"])
    except (UnreadableError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None


def keep(directory: Path, name: str, hits: Sequence[Hit], skips: Sequence[Skip], files: Files) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    text = json.dumps({"files": files, "hits": [_row(hit) for hit in hits], "skips": [[skip.what, skip.why] for skip in skips]})
    part = directory / f"verdict-{name}.{os.getpid()}.part"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(_place(directory, name))
        kept = sorted(directory.glob("verdict-*"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-_MOST]:
            old.unlink(missing_ok=True)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _place(directory: Path, name: str) -> Path:
    return directory / f"verdict-{name}.json"


def _stamp() -> str:
    """Changes with the code that compares, and with the table that it goes by."""
    here = os.path.dirname(__file__)
    rows = [(entry.name, *(_state(entry.path) or ())) for entry in os.scandir(here) if entry.name.endswith(".py")]
    return repr((sorted(rows), _state(os.path.join(os.path.dirname(here), "data", "library_surface.json"))))


def _state(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _row(hit: Hit) -> list[object]:
    return [hit.rule, hit.outcome, hit.because, hit.missing, hit.detail, hit.packages, hit.pins, hit.file, hit.line, hit.unless]


def _hit(row: Sequence[object]) -> Hit:
    """A hit from its row.

    Raises:
        LookupError, TypeError, ValueError: it is none.
    """
    rule, outcome, because, missing, detail, packages, pins, file, line, unless = row
    if not isinstance(rule, str) or outcome not in (True, None) or not isinstance(detail, str):
        raise ValueError("no hit")
    if not isinstance(file, str | None) or not isinstance(line, int | None):
        raise TypeError("no place")
    return Hit(
        rule,
        None if outcome is None else True,
        _pairs(because),
        _texts(missing),
        detail,
        _texts(packages),
        _pairs(pins),
        (),
        file,
        line,
        False,
        _texts(unless),
    )


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("no texts")
    return tuple(value)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise TypeError("no pairs")
    return tuple((first, second) for first, second in map(_texts, value))
