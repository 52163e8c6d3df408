"""What was worked out at length, kept between runs: it stands until what it came from, or the code that works it out, is another."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

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


def recall(directory: Path, of: str) -> Mapping[str, Any] | None:
    """What was kept, as it was given; None where nothing is, it is damaged, or a file that was read is another."""
    try:
        kept = json.loads(read_own(_place(directory, of), _LIMIT))
        same = kept["of"] == of and all(state_of(file) == tuple(state) for file, state in kept["files"].items())
    except (UnreadableError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return kept if same else None


def keep(directory: Path, of: str, content: Mapping[str, object], files: Files) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    text = json.dumps({"of": of, "files": files, **content})
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
        return state_of(place)
    return sorted((entry.name, *(state_of(entry.path) or ())) for entry in os.scandir(place) if entry.name.endswith(".py"))


def state_of(file: str) -> tuple[int, int] | None:
    """Size in bytes and modification time in ns; None of a file that is not there."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns
