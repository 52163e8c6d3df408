"""The digest of one file, and the certainty that it is the digest of one state of that file."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat as modes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from envdoctor.records import dataclass

if TYPE_CHECKING:
    import threading

CHUNK = 1 << 20  # bytes read at once; larger buffers no longer fit the second-level cache
STEP = 16 << 20  # bytes between two reports of progress

# Bytes of one file hashed so far.
Reach: TypeAlias = Callable[[int], None]
# Another way to the sha256 of a file in that state: the digest, or None where this way did not lead to one.
Shortcut: TypeAlias = Callable[[str, os.stat_result, Reach], "str | None"]


@dataclass(frozen=True, slots=True)
class Digest:
    """Size in bytes and digests in lower-case hexadecimal; ``git_blob`` is the id git gives the content, where it was asked for."""

    size: int
    sha256: str
    git_blob: str | None


class FileChangedError(Exception):
    """The file was written, replaced or cut while it was read; the text says what was seen of it."""


class Stopped(Exception):  # noqa: N818 - nothing went wrong
    """Hashing was told to stop."""


def digest_file(
    path: str,
    *,
    git_blob: bool = False,
    progress: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
    expected: os.stat_result | None = None,
    shortcut: Shortcut | None = None,
) -> Digest:
    """The digest of a regular file, which is opened without following a symbolic link.

    ``progress`` is told of bytes as they are hashed, every 16 MiB and at the end. ``expected`` is the state that the file must
    be in. ``shortcut`` may know a faster way to the sha256 than reading; where it fails, the file is read.

    Raises:
        OSError: no such file, not a regular one, or one that cannot be read.
        FileChangedError: not in the expected state, or in another state after it was read.
        Stopped: ``stop`` was set.
    """
    with _opened(path) as file:
        before = os.fstat(file.fileno())
        if not modes.S_ISREG(before.st_mode):
            raise _irregular(path, before)
        if expected is not None:
            _unchanged(expected, before)
        progressed = _Progress(progress)
        sha256 = None if shortcut is None or git_blob else shortcut(path, before, progressed.reach)
        blob = None
        if sha256 is None:
            _unchanged(before, os.fstat(file.fileno()))
            sha256, blob = _read(file, before.st_size, git_blob=git_blob, reach=progressed.reach, stop=stop)
        progressed.end(before.st_size)
        _unchanged(before, os.fstat(file.fileno()))
    return Digest(before.st_size, sha256, blob)


def identity(stat: os.stat_result) -> tuple[int, int, int, int, int]:
    """What changes when a file is written or replaced: device, inode, size, and the nanoseconds of its two times."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class _Progress:
    """Turns positions in a file into steps of bytes, none of them told twice although a file may be begun again."""

    def __init__(self, tell: Callable[[int], None] | None) -> None:
        self._tell = tell
        self._told = 0

    def reach(self, position: int) -> None:
        if position - self._told >= STEP:
            self.end(position)

    def end(self, position: int) -> None:
        if self._tell is not None and position > self._told:
            step, self._told = position - self._told, position
            self._tell(step)


@contextmanager
def _opened(path: str) -> Iterator[io.FileIO]:
    """The file, opened so that neither a pipe nor a link put in its place can hold us up or lead us elsewhere.

    Raises:
        OSError: it cannot be opened, or opening it might do more than that.
    """
    seen = os.lstat(path)
    if not modes.S_ISREG(seen.st_mode):
        raise _irregular(path, seen)
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with io.FileIO(os.open(path, flags)) as file:
        yield file


def _irregular(path: str, stat: os.stat_result) -> OSError:
    for is_kind, kind in (
        (modes.S_ISDIR, "a directory"),
        (modes.S_ISLNK, "a symbolic link"),
        (modes.S_ISFIFO, "a named pipe"),
        (modes.S_ISSOCK, "a socket"),
        (modes.S_ISBLK, "a device"),
        (modes.S_ISCHR, "a device"),
    ):
        if is_kind(stat.st_mode):
            return OSError(errno.EINVAL, f"{kind}, not a regular file", path)
    return OSError(errno.EINVAL, "not a regular file", path)


def _read(file: io.FileIO, size: int, *, git_blob: bool, reach: Reach, stop: threading.Event | None) -> tuple[str, str | None]:
    """The sha256 of what the file holds and, where asked, its git blob id.

    Raises:
        OSError: from reading.
        FileChangedError: there is more or less to read than ``size`` bytes.
        Stopped: ``stop`` was set.
    """
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False) if git_blob else None
    # One byte more than the file has: a small file is read, and found to end, without a second buffer.
    buffer = memoryview(bytearray(min(size + 1, CHUNK)))
    position = 0
    while count := file.readinto(buffer):
        position += count
        if position > size:
            raise FileChangedError(f"it grew beyond {size} bytes while it was read")
        if stop is not None and stop.is_set():
            raise Stopped
        sha256.update(buffer[:count])
        if blob is not None:
            blob.update(buffer[:count])
        reach(position)
    if position < size:
        raise FileChangedError(f"it ended after {position} of {size} bytes while it was read")
    return sha256.hexdigest(), None if blob is None else blob.hexdigest()


def _unchanged(before: os.stat_result, after: os.stat_result) -> None:
    """Nothing, where both are one state of one file.

    Raises:
        FileChangedError: they are two states, or two files.
    """
    if identity(before) == identity(after):
        return
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        raise FileChangedError("another file took its place")
    if before.st_size != after.st_size:
        raise FileChangedError(f"its size went from {before.st_size} to {after.st_size} bytes while it was read")
    if before.st_mtime_ns != after.st_mtime_ns:
        raise FileChangedError("it was written while it was read")
    raise FileChangedError("its change time moved while it was read: it was written, linked, renamed or had its permissions changed")
