"""What the released builds of packages have no kernels for: a table by compute capability."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from envdoctor.records import dataclass

_TABLE = Path(__file__).parent.parent / "data" / "wheels_for_gpus.json"


@dataclass(frozen=True, slots=True)
class Unserved:
    """Some releases of a package, the compute capabilities that they do not serve, both as conditions, and what is missing."""

    releases: str
    capabilities: str
    missing: str


@lru_cache(maxsize=1)
def unserved_gpus() -> dict[str, tuple[Unserved, ...]]:
    """The rows of the table, by normalised names of packages."""
    table = json.loads(_TABLE.read_bytes())
    return {name: tuple(Unserved(*row[:3]) for row in rows) for name, rows in table["packages"].items()}


__all__ = ["Unserved", "unserved_gpus"]
