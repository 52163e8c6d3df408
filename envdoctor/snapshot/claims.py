"""What a download has written down of its files: expected digests that no network is needed for.

A hub cache names its blobs by their digests and keeps the listing of a commit as ``trees/<commit>.json``; a download to a plain
directory keeps ``.cache/huggingface/download/<file>.metadata`` and the same listing
(https://huggingface.co/docs/huggingface_hub/guides/manage-cache, huggingface_hub/_local_folder.py, huggingface_hub/_tree_cache.py).
All of it is a claim: whoever writes through a link of the cache changes the blob and not its name.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from envdoctor.files.json_file import CONFIG_LIMIT, JsonError, UnreadableError, parse_json, read_bounded
from envdoctor.files.paths import real_path
from envdoctor.records import dataclass, field
from envdoctor.snapshot.inventory import MOST_FILES, Inventory, hub_repository
from envdoctor.snapshot.record import Record

_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_METADATA_LIMIT = 4096
_MOST_BLOBS = 5 * MOST_FILES


@dataclass(frozen=True, slots=True)
class Claims:
    """What was promised. ``files`` are expected by name; ``listed`` is the whole repository, where its listing was kept.

    ``edited`` are files of a plain directory written after they were downloaded; ``interrupted`` the digests (or names) of
    downloads that did not end.
    """

    kind: Literal["cache", "download"]
    repository: str | None
    commit: str
    files: Mapping[str, Record]
    listed: Mapping[str, Record] = field(default_factory=dict)
    edited: frozenset[str] = frozenset()
    interrupted: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        if self.kind == "download":
            return f"what was downloaded of commit {self.commit[:12]}" if self.commit else "what was downloaded"
        return f"the hub cache of {self.repository} at {self.commit[:12]}"


def read_claims(inventory: Inventory) -> Claims | None:
    """The claims that lie with a directory; None where a download has left none."""
    repository = hub_repository(inventory.root)
    if repository is not None:
        return _of_cache(inventory, repository)
    return _of_download(inventory)


def expected_of(etag: str, size: int) -> Record | None:
    """What an etag of the hub promises: 64 digits are a sha256, 40 a git blob id; None for one that is no digest."""
    if not _HEX.fullmatch(etag):
        return None
    return Record(size, sha256=etag) if len(etag) == 64 else Record(size, git_blob=etag)


def _of_cache(inventory: Inventory, repository: str) -> Claims:
    name = os.path.basename(repository).removeprefix("models--").replace("--", "/")
    commit, _, inner = os.path.relpath(inventory.root, os.path.join(repository, "snapshots")).replace(os.sep, "/").partition("/")
    prefix = f"{inner}/" if inner else ""
    whole = read_tree(os.path.join(repository, "trees", f"{commit}.json"))
    listed = {path.removeprefix(prefix): record for path, record in whole.items() if path.startswith(prefix)}
    files: dict[str, Record] = {}
    for entry in inventory.entries:
        promised = listed.get(entry.name) or (None if entry.blob is None else expected_of(entry.blob, entry.size))
        if promised is not None:
            files[entry.name] = promised
    blobs = os.path.join(repository, "blobs")
    there = list(_names(blobs, _MOST_BLOBS))
    done = frozenset(there)
    begun = {one.split(".", 1)[0] for one in there if one.endswith(".incomplete")}
    return Claims("cache", name, commit, files, listed, interrupted=tuple(sorted(begun - done)))


def _of_download(inventory: Inventory) -> Claims | None:
    kept = os.path.join(inventory.root, ".cache", "huggingface")
    if str(real_path(kept)) != kept:  # absent or, as nobody's download leaves it, a link
        return None
    entries = {entry.name: entry for entry in inventory.entries}
    files: dict[str, Record] = {}
    edited: set[str] = set()
    commits: Counter[str] = Counter()
    begun: set[str] = set()
    for name in _below(os.path.join(kept, "download")):
        if name.endswith(".incomplete"):
            begun.add(name.rpartition("/")[2].removesuffix(".incomplete").rpartition(".")[2])
        told = _metadata(os.path.join(kept, "download", name)) if name.endswith(".metadata") else None
        if told is None:
            continue
        commit, etag, at = told
        name = name.removesuffix(".metadata")
        entry = entries.get(name)
        promised = expected_of(etag, 0 if entry is None else entry.size)
        if promised is None:
            continue
        files[name] = promised
        commits[commit] += 1
        # huggingface_hub itself trusts the metadata of a file that is at most a second younger.
        if entry is not None and entry.stat.st_mtime - 1 > at:
            edited.add(name)
    if not files and not begun:
        return None
    commit = commits.most_common(1)[0][0] if commits else ""
    listed = read_tree(os.path.join(kept, "trees", f"{commit}.json")) if commit else {}
    files = {name: listed[name] if name in listed and listed[name].same(record) is not False else record for name, record in files.items()}
    etags = {record.sha256 or record.git_blob for record in files.values()}
    return Claims("download", None, commit, files, listed, frozenset(edited), tuple(sorted(begun - etags)))


def read_tree(path: str) -> dict[str, Record]:
    """The listing of a commit, by name; empty where there is none that can be read."""
    try:
        value = parse_json(read_bounded(path, CONFIG_LIMIT)).value
    except (UnreadableError, JsonError):
        return {}
    files = value.get("files") if isinstance(value, dict) and value.get("format_version") == 1 else None
    found: dict[str, Record] = {}
    for name, told in files.items() if isinstance(files, dict) else ():
        if not isinstance(told, dict):
            continue
        large = told.get("lfs_sha256")
        size = told.get("size") if large is None else told.get("lfs_size", told.get("size"))
        etag = told.get("blob_id") if large is None else large
        if type(size) is int and 0 <= size < 2**63 and isinstance(etag, str):
            record = expected_of(etag, size)
            if record is not None:
                found[name] = record
    return found


def _metadata(path: str) -> tuple[str, str, float] | None:
    try:
        lines = read_bounded(path, _METADATA_LIMIT).decode("utf-8").split("\n")
        commit, etag, at = (line.strip() for line in lines[:3])
        moment = float(at)
    except (UnreadableError, ValueError):  # among the latter too few lines, and bytes that are no UTF-8
        return None
    return (commit, etag.strip('"'), moment) if _COMMIT.fullmatch(commit) and math.isfinite(moment) else None


def _names(directory: str, most: int) -> Iterator[str]:
    try:
        with os.scandir(directory) as items:
            for number, item in enumerate(items):
                if number >= most:
                    return
                yield item.name
    except OSError:
        return


def _below(directory: str) -> Iterator[str]:
    """Files below a directory by their relative names, no link followed."""
    stack, seen = [""], 0
    while stack:
        prefix = stack.pop()
        for name in _names(os.path.join(directory, prefix), _MOST_BLOBS):
            seen += 1
            if seen > _MOST_BLOBS:
                return
            path = os.path.join(directory, prefix, name)
            if os.path.isdir(path) and not os.path.islink(path):
                stack.append(f"{prefix}{name}/")
            else:
                yield prefix + name
