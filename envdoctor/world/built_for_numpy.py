"""From which release on the compiled part of a package fits numpy 2; what came before fits numpy 1 alone."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from envdoctor.records import dataclass

_TABLE = Path(__file__).parent.parent / "data" / "built_for_numpy.json"


@dataclass(frozen=True, slots=True)
class BuiltFor:
    """``first`` is the first release that fits numpy 2, ``last`` the one before it; ``module`` is the import of that one that fails."""

    first: str
    last: str
    module: str


@lru_cache(maxsize=1)
def built_for_numpy() -> dict[str, BuiltFor]:
    """The packages of the table, by their normalised names."""
    table = json.loads(_TABLE.read_bytes())
    return {name: BuiltFor(told["first"], told["last"], told["import"]) for name, told in table["packages"].items()}


__all__ = ["BuiltFor", "built_for_numpy"]
