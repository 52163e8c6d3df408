"""Which rules have a say about an installed stack, kept between runs: to see that the others have none takes as long as all the rest of it.

It follows from the facts, the rules, the tables and the code that judges alone, and stands until one of these is another.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.engine.diagnosis import Sifted
from envdoctor.facts.fact import Facts
from envdoctor.files import kept
from envdoctor.world import tables
from envdoctor.world.releases import as_of

_KIND = "sifted-"
_HERE = os.path.dirname(os.path.dirname(__file__))
_DECIDING = tuple(os.path.join(_HERE, room) for room in ("engine", "facts", "rules", "world"))


def key(facts: Facts, hits: Sequence[Hit], digest: str, count: int) -> str:
    """All that decides which rules have a say; ``digest`` is that of the rules, of which so many may hold here."""
    told = [repr(fact) for _, fact in sorted(facts.by_name.items())]
    open_ = [repr((hit.rule, hit.packages, hit.outcome)) for hit in hits]
    # How likely a guess is follows from what an installer would take, and that from all that is known of packages.
    bundled = (str(table) for table in sorted(tables.BUNDLED.iterdir()))
    made_by = (*_DECIDING, *bundled, *tables.files_of("releases"))
    return kept.key((_KIND, digest, str(count), as_of(), repr(facts.closed), *told, *open_), made_by)


def recall(directory: Path, of: str) -> Sifted | None:
    """What was found before; None where nothing is kept, or what is kept is damaged."""
    before = kept.recall(directory, of, _KIND)
    match before:
        case {"telling": [*names], "waiting": [*rows]} if all(isinstance(name, str) for name in names):
            pairs = [(row[0], row[1]) for row in rows if isinstance(row, list) and len(row) == 2]
            if len(pairs) == len(rows) and all(isinstance(name, str) and type(count) is int for name, count in pairs):
                return Sifted(tuple(names), tuple(pairs))
    return None


def keep(directory: Path, of: str, sifted: Sifted) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    kept.keep(directory, of, {"telling": list(sifted.telling), "waiting": [list(row) for row in sifted.waiting]}, {}, _KIND)


__all__ = ["keep", "key", "recall"]
