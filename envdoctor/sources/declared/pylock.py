"""Facts from a ``pylock.toml`` (PEP 751): the packages that it installs here, and with each of its extras and groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from envdoctor.facts.names import canonical
from envdoctor.sources.declared.locks import FAILS, HOLDS, Choice, Locked, LockReading
from envdoctor.sources.declared.toml_document import LOCK_LIMIT, read_document, strings_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_FILE_NAME = re.compile(r"pylock\.(?:[^.]+\.)?toml")
# Variables that PEP 751 has and older packaging does not: 'train' in extras.
_CHOSEN = re.compile(r"""(['"])([^'"]*)\1\s+(not\s+)?in\s+(extras|dependency_groups)\b""")


def collect_pylock(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What the lock installs: by itself (with its default groups), and with each extra and group.

    Raises:
        EnvdoctorError: the file cannot be read, or is no TOML.
    """
    document = read_document(path, LOCK_LIMIT)
    requires = text_of(document.table.get("requires-python"))
    reading = LockReading(document, installation.admitted_by(requires))
    reading.python(requires, "requires-python")
    told = text_of(document.table.get("lock-version"))
    if told.partition(".")[0] != "1":
        reading.preamble.skip(document.place("lock-version"), f"written for version {told or 'none'} of the format; it is read as 1.0")
    environments = strings_of(document.table.get("environments"))
    fits = not environments or any(reading.holds(marker, document.line("environments")) for marker in environments)
    if not fits:
        reading.preamble.skip(document.place("environments"), "the lock was made for other environments than the one that is looked at")
    return reading.variants(_choices(reading, reading.packages("packages"), complete=fits))


def _choices(reading: LockReading, packages: list[Locked], *, complete: bool) -> Iterator[Choice]:
    table = reading.document.table
    default = {canonical(name) for name in strings_of(table.get("default-groups"))}
    wanted: list[tuple[str, set[str], set[str]]] = [("", set(), default)]
    wanted += [(f"extra {name}", {canonical(name)}, default) for name in strings_of(table.get("extras"))]
    wanted += [(f"group {name}", set(), default | {canonical(name)}) for name in strings_of(table.get("dependency-groups"))]
    for label, extras, groups in wanted:
        chosen = {"extras": extras, "dependency_groups": groups}
        there = [each for each in packages if reading.holds(_decided(text_of(each.entry.get("marker")), chosen), each.line)]
        yield Choice(label, there, complete)


def _decided(marker: str, chosen: dict[str, set[str]]) -> str:
    """The marker with what it asks of extras and groups answered."""
    return _CHOSEN.sub(lambda match: HOLDS if (canonical(match[2]) in chosen[match[4]]) == (match[3] is None) else FAILS, marker)
