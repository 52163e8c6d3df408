"""The digests of the files of an inventory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from envdoctor.hashing.cache import DigestCache
from envdoctor.hashing.pool import Job, digest_all
from envdoctor.records import dataclass, field
from envdoctor.snapshot.inventory import Entry
from envdoctor.snapshot.record import SMALL, Record


@dataclass(frozen=True, slots=True)
class Digested:
    """Records by name, and by name why there is none. ``cached`` counts the files whose digest was known from before."""

    records: Mapping[str, Record] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    cached: int = 0


def digest(
    entries: Iterable[Entry],
    *,
    cache: DigestCache | None = None,
    blobs: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Digested:
    """Hash every file, each blob once; ``progress`` is told of bytes. The files named in ``blobs`` get a git blob id whatever their size.

    Raises:
        KeyboardInterrupt: at once; nothing goes on behind it.
    """
    wanted = frozenset(blobs)
    listed = list(entries)
    jobs = [Job(entry.real, entry.size <= SMALL or entry.name in wanted) for entry in listed]
    records: dict[str, Record] = {}
    unread: dict[str, str] = {}
    cached = 0
    for entry, outcome in zip(listed, digest_all(jobs, cache=cache, progress=progress), strict=True):
        if outcome.digest is None:
            unread[entry.name] = outcome.problem or "it could not be read"
        else:
            records[entry.name] = Record(outcome.digest.size, outcome.digest.sha256, outcome.digest.git_blob)
            cached += outcome.cached
    return Digested(records, unread, cached)


def known(entries: Iterable[Entry], cache: DigestCache) -> dict[str, Record]:
    """The records of files whose digest is known from before: nothing is read."""
    found = {entry.name: cache.get(entry.stat) for entry in entries}
    return {name: Record(digest.size, digest.sha256, digest.git_blob) for name, digest in found.items() if digest is not None}


def size_to_hash(entries: Iterable[Entry]) -> int:
    """Bytes of all files, each counted once however many names it has."""
    return sum({(entry.stat.st_dev, entry.stat.st_ino): entry.size for entry in entries}.values())
