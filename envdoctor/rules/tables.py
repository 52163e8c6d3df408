"""The table of a rule: as its file has it, or as it is stored; and what of it is known before it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor.facts.names import canonical


class Stored(Mapping[str, Any]):
    """The table of a rule as it is stored, which is read when somebody looks at more of it than what it needs and its id.

    Raises:
        ValueError: from whatever looks at it, where it is not what was stored.
    """

    __slots__ = ("_line", "_table", "id", "needed")

    def __init__(self, name: str | None, needed: tuple[tuple[str, str], ...], line: bytes) -> None:
        self.id, self.needed = name, needed
        self._line = line
        self._table: dict[str, Any] | None = None

    def _read(self) -> dict[str, Any]:
        if self._table is None:
            table = json.loads(self._line)
            if not isinstance(table, dict):
                raise ValueError("no table")
            self._table = table
        return self._table

    def __getitem__(self, key: str) -> Any:
        return self.id if key == "id" and self.id is not None else self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def needs(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The packages that a rule cannot hold without, each with the versions of it that it is about.

    A table of another form is left to its reader.
    """
    if isinstance(table, Stored):
        yield from table.needed
        return
    affected = table.get("affected")
    packages = affected.get("packages") if isinstance(affected, dict) else None
    for text in packages if isinstance(packages, list) else ():
        if isinstance(text, str):
            name, _, ranges = text.strip().partition(" ")
            yield canonical(name), "".join(ranges.split())


__all__ = ["Stored", "needs"]
