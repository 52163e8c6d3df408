"""The patterns of calls that a rule waits for, out of its conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor.facts.old_spellings import now_meant
from envdoctor.facts.uses import CODE_USES

_CONDITIONS = ("affected", "error_when")


def patterns_of(table: Mapping[str, Any]) -> Iterator[str]:
    """What the conditions of a rule, as its file has it, ask of a script's uses."""
    for key in _CONDITIONS:
        yield from _patterns(table.get(key))


def _patterns(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _patterns(inner, str(name) if key in ("", "not", "any", "all") else f"{key}.{name}")
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, Mapping):
                yield from _patterns(item)
            elif key in ("calls", CODE_USES) and isinstance(item, str):
                yield from now_meant(item) if key == CODE_USES else (item,)
