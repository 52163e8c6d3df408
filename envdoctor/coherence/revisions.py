"""Which public revision the files are, and whether the stack suits its code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.checks.hit import Hit
from envdoctor.coherence import Examined
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.versions import Absent, Exact, Ranged, version_condition
from envdoctor.files.text import plain
from envdoctor.snapshot.record import Record
from envdoctor.world.releases import release_texts
from envdoctor.world.tables import BUNDLED

if TYPE_CHECKING:
    from envdoctor.snapshot.revisions import Recognition, Supported

MIXED = "snapshot-mixed-revisions"
OUTSIDE = "snapshot-code-needs-other-transformers"

_WORD = re.compile(r"[a-z]+|[0-9]+")
# Words in the names of copies, as people and programs make them.
_COPIES = frozenset(("bak", "backup", "copy", "old", "orig", "original", "prev", "previous", "rej", "save", "swp", "tmp"))
_NUMBERED = re.compile(r" ?\([0-9]+\)|\.[0-9]+$")


def recognised(directory: Path, records: Mapping[str, Record], facts: Facts) -> tuple[Examined, tuple[str, ...]]:
    """What follows from the content of the files, and what they are in words; ``records`` are their digests by name.

    What somebody keeps beside them is left out: copies of earlier files, and what lies in folders, of which nothing is loaded.
    """
    records = {name: record for name, record in records.items() if not _is_kept_beside(name)}
    if not any(digest in _table() for record in records.values() for digest in _digests(record)):
        return Examined(), ()
    from envdoctor.snapshot.revisions import FileDigest, describe, recognise

    recognition = recognise({name: FileDigest(record.size, record.sha256, record.git_blob) for name, record in records.items()})
    sentences = describe(recognition)
    return Examined(tuple(_outside(directory, recognition, facts)), tuple(_mixed(directory, recognition, sentences))), sentences


def _is_kept_beside(name: str) -> bool:
    words = set(_WORD.findall(name.lower()))
    return "/" in name or name.endswith("~") or not words.isdisjoint(_COPIES) or _NUMBERED.search(name) is not None


@lru_cache(maxsize=1)
def _table() -> bytes:
    """The table as it lies there: most files are in none, and to know that it need not be parsed."""
    return (BUNDLED / "revisions.json").read_bytes()


def _digests(record: Record) -> Iterator[bytes]:
    yield from (digest.encode("ascii") for digest in (record.sha256, record.git_blob) if digest is not None)


def _mixed(directory: Path, recognition: Recognition, sentences: tuple[str, ...]) -> Iterator[Defect]:
    if recognition.mixed:
        told = next((sentence for sentence in sentences if sentence.startswith("a mixed snapshot")), "a mixed snapshot")
        yield Defect(MIXED, told, plain(str(directory), 4096))


def _outside(directory: Path, recognition: Recognition, facts: Facts) -> Iterator[Hit]:
    """The transformers at hand is none that the recognised code was written for."""
    from envdoctor.snapshot.revisions import supported_transformers

    supported, value = supported_transformers(recognition), facts.value("packages.transformers")
    if supported is None or not isinstance(value, (Exact, Ranged)) or isinstance(value, Absent):
        return
    wanted = version_condition(supported.specifier)
    if wanted.relation(value, release_texts("transformers")) is not False:
        return
    limit = next((one for one in supported.limits if version_condition(one.specifier).relation(value) is False), supported.limits[0])
    breaks = {rule for knowns in recognition.files.values() for known in knowns for rule in known.breaks}
    yield Hit(
        OUTSIDE,
        True,
        because=(("packages.transformers", f"not {supported.specifier}"),),
        detail=_detail(limit.file, supported, value),
        packages=("transformers",),
        pins=(("transformers", supported.specifier),),
        unless=tuple(sorted(breaks)),
        file=plain(str(directory / limit.file), 4096),
    )


def _detail(file: str, supported: Supported, value: Exact | Ranged) -> str:
    return f"{plain(file)} is of a public revision that works with transformers {supported.specifier}; here it is {value}"
