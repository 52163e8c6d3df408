"""The tables of released packages: those that come with envdoctor, or newer ones that the user had made (``envdoctor rules refresh``).

The user's lie in one directory beside a stamp that says how many bytes each has, their checksum and their day. It is written last: what
does not agree with it is damaged, or half of another refresh, and is passed over, as are tables older than the bundled ones.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from envdoctor.files.paths import is_file
from envdoctor.files.user_cache import cache_directory
from envdoctor.records import dataclass
from envdoctor.world.table_rows import split_table

SCHEMA = 2
NAMES = ("releases", "dependencies")
STAMP = "stamp.json"
BUNDLED = Path(__file__).parent.parent / "data"

_MOST_BYTES = 64 * 2**20
_MOST_STAMP_BYTES = 1 << 16
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


class DamagedError(Exception):
    """A table that is not as it was written; the message says how."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table as it lies there: its ``packages`` by normalised name.

    ``refreshed`` is said of the user's own; ``passed_over`` is why the user's was not taken, empty where there is none.
    """

    path: Path
    as_of: str
    content: Mapping[str, object]
    packages: Mapping[str, Mapping[str, object]]
    refreshed: bool = False
    passed_over: str = ""


def users() -> Path:
    """The directory of the user's own tables."""
    return cache_directory() / "tables"


def files_of(name: str) -> tuple[str, str]:
    """The files that a table comes from, whichever of them is used: the bundled one, and the stamp of the user's."""
    return str(BUNDLED / f"{name}.json"), str(users() / STAMP)


@lru_cache(maxsize=4)
def table(name: str) -> Table:
    """The table to be used: the user's, unless it is damaged or older than the bundled one."""
    bundled = BUNDLED / f"{name}.json"
    why = ""
    try:
        own = _users_own(name, bundled)
    except DamagedError as error:
        own, why = None, str(error)
    if own is not None:
        return own
    return read_table(bundled, bundled.read_bytes(), passed_over=why)


def read_table(path: Path, data: bytes, *, refreshed: bool = False, passed_over: str = "") -> Table:
    """A table's bytes.

    Raises:
        DamagedError: they are something else.
    """
    split = split_table(data)
    try:
        content, rows = (json.loads(data), None) if split is None else split
    except (ValueError, RecursionError) as error:
        raise DamagedError("no JSON") from error
    match content:
        case {"schema": int(schema)} if schema != SCHEMA:
            raise DamagedError(f"made by another release of envdoctor (schema {schema}, not {SCHEMA})")
        case {"schema": int(), "as_of": str(day), "packages": dict(packages)} if all(isinstance(row, dict) for row in packages.values()):
            return Table(path, day, content, packages if rows is None else rows, refreshed, passed_over)
    raise DamagedError("not a table of packages")


def stamp(data: Mapping[str, bytes], days: Mapping[str, str]) -> str:
    """What is written beside the user's tables, after them."""
    files = {name: {"as_of": days[name], "size": len(data[name]), "crc32": zlib.crc32(data[name])} for name in data}
    return json.dumps({"schema": SCHEMA, "files": files}, indent=1) + "\n"


def _users_own(name: str, bundled: Path) -> Table | None:
    """The user's table; None where there is none.

    Raises:
        DamagedError: it is not to be used.
    """
    path = users() / f"{name}.json"
    told = _bounded(users() / STAMP, _MOST_STAMP_BYTES)
    if told is None:
        return None
    try:
        stamped = json.loads(told)
    except (ValueError, RecursionError):
        stamped = None
    match stamped:
        case {"schema": int(schema)} if schema != SCHEMA:
            raise DamagedError(f"made by another release of envdoctor (schema {schema}, not {SCHEMA})")
        case {"files": {**files}}:
            pass
        case _:
            raise DamagedError("its stamp is damaged")
    match files.get(name):
        case {"as_of": str(day), "size": int(size), "crc32": int(checksum)} if re.fullmatch(_DAY, day) and 0 < size <= _MOST_BYTES:
            pass
        case _:
            raise DamagedError("its stamp is damaged")
    if day < _day_of(bundled):
        raise DamagedError(f"of {day}, older than the bundled one")
    data = _bounded(path, size + 1)
    if data is None or len(data) != size or zlib.crc32(data) != checksum:
        raise DamagedError("damaged: its bytes are not those that were written")
    return read_table(path, data, refreshed=True)


def _bounded(path: Path, most: int) -> bytes | None:
    """At most so many bytes of a regular file; None where there is none that can be read."""
    try:
        if not is_file(path):
            return None
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return None


def _day_of(bundled: Path) -> str:
    """The day that stands in the first lines of a table."""
    with open(bundled, encoding="utf-8") as file:
        found = re.search(r'"as_of": "([0-9-]+)"', file.read(200))
    return found[1] if found else ""


def replace(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
