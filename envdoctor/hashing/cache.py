"""Digests made before, so that a file that has not changed need not be read again."""

from __future__ import annotations

import hashlib
import os
import struct
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import Path

from envdoctor.files.json_file import UnreadableError
from envdoctor.files.own import read_own
from envdoctor.files.user_cache import cache_directory
from envdoctor.hashing.digest import Digest, identity

# The file: this line, a checksum, and records in the order of their device and inode.
_MAGIC = b"envdoctor digests 1\n"
# Device, inode, size, mtime and ctime in ns; when it was hashed, in ns; when it was last of use, in s; sha256; git blob, if any.
_RECORD = struct.Struct(">QQQqqqq32s?20s")
_FILE = struct.Struct(">QQ")
MOST = 20_000
"""Records kept; those of no use for longest go first."""

# No file system in use counts times more coarsely (FAT: 2 s). A file written again so soon may show the same times.
GRANULARITY_NS = 2_000_000_000
_WEEK = 7 * 24 * 3600
_NS = 1_000_000_000


class DigestCache:
    """Digests by the state of a file: device, inode, size, mtime and ctime.

    A file that cannot be read, is damaged, or was written by another host, user or release of envdoctor is no cache, and one
    that cannot be written only costs time. Times in the future vouch for nothing. Its words are as good as the change time of a
    file, which the owner of the machine can forge, and which a process that writes through a mapping made before need not move.
    """

    def __init__(self, directory: Path, *, full: bool, clock: Callable[[], int]) -> None:
        self._host = _host()
        self._place = directory / f"digests-{self._host.hex()[:16]}.bin"
        self._clock = clock
        self._full = full
        self._kept = _records(self._place, self._host)
        self._new: dict[bytes, bytes] = {}

    @classmethod
    def open(cls, directory: Path | None = None, *, full: bool = False, clock: Callable[[], int] = time.time_ns) -> DigestCache:
        """The cache in a directory; the user's own where none is given.

        ``full`` believes nothing that was kept, but keeps what is found. ``clock`` tells the time in ns since the epoch.
        """
        return cls(cache_directory() if directory is None else directory, full=full, clock=clock)

    def now(self) -> int:
        """The time that it goes by, in ns since the epoch."""
        return self._clock()

    def get(self, stat: os.stat_result) -> Digest | None:
        """The digest of the file in that state, where it is known for certain."""
        return None if self._full else self._known(stat)

    def put(self, stat: os.stat_result, digest: Digest, *, begun: int | None = None) -> None:
        """Keep the digest of a file that was in that state before and after it was hashed.

        ``begun`` is the time (``now()``) at which hashing began; just now, where it is not given. A file written shortly before that
        is not kept: it may have been written once more without showing it.

        Raises:
            ValueError: the digest is of another size.
        """
        if digest.size != stat.st_size:
            raise ValueError(f"a digest of {digest.size} bytes for a file of {stat.st_size}")
        now = self._clock()
        begun = now if begun is None else begun
        if not _certain(stat, begun, now):
            return
        blob = digest.git_blob
        if blob is None:
            before = self._known(stat)
            blob = before.git_blob if before is not None and before.sha256 == digest.sha256 else None
        hashes = bytes.fromhex(digest.sha256), blob is not None, bytes.fromhex(blob or "")
        try:
            record = _RECORD.pack(*identity(stat), begun, now // _NS, *hashes)
        except struct.error:  # a number of no file that we could recognise again
            return
        self._new[record[: _FILE.size]] = record

    def save(self) -> None:
        """Write what is new, beside what other processes have written meanwhile."""
        if not self._new:
            return
        records = {record[: _FILE.size]: record for record in _split(_records(self._place, self._host))} | self._new
        kept = sorted(records.values(), key=lambda record: int(_RECORD.unpack(record)[6]), reverse=True)[:MOST]
        body = b"".join(sorted(kept))
        if _write(self._place, _MAGIC + _checksum(self._host, body) + body):
            self._kept = body
            self._new = {}

    def _known(self, stat: os.stat_result) -> Digest | None:
        try:
            key = _FILE.pack(stat.st_dev, stat.st_ino)
        except struct.error:
            return None
        record = self._new.get(key) or _find(self._kept, key)
        if record is None:
            return None
        *state, begun, used, sha256, has_blob, blob = _RECORD.unpack(record)
        now = self._clock()
        if tuple(state) != identity(stat) or not _certain(stat, begun, now):
            return None
        if now // _NS - used > _WEEK:
            self._new[key] = _RECORD.pack(*state, begun, now // _NS, sha256, has_blob, blob)
        return Digest(stat.st_size, sha256.hex(), blob.hex() if has_blob else None)


def _certain(stat: os.stat_result, begun: int, now: int) -> bool:
    """Whether every later write to a file hashed at that time must show in its times (a store through a mapping need not)."""
    return max(stat.st_mtime_ns, stat.st_ctime_ns) + GRANULARITY_NS <= begun <= now


def _find(records: bytes, key: bytes) -> bytes | None:
    size = _RECORD.size
    at = size * bisect_left(range(len(records) // size), key, key=lambda n: records[n * size : n * size + len(key)])
    return records[at : at + size] if records.startswith(key, at) else None


def _split(records: bytes) -> Iterator[bytes]:
    return (records[at : at + _RECORD.size] for at in range(0, len(records), _RECORD.size))


def _records(place: Path, host: bytes) -> bytes:
    """The records of a cache file; none where it is not one that this user has written whole on this host."""
    head = len(_MAGIC) + hashlib.sha256().digest_size
    most = head + MOST * _RECORD.size
    try:
        data = read_own(place, most)
    except UnreadableError:
        return b""
    body = data[head:]
    whole = len(data) <= most and len(body) % _RECORD.size == 0 and data[:head] == _MAGIC + _checksum(host, body)
    return body if whole else b""


def _checksum(host: bytes, body: bytes) -> bytes:
    return hashlib.sha256(host + body).digest()


def _write(place: Path, data: bytes) -> bool:
    """Put the data in that place, whole or not at all; whether it could be."""
    part = place.with_name(f"{place.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            with open(os.open(part, flags, 0o600), "wb") as file:
                file.write(data)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        # Hosts and processes that are no more.
        for old in sorted(place.parent.glob("digests-*"), key=lambda path: path.stat().st_mtime)[:-8]:
            old.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _host() -> bytes:
    """What tells this host from others that may see the same cache: 32 bytes that stay the same when it starts anew."""
    try:
        machine = Path("/etc/machine-id").read_bytes()[:256]
    except OSError:
        machine = b""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return hashlib.sha256(machine + b"\0" + name.encode("utf-8", "surrogateescape")).digest()
