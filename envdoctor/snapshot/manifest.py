"""The files of a snapshot as values: sizes, digests, and what can be said of each without keeping its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from envdoctor.facts.fact import Skip
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.snapshot.definitions import definitions_of
from envdoctor.snapshot.fields import fields_of
from envdoctor.snapshot.inventory import Entry, Inventory
from envdoctor.snapshot.record import SMALL, Record
from envdoctor.snapshot.roles import role_of
from envdoctor.snapshot.tensors import Shard, header_digest, kinds_of, tensors_digest
from envdoctor.sources.model.safetensors_header import Header, HeaderError, Tensor, TooLargeError, header_of

# Headers beyond these would fill the memory: such a file is known by its digests alone.
_LONGEST_HEADER = 16 * 2**20
_ALL_HEADERS = 64 * 2**20
_MOST_OUTLINED = 256
# Characters of all outlines, half of what a lock may have: the names of fields and functions are as long as anybody makes them.
_MOST_TOLD = 4 * 2**20

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tensors:
    """All tensors of the safetensors files of a snapshot together; ``digest`` is over their sorted names, dtypes and shapes."""

    count: int = 0
    digest: str = ""
    elements: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Outliner:
    """Reads what makes a change tellable, within bounds over all files; ``skips`` says what was left out."""

    place: Callable[[str], str]
    skips: list[Skip] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    _headers: int = 0
    _outlined: int = 0
    _told: int = 0

    def outline(self, entry: Entry, record: Record) -> Record:
        """The record with the outline that fits the file's kind; a file that has none is left as it is."""
        if entry.name.endswith(".safetensors"):
            shard = self._read(entry, self._shard)
            return record if shard is None else replace(record, shard=shard)
        if entry.size > SMALL or not entry.name.endswith((".json", ".py")):
            return record
        self._outlined += 1
        if self._outlined > _MOST_OUTLINED:
            if self._outlined == _MOST_OUTLINED + 1:
                self._skip(entry, f"{_MOST_OUTLINED} files are outlined already: of this one and those after it a change is seen, not told")
            return record
        if role_of(entry.name) == "code":
            return replace(record, definitions=self._bounded(entry, definitions_of))
        return replace(record, fields=self._bounded(entry, fields_of))

    def _bounded(self, entry: Entry, outline_of: Callable[[bytes], dict[str, str] | None]) -> dict[str, str] | None:
        outline = self._read(entry, lambda one: outline_of(read_bounded(one.real, SMALL)))
        length = sum(len(ascii(name)) + len(ascii(text)) for name, text in (outline or {}).items())
        if self._told + length > _MOST_TOLD:
            self._skip(entry, f"its outline would take {length} characters: a change is seen, not told")
            return None
        self._told += length
        return outline

    def _read(self, entry: Entry, read: Callable[[Entry], T]) -> T | None:
        try:
            return read(entry)
        except UnreadableError as error:
            self._skip(entry, str(error))
        except OSError as error:
            self._skip(entry, error.strerror or type(error).__name__)
        return None

    def _skip(self, entry: Entry, why: str) -> None:
        self.skips.append(Skip(self.place(entry.name), plain(why)))

    def _shard(self, entry: Entry) -> Shard | None:
        raw = header_digest(entry.real)
        if raw is None:
            return None
        length = header_length(entry.real)
        if length > _LONGEST_HEADER or self._headers + length > _ALL_HEADERS:
            self._skip(entry, f"its header of {length} bytes is too long to sum up: a change is seen, not told")
            return Shard(raw, "", 0, {})
        try:
            header = header_of(entry.real)
        except TooLargeError as error:
            self._skip(entry, f"{error}: a change is seen, not told")
            return Shard(raw, "", 0, {})
        except HeaderError:
            return Shard(raw, "", 0, {})  # `check` says what is wrong with it
        self._headers += length
        self.tensors.update(header.tensors)
        return shard_of(raw, header)


def shard_of(raw: str, header: Header) -> Shard:
    return Shard(raw, tensors_digest(header.tensors), len(header.tensors), dict(sorted(header.elements.items())))


def header_length(path: str) -> int:
    """The length, in bytes, that a safetensors file states for its header."""
    with open(path, "rb") as stream:
        return int.from_bytes(stream.read(8), "little")


def outlined(inventory: Inventory, records: Mapping[str, Record], names: Iterable[str] | None = None) -> tuple[dict[str, Record], Outliner]:
    """The records with their outlines: of all files, or of those named."""
    wanted = None if names is None else frozenset(names)
    outliner = Outliner(inventory.place)
    found = dict(records)
    for entry in inventory.entries:
        if entry.name in records and (wanted is None or entry.name in wanted):
            found[entry.name] = outliner.outline(entry, records[entry.name])
    return found, outliner


def summed(records: Mapping[str, Record], tensors: Mapping[str, Tensor]) -> Tensors:
    """The tensors of all shards as one value."""
    elements: dict[str, int] = {}
    for record in records.values():
        for dtype, count in (record.shard.elements if record.shard is not None else {}).items():
            elements[dtype] = elements.get(dtype, 0) + count
    if not tensors:
        return Tensors()
    return Tensors(len(tensors), tensors_digest(tensors), dict(sorted(elements.items())), kinds_of(tensors.items()))
