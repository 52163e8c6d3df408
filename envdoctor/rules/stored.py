"""Compiled rules as they are stored: JSON whose first line tells of all of them, and a line for each, read where somebody looks at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from envdoctor.rules.tables import Stored, needs

FORMAT = 5
_ENDS = b"]}"


def store(compiled: Mapping[str, Any]) -> bytes:
    """The compiled rules of a directory, as ``compile_rules`` makes them, in the form that ``read_stored`` reads."""
    tables = [(place, table, json.dumps(dict(table), default=str).encode()) for place, table in compiled["rules"]]
    told = {
        "format": FORMAT,
        "digest": compiled["digest"],
        "awaited": compiled["awaited"],
        "size": sum(len(line) for _, _, line in tables),
        "index": [[place, table["id"] if isinstance(table.get("id"), str) else None, list(needs(table))] for place, table, _ in tables],
        "rules": [],
    }
    first = json.dumps(told).encode().removesuffix(_ENDS)
    return b"\n".join((first, b",\n".join(line for _, _, line in tables), _ENDS))


def read_stored(data: bytes) -> dict[str, Any] | None:
    """The compiled rules, each as a table that is read when it is looked at; None of what is damaged or of another form."""
    first, *lines = data.split(b"\n")
    try:
        told = json.loads(first + _ENDS)
    except (ValueError, RecursionError):
        return None
    if not lines or lines.pop() != _ENDS:
        return None
    lines = [line.removesuffix(b",") for line in lines if line]
    match told:
        case {"format": format_, "digest": str(), "awaited": [*awaited], "size": int(size), "index": [*rows]} if format_ == FORMAT:
            whole = len(rows) == len(lines) and size == sum(map(len, lines)) and all(isinstance(one, str) for one in awaited)
            if whole and all(_is_row(row) for row in rows):
                tables = [(row[0], Stored(row[1], tuple(map(tuple, row[2])), line)) for row, line in zip(rows, lines, strict=True)]
                return {"format": FORMAT, "digest": told["digest"], "awaited": awaited, "rules": tables}
    return None


def _is_row(row: object) -> bool:
    match row:
        case [str(), str() | None, [*needed]]:
            return all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair) for pair in needed)
    return False


__all__ = ["FORMAT", "read_stored", "store"]
