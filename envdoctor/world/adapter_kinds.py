"""Which releases of peft know which type of adapter (data/adapter_fields.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from envdoctor.world.tables import BUNDLED


@lru_cache(maxsize=1)
def adapter_types() -> Mapping[str, Mapping[str, Any]]:
    """What is known of each type: its first release, the last one where it is gone again, and its fields."""
    found = json.loads((BUNDLED / "adapter_fields.json").read_bytes())
    types: Mapping[str, Mapping[str, Any]] = found["types"]
    return types


def is_kind(kind: str) -> bool:
    """Whether any release of peft has an adapter of this type."""
    return kind in adapter_types()


def releases_of(kind: str) -> tuple[str, str | None]:
    """The first release of peft that has the type, and the last one where it is gone again.

    Raises:
        KeyError: no release has it.
    """
    entry = adapter_types()[kind]
    return entry["first"], entry.get("last")
