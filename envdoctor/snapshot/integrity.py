"""What `check` says of the files of a model: small ones by their content, weights by size, header and what a download vouches for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeAlias

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Defect, Skip
from envdoctor.files.text import plain
from envdoctor.hashing.cache import DigestCache
from envdoctor.records import dataclass, replace
from envdoctor.snapshot.claims import Claims, read_claims
from envdoctor.snapshot.digests import Digested, digest, known, size_to_hash
from envdoctor.snapshot.download import download_defects
from envdoctor.snapshot.inventory import LOCK_NAME, Entry, Inventory, inventory
from envdoctor.snapshot.record import SMALL, Record
from envdoctor.snapshot.roles import role_of


@dataclass(frozen=True, slots=True)
class Integrity:
    """The files as they are. ``records`` have digests, by which files are recognised; ``hashed`` says whether of every file."""

    inventory: Inventory
    records: Mapping[str, Record]
    collected: Collected
    hashed: bool


# From the bytes that there are to hash to what is told of them as they are.
Watch: TypeAlias = "Callable[[int], AbstractContextManager[Callable[[int], None] | None]]"


def integrity(directory: Path, *, full: bool, cache: DigestCache | None = None, watch: Watch = lambda _: nullcontext()) -> Integrity:
    """Hash the files up to 16 MiB (all of them with ``full``, whatever the cache says) and compare them with the lock and the download.

    Raises:
        EnvdoctorError: no directory that can be listed.
    """
    found = inventory(directory)
    if cache is None:
        cache = DigestCache.open(full=full)
    small = [entry for entry in found.entries if full or entry.size <= SMALL]
    with watch(size_to_hash(small)) as progress:
        digested = digest(small, cache=cache, progress=progress)
    large = [entry for entry in found.entries if entry.name not in digested.records and entry.name not in digested.unread]
    vouched = known(large, cache)
    records = {**digested.records, **vouched}
    defects: list[Defect] = []
    skips: list[Skip] = []
    lock = directory / LOCK_NAME
    if os.path.lexists(lock):
        described = {**records, **{entry.name: _glance(entry) for entry in large if entry.name not in vouched}}
        judged = _of_lock(found, lock, Digested(described, digested.unread))
        defects += judged.defects
        skips += judged.skips
    claims = read_claims(found)
    defects += _of_download(found, claims, records)
    hashed = len(records) == len(found.entries)
    return Integrity(found, records, Collected((), tuple(defects), tuple(dict.fromkeys(skips))), hashed)


def _of_lock(found: Inventory, place: Path, digested: Digested) -> Collected:
    # Most models have no lock, and what reads one is not needed then.
    from envdoctor.snapshot.lock_file import read_lock
    from envdoctor.snapshot.verification import expect_lock, judge

    try:
        lock = read_lock(place)
    except EnvdoctorError as error:
        detail = f"found {error.found}; expected {error.expected}"
        return Collected(defects=(Defect("snapshot-lock-invalid", detail, plain(str(place), 4096)),))
    label = f"{LOCK_NAME} of {plain(lock.at[:10])}" if lock.at else LOCK_NAME
    judged = judge(found, expect_lock(lock, label), digested)
    # Files beside the model are no news for who did not ask about files.
    return Collected(defects=tuple(defect for defect in judged.defects if defect.rule != "snapshot-file-extra"), skips=judged.skips)


def _glance(entry: Entry) -> Record:
    """A weight file that nobody hashed: its size, its header, and the digest that a hub cache promises of it."""
    from envdoctor.snapshot.tensors import Shard, header_digest

    promised = entry.blob if entry.blob is not None and len(entry.blob) == 64 else None
    raw = None
    if promised is None and entry.name.endswith(".safetensors"):
        try:
            raw = header_digest(entry.real)
        except OSError:
            raw = None  # who reads the weights says why
    return Record(entry.size, sha256=promised, shard=None if raw is None else Shard(raw, "", 0, {}))


def _of_download(found: Inventory, claims: Claims | None, records: Mapping[str, Record]) -> Iterator[Defect]:
    yield from (
        defect for defect in download_defects(found, claims, weights=False) if claims is None or not _also_hashed(defect, records, found)
    )
    if claims is None:
        return
    from envdoctor.snapshot.verification import corrupt, expect_claims, judge

    here = {name: record for name, record in claims.files.items() if name in records}
    judged = judge(found, replace(expect_claims(claims), files=here), Digested(records))
    changed = [change for change in judged.changes if change.kind == "changed"]
    yield from (corrupt(change, found) for change in changed if claims.kind == "cache" or change.name not in claims.edited)
    edited = [change.name for change in changed if change.name in claims.edited and role_of(change.name) != "documentation"]
    if claims.kind == "download" and edited:
        shown = ", ".join(plain(name) for name in edited[:6]) + (f" and {len(edited) - 6} more" if len(edited) > 6 else "")
        yield Defect("snapshot-edited-since-download", f"{shown}: not as in {claims.label}", found.place(edited[0]))


def _also_hashed(defect: Defect, records: Mapping[str, Record], found: Inventory) -> bool:
    """A wrong size of a file whose content is judged as well need not be told twice."""
    return defect.rule == "snapshot-blob-corrupt" and defect.file in {found.place(name) for name in records}
