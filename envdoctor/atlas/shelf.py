"""Where the atlas is: in the installed package, or beside it in a checkout, bound on first use into the user's cache directory.

``ENVDOCTOR_ATLAS`` names folders that are looked into before (or, where it is set and empty, nothing at all).
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own
from envdoctor.files.user_cache import cache_directory, keep_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from envdoctor.atlas.binding import Bound
    from envdoctor.atlas.changes import Changes
    from envdoctor.atlas.messages import Book

_PACKAGE = Path(__file__).resolve().parent.parent
BOUND = _PACKAGE / "_atlas"
SOURCE = _PACKAGE.parent / "atlas"
SUFFIX = ".atlas"
PARTS = ("contents.txt", "takes.txt")
MESSAGES, SAID = "messages.txt", ".said"
CHANGES, CHANGED = "changes.txt", ".changed"
_LARGEST = 256 * 2**20


def folders() -> tuple[Path, ...]:
    """The folders of the atlas, those that the environment names first."""
    told = os.environ.get("ENVDOCTOR_ATLAS")
    if told == "":
        return ()
    own = [Path(part) for part in (told or "").split(os.pathsep) if part]
    return (*own, BOUND if BOUND.is_dir() else SOURCE)


@lru_cache(maxsize=512)
def open_package(name: str) -> Bound | None:
    """A package of the atlas, by its normalised name; None for one that it does not have.

    Raises:
        DamagedAtlasError: what is there cannot be read.
    """
    return _open(name)


def pass_packages(names: Iterable[str]) -> Iterator[tuple[str, Bound]]:
    """These packages, one after the other, none of them kept: whoever looks into all of them needs none twice."""
    for name in names:
        bound = _open(name)
        if bound is not None:
            yield name, bound


def _open(name: str) -> Bound | None:
    from envdoctor.atlas.binding import Bound

    for folder in folders():
        bound = folder / f"{name}{SUFFIX}"
        if bound.is_file():
            return Bound(bound.read_bytes(), str(bound))
        found = _from_text(folder / name, name)
        if found is not None:
            return found
    return None


def files_of(names: Iterable[str]) -> tuple[str, ...]:
    """The files that these packages would be opened from, whether they exist or not."""
    parts = (SUFFIX, *(f"{os.sep}{part}" for part in PARTS))
    places = [str(folder) for folder in folders()]
    return tuple(f"{place}{os.sep}{name}{part}" for name in names for place in places for part in parts)


def _from_text(folder: Path, name: str) -> Bound | None:
    from envdoctor.atlas.binding import Bound, bind
    from envdoctor.atlas.volume import DamagedAtlasError

    parts = [folder / part for part in PARTS]
    states = [os.stat(part) for part in parts if part.exists()]
    if not states:
        return None
    # Checkouts beside each other share the cache: each keeps what it bound.
    where = f"{crc32(os.fsencode(folder)):08x}"
    label = "-".join(f"{status.st_size:x}.{status.st_mtime_ns:x}" for status in states)
    kept = cache_directory() / "atlas" / f"{name}-{where}-{label}{SUFFIX}"
    try:
        return Bound(read_own(kept, _LARGEST), str(kept))
    except (UnreadableError, DamagedAtlasError):
        data = bind(part.read_text(encoding="utf-8") for part in parts if part.exists())
        _keep(kept, data, f"{name}-{where}-")
        return Bound(data, str(folder))


@lru_cache(maxsize=512)
def open_messages(name: str) -> Book | None:
    """What a package of the atlas says when it refuses; None where that was not read.

    Raises:
        DamagedAtlasError: what is there cannot be read.
    """
    from envdoctor.atlas.messages import Book, bind_messages
    from envdoctor.atlas.volume import DamagedAtlasError

    for folder in folders():
        bound, text = folder / f"{name}{SAID}", folder / name / MESSAGES
        if bound.is_file():
            return Book(name, bound.read_bytes(), str(bound))
        if text.is_file():
            status = os.stat(text)
            where = f"{name}-{crc32(os.fsencode(folder)):08x}-"
            kept = cache_directory() / "atlas" / f"{where}{status.st_size:x}.{status.st_mtime_ns:x}{SAID}"
            try:
                return Book(name, read_own(kept, _LARGEST), str(kept))
            except (UnreadableError, DamagedAtlasError):
                data = bind_messages(text.read_text(encoding="utf-8"))
                _keep(kept, data, where)
                return Book(name, data, str(text))
    return None


@lru_cache(maxsize=16)
def open_changes(name: str) -> Changes | None:
    """When the functions of a package of the atlas changed; None where that was not read.

    Raises:
        DamagedAtlasError: what is there cannot be read.
    """
    from envdoctor.atlas.changes import Changes

    for folder in folders():
        bound, text = folder / f"{name}{CHANGED}", folder / name / CHANGES
        if bound.is_file():
            return Changes.unpack(bound.read_bytes(), str(bound))
        if text.is_file():
            return Changes(text.read_text(encoding="utf-8"))
    return None


@lru_cache(maxsize=1)
def speaking_packages() -> tuple[str, ...]:
    """The packages whose messages the atlas has."""
    found: set[str] = set()
    for folder in folders():
        found |= {path.stem for path in folder.glob(f"*{SAID}")} | {path.parent.name for path in folder.glob(f"*/{MESSAGES}")}
    return tuple(sorted(found))


def _keep(path: Path, data: bytes, begins: str) -> None:
    """Write a bound package whole or not at all, in place of those whose names begin alike; where that cannot be, it is bound anew."""
    with suppress(OSError):
        for old in path.parent.glob(f"{begins}*{path.suffix}"):
            old.unlink(missing_ok=True)
    keep_file(path, data)


@lru_cache(maxsize=1)
def package_names() -> tuple[str, ...]:
    """The packages that the atlas has."""
    found: set[str] = set()
    for folder in folders():
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        found |= {
            entry.name.removesuffix(SUFFIX) for entry in entries if entry.name.endswith(SUFFIX) or (entry.is_dir() and entry.name[0] != ".")
        }
    return tuple(sorted(found))
