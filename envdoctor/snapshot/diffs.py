"""Unified diffs of text files, where the former text can still be had."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence

from envdoctor.facts.fact import Skip
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import dataclass
from envdoctor.snapshot.compare import Change
from envdoctor.snapshot.inventory import Inventory, hub_repository
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.roles import role_of
from envdoctor.snapshot.verification import Expectation

_MOST_BYTES = 2**20
_MOST_LINES = 10_000
# Pairs of equal lines times lines, over all files: the worst that difflib can make of them takes some ten seconds.
_MOST_WORK = 10**8
_TEXT = (".py", ".json", ".jinja", ".txt", ".md", ".toml", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff of one file, by its place."""

    file: str
    diff: str


def differences(changes: Sequence[Change], inventory: Inventory, expectation: Expectation) -> tuple[list[Difference], list[Skip]]:
    """The diffs of all changed text files, and for the others of them why there is none.

    A lock keeps no text: the former one is that of the directory compared with, or of a blob that the hub cache still has.
    """
    found: list[Difference] = []
    skips: list[Skip] = []
    left = _MOST_WORK
    for change in changes:
        if change.kind != "changed" or role_of(change.name) == "weights" or not change.name.endswith(_TEXT):
            continue
        place = inventory.place(change.name)
        try:
            before = _old(change, inventory, expectation)
            after = _lines(_now(change.name, inventory))
            left = _afforded(before, after, left)
        except UnreadableError as error:
            skips.append(Skip(f"the diff of {place}", str(error)))
            continue
        diff = "".join(_ended(difflib.unified_diff(before, after, f"a/{change.name}", f"b/{change.name}")))
        found.append(Difference(place, diff))
    return found, skips


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    # Not splitlines: a form feed, or what Unicode calls the end of a line, is none for whoever reads or applies a diff.
    lines = [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n")]
    lines[-1:] = [lines[-1][:-1]] if lines[-1] != "\n" else []
    if len(lines) > _MOST_LINES:
        raise UnreadableError(f"{len(lines)} lines, more than the {_MOST_LINES} that are compared")
    return lines


def _afforded(before: Sequence[str], after: Sequence[str], left: int) -> int:
    """What is left of the work to spend once these lines are compared.

    Raises:
        UnreadableError: it is not enough.
    """
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    counts = Counter(after[same:])
    popular = len(after) // 100 + 1 if len(after) >= 200 else len(after)  # difflib looks for no line that is more frequent
    pairs = sum(counts[line] for line in before[same:] if counts[line] <= popular)
    left -= pairs * min(len(before) - same, len(after) - same)
    if left < 0:
        raise UnreadableError("too many of its lines are alike to be compared line by line")
    return left


def _now(name: str, inventory: Inventory) -> bytes:
    for entry in inventory.entries:
        if entry.name == name:
            return read_bounded(entry.real, _MOST_BYTES)
    raise UnreadableError("it is gone")


def _old(change: Change, inventory: Inventory, expectation: Expectation) -> list[str]:
    if expectation.directory is not None:
        return _lines(_now(change.name, expectation.directory))
    repository = hub_repository(inventory.root)
    record = change.before
    for digest in () if repository is None or record is None else (record.sha256, record.git_blob):
        if digest is None or record is None:
            continue
        try:
            data = read_bounded(os.path.join(str(repository), "blobs", digest), _MOST_BYTES)
        except UnreadableError:
            continue
        if _is(data, record):
            return _lines(data)
    raise UnreadableError("the former text is not at hand: --against DIR compares with a directory that has it")


def _is(data: bytes, record: Record) -> bool:
    if record.sha256 is not None:
        return hashlib.sha256(data).hexdigest() == record.sha256
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == record.git_blob
