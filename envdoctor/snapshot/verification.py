"""A snapshot against what it should be: a lock, another directory, the hub, or what its download wrote down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from envdoctor.facts.fact import Defect, Skip
from envdoctor.files.json_file import UnreadableError, line_of_key, read_bounded
from envdoctor.files.text import plain
from envdoctor.hashing.cache import DigestCache
from envdoctor.records import dataclass, field, replace
from envdoctor.snapshot.claims import Claims
from envdoctor.snapshot.compare import Change, compare
from envdoctor.snapshot.digests import Digested, digest
from envdoctor.snapshot.hub import Listing
from envdoctor.snapshot.inventory import MOST_FILES, Entry, Inventory
from envdoctor.snapshot.lock import Lock
from envdoctor.snapshot.manifest import outlined
from envdoctor.snapshot.meaning import Scene, defects_of
from envdoctor.snapshot.record import SMALL, Record
from envdoctor.snapshot.roles import loaded_by_name, role_of
from envdoctor.snapshot.tensors import kinds_of


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a snapshot should be. ``complete`` says that ``files`` are all, so that a further one is news.

    ``directory`` is where the files lie, for an expectation that is a directory; ``kinds`` are its tensors by pattern.
    """

    kind: Literal["lock", "directory", "hub", "cache", "download"]
    label: str
    files: Mapping[str, Record]
    complete: bool = True
    kinds: Mapping[str, str] = field(default_factory=dict)
    directory: Inventory | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found. ``changes`` have the outlines that their meaning was told from; ``absent`` files of the hub are not here."""

    changes: tuple[Change, ...]
    defects: tuple[Defect, ...]
    skips: tuple[Skip, ...]
    absent: int = 0


def expect_lock(lock: Lock, label: str) -> Expectation:
    return Expectation("lock", label, lock.files, kinds=lock.tensors.kinds)


def expect_directory(inventory: Inventory, digested: Digested) -> Expectation:
    return Expectation("directory", plain(str(inventory.path), 4096), digested.records, directory=inventory)


def expect_hub(listing: Listing) -> Expectation:
    return Expectation("hub", listing.label, listing.files)


def expect_claims(claims: Claims) -> Expectation:
    """What a download promises of the files that it fetched; of those that it did not fetch it says nothing."""
    return Expectation(claims.kind, claims.label, claims.files, complete=False)


def verify(
    inventory: Inventory,
    expectation: Expectation,
    *,
    cache: DigestCache | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verified:
    """Hash every file that the cache does not know, and say what differs from the expectation and what that means."""
    by_blob = [name for name, record in expectation.files.items() if record.sha256 is None]
    return judge(inventory, expectation, digest(inventory.entries, cache=cache, blobs=by_blob, progress=progress))


def judge(inventory: Inventory, expectation: Expectation, digested: Digested) -> Verified:
    """As ``verify``, of files already hashed, or described by what is known of them."""
    unread = {**inventory.left_out, **digested.unread}
    skips = [skip for skip in inventory.skips if skip.what not in {inventory.place(name) for name in expectation.files}]
    skips += [Skip(inventory.place(name), why) for name, why in digested.unread.items() if name not in expectation.files]
    changes: Iterable[Change] = compare(expectation.files, digested.records, unread=unread, complete=expectation.complete)
    if not inventory.whole:
        why = f"there are more than {MOST_FILES} files, and not all were looked at"
        changes = [replace(change, kind="unreadable", why=why) if change.kind == "missing" else change for change in changes]
    absent: tuple[str, ...] = ()
    if expectation.kind == "hub":
        absent = tuple(change.name for change in changes if change.kind == "missing" and change.name not in inventory.dangling)
        changes = [change for change in changes if change.name not in absent]
    told, scene, further = _described(inventory, expectation, tuple(changes), digested.records)
    if expectation.kind == "cache":
        others = [change for change in told if change.kind != "changed"]
        defects = (*(corrupt(change, inventory) for change in told if change.kind == "changed"), *defects_of(others, scene))
    else:
        defects = defects_of(told, scene)
    if absent:
        defects = (*defects, _absent(absent, expectation, inventory))
    return Verified(told, defects, (*skips, *further), len(absent))


def _described(
    inventory: Inventory, expectation: Expectation, changes: tuple[Change, ...], records: Mapping[str, Record]
) -> tuple[tuple[Change, ...], Scene, list[Skip]]:
    """The changes with outlines of both sides, read only now and only of what changed."""
    names = [change.name for change in changes if change.kind == "changed" or (change.kind == "added" and loaded_by_name(change.name))]
    after, outliner = outlined(inventory, records, names)
    skips = list(outliner.skips)
    before: Mapping[str, Record] = expectation.files
    if expectation.directory is not None:
        before, older = outlined(expectation.directory, expectation.files, names)
        skips += older.skips
    told = tuple(
        replace(change, before=before.get(change.name, change.before), after=after.get(change.name, change.after))
        if change.kind in ("changed", "added")
        else change
        for change in changes
    )
    kinds: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    if any(_other_tensors(change) for change in told):
        kinds = (expectation.kinds or _kinds(expectation.directory, expectation.files), _kinds(inventory, records))
    entries = {entry.name: entry for entry in inventory.entries}
    scene = Scene(inventory.place, expectation.label, kinds, lambda name, what: _line_of(entries.get(name), what))
    return told, scene, skips


def _other_tensors(change: Change) -> bool:
    before = None if change.before is None else change.before.shard
    after = None if change.after is None else change.after.shard
    return change.kind == "changed" and before is not None and after is not None and before.tensors != after.tensors


def _kinds(inventory: Inventory | None, records: Mapping[str, Record]) -> Mapping[str, str]:
    if inventory is None:
        return {}
    _, outliner = outlined(inventory, records, [name for name in records if name.endswith(".safetensors")])
    return kinds_of(outliner.tensors.items())


def _line_of(entry: Entry | None, what: str) -> int | None:
    """The line, from 1, of a JSON field, or of a function or class, in a file as it is now."""
    if entry is None or not what:
        return None
    try:
        text = read_bounded(entry.real, SMALL).decode("utf-8", "replace")
    except UnreadableError:
        return None
    if role_of(entry.name) != "code":
        return line_of_key(text, what)
    owner, _, name = what.rpartition(".")
    inside = not owner
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.replace("(", " ").replace(":", " ").split()
        inside = inside or words[:2] == ["class", owner]
        if inside and name in words[1:3] and words[0] in ("def", "class", "async"):
            return number
    return None


def corrupt(change: Change, inventory: Inventory) -> Defect:
    """The finding that a file is not what the name of its blob, or the record of its download, promises."""
    before, after = change.before or Record(0), change.after or Record(0)
    promised = before.sha256 or before.git_blob or ""
    found = after.sha256 if before.sha256 is not None else after.git_blob
    sizes = f"{after.size} bytes" if before.size == after.size else f"{after.size} bytes instead of {before.size}"
    detail = f"{plain(change.name)}: promised as {promised}, and its content is {found or 'another'} ({sizes})"
    return Defect("snapshot-blob-corrupt", detail, inventory.place(change.name))


def _absent(names: tuple[str, ...], expectation: Expectation, inventory: Inventory) -> Defect:
    shown = ", ".join(plain(name) for name in names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return Defect("snapshot-file-not-downloaded", f"in {expectation.label}, and not here: {shown}", inventory.place("."))
