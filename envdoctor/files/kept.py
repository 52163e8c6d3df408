"""What was worked out at length, kept between runs: it stands until what it came from, or the code that works it out, is another."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any
from zlib import adler32, crc32

from envdoctor import __version__
from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own

_FORMAT = 4
_LIMIT = 4 * 2**20
_MOST = 64
# What is kept of each file of a project, which may have a thousand, is small.
EACH = "each-"
_MOST_EACH = 2000
_EACH_LIMIT = 2**18
_MOST_READ = 64 * 2**20
_OWN = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}{os.sep}"

# Of every file that was read: size in bytes and modification time in ns; None of one that is to stay away.
State = tuple[int, int] | None
Files = Mapping[str, State]


class Seen:
    """What an outcome came from: files by their size and time, files by their content, what a path is at all, and folders of Python."""

    __slots__ = ("_noted",)

    def __init__(self) -> None:
        self._noted: dict[str, dict[str, object]] = {how: {} for how in _LOOKS}

    def file(self, path: str) -> None:
        """The outcome stands while this file, or folder, has the size and the time that it has now, or is not there."""
        self._note("files", path)

    def content(self, path: str) -> None:
        """The outcome stands while this file holds what it holds now, whenever it was written."""
        self._note("contents", path)

    def kind(self, path: str) -> str:
        """``file``, ``folder`` or nothing: the outcome stands while this path is of this kind."""
        return str(self._note("kinds", path))

    def tree(self, folder: str) -> None:
        """The outcome stands while no file of Python below this folder is another."""
        self._note("trees", folder)

    def _note(self, how: str, path: str) -> object:
        noted = self._noted[how]
        if path not in noted:
            noted[path] = _LOOKS[how](path)
        return noted[path]

    def noted(self) -> Mapping[str, Mapping[str, object]]:
        """All of it, as it is kept."""
        return self._noted


def key(parts: Iterable[str], made_by: Iterable[str]) -> str:
    """All that the outcome depends on, but the files that are looked at when it is recalled.

    ``made_by`` are the files, and the folders of Python, that decide: what another envdoctor found is not believed.
    """
    return "\0".join((made(made_by), *parts))


def made(made_by: Iterable[str]) -> str:
    """What stands for the code that decides: of many outcomes of one run it is asked once."""
    record = _record()
    # pip writes its list of files anew with whatever it installs: it stands for the thousand files that would be looked at one by one.
    places = made_by if record is None else (record, *(place for place in made_by if not place.startswith(_OWN)))
    # What is read of Python is read as the interpreter at hand reads it.
    return repr((_FORMAT, sys.version_info[:3], [_stamp(place) for place in places]))


@lru_cache(maxsize=1)
def _record() -> str | None:
    """The list that pip wrote of an installed envdoctor's files; None of a checkout, whose files change one by one."""
    record = f"{os.path.dirname(os.path.dirname(_OWN))}{os.sep}llm_envdoctor-{__version__}.dist-info{os.sep}RECORD"
    return record if state_of(record) is not None else None


def recall(directory: Path, of: str, kind: str = "verdict-") -> Mapping[str, Any] | None:
    """What was kept, as it was given; None where nothing is, it is damaged, or a file that was read is another."""
    try:
        kept = json.loads(read_own(_place(directory, of, kind), _LIMIT))
        same = kept["of"] == of and all(_look_again(how, kept.get(how, {})) for how in _LOOKS)
    except (UnreadableError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return kept if same else None


def _look_again(how: str, noted: Mapping[str, object]) -> bool:
    """Whether all that was noted is as it was."""
    look = _LOOKS[how]
    return all(look(path) == (tuple(was) if isinstance(was, list) else was) for path, was in noted.items())


def keep(directory: Path, of: str, content: Mapping[str, object], files: Files | Seen, kind: str = "verdict-") -> None:
    """Keep what was found; where it cannot be written it is found again next time. ``EACH`` is for what is kept of each of many files."""
    noted = files.noted() if isinstance(files, Seen) else {"files": files}
    text = json.dumps({"of": of, **noted, **content})
    if len(text) > (_EACH_LIMIT if kind == EACH else _LIMIT):
        return
    place = _place(directory, of, kind)
    part = place.with_suffix(f".{os.getpid()}.part")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(place)
        # To look through thousands after each of them would take longer than to keep them.
        if kind != EACH or place.stem.endswith("00"):
            kept = sorted(directory.glob(f"{kind}*"), key=lambda path: path.stat().st_mtime)
            for old in kept[: -(_MOST_EACH if kind == EACH else _MOST)]:
                old.unlink(missing_ok=True)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _place(directory: Path, of: str, kind: str) -> Path:
    # Two that share a number take turns: what is kept says of what it is.
    return directory / f"{kind}{crc32(of.encode('utf-8', 'surrogateescape')):08x}.json"


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


def content_of(file: str) -> tuple[int, int, int] | None:
    """What tells one content of a file from another; None of a file that cannot be read."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(_MOST_READ)
    except (OSError, ValueError):
        return None
    # It tells one writing of the user's own files from the next: no cryptography, whose import costs as much as all the rest of this.
    return len(data), crc32(data), adler32(data)


def _kind_of(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if S_ISREG(mode) else "folder" if S_ISDIR(mode) else "other"


def _tree_of(folder: str) -> int:
    """Changes with every Python file below a folder, as far as files and folders of no link go."""
    told: list[str] = []
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except (OSError, ValueError):
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                told.append(f"{entry.path} {state_of(entry.path)}")
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return crc32("\n".join(sorted(told)).encode("utf-8", "surrogateescape"))


_LOOKS: Mapping[str, Callable[[str], object]] = {"files": state_of, "contents": content_of, "kinds": _kind_of, "trees": _tree_of}
