"""Where a lock lies, read and written whole."""

from __future__ import annotations

import os
import re
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.files.writing import write_whole
from envdoctor.snapshot.inventory import LOCK_NAME
from envdoctor.snapshot.lock import MOST_BYTES, Lock, dump_lock, parse_lock


def lock_path(model: Path, named: Path | None) -> Path:
    """The lock of a model: the one that is named, else ``envdoctor.lock`` in its directory."""
    return model / LOCK_NAME if named is None else named


def read_lock(path: Path) -> Lock:
    """The lock in a file.

    Raises:
        EnvdoctorError: no such file, one that cannot be read, or no lock.
    """
    place = plain(str(path), 4096)
    try:
        data = read_bounded(path, MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(
            place, found=str(error), expected="a lock that envdoctor lock wrote", next_step="envdoctor lock MODEL, or --lock FILE names it"
        ) from None
    return parse_lock(data, place)


def refuse_place(path: Path) -> None:
    """Whether a lock may be written there: asked before hours of hashing.

    Raises:
        EnvdoctorError: the file would lie in a hub cache, a directory is in its place, or nothing can be written beside it.
    """
    place = plain(str(path), 4096)
    if in_hub_cache(str(real_path(path.parent))):
        raise EnvdoctorError(
            place,
            found="a directory of the hub cache, in which nothing is ever written",
            expected="a lock outside it",
            next_step="--lock FILE names where the lock goes, and verify finds it with the same option",
        )
    if os.path.isdir(path) and not os.path.islink(path):
        raise EnvdoctorError(place, found="a directory", expected="a file to write the lock to", next_step="check --lock")
    if os.path.isfile(path) and not os.path.islink(path) and not _is_lock(path):
        raise EnvdoctorError(
            place, found="a file that is no lock", expected="a lock, or no file", next_step="--lock FILE names another place"
        )
    if not os.path.isdir(path.parent):
        raise EnvdoctorError(place, found="no such directory", expected="a place that can be written to", next_step="check --lock")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise EnvdoctorError(
            place,
            found="a directory that cannot be written to",
            expected="a place that can be written to",
            next_step="--lock FILE names another place",
        )


def _is_lock(path: Path) -> bool:
    """Whether a file is a lock, or nothing at all, and may be written anew."""
    try:
        data = read_bounded(path, MOST_BYTES)
    except UnreadableError:
        return False
    return not data.strip() or re.search(rb"^format\s*=", data[:4096], re.MULTILINE) is not None


def write_lock(lock: Lock, path: Path) -> None:
    """Write a lock so that there is the old one or the new one, and never half of either; a link in its place is replaced.

    Raises:
        EnvdoctorError: the file would lie in a hub cache, cannot be written, or would be too long to be read again.
    """
    refuse_place(path)
    place = plain(str(path), 4096)
    text = dump_lock(lock)
    length = len(text.encode("utf-8"))
    if length > MOST_BYTES:
        raise EnvdoctorError(
            place,
            found=f"names and outlines of {length} bytes",
            expected=f"a lock of at most {MOST_BYTES}",
            next_step="give the directory of the model itself",
        )
    # A link in its place is replaced: the lock belongs beside the files that it speaks of.
    write_whole(path, text, next_step="--lock FILE names another place", follow=False)


def in_hub_cache(folder: str) -> bool:
    """Whether a real path lies inside a repository of a hub cache."""
    parts = folder.split(os.sep)
    return any(
        part.startswith("models--") and os.path.isdir(os.sep.join([*parts[: number + 1], "snapshots"])) for number, part in enumerate(parts)
    )
