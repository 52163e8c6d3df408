"""Imports that break with what an installer would take of an open range, or of a package that no line names.

Nobody has installed it yet: what follows is possible, and settled by saying which release is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.atlas import IMPORT_BREAKS, atlas_breaks
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.records import replace

_PACKAGE = "packages."


def breaks_of_newest(facts: Facts, taken: Facts) -> Iterator[Hit]:
    """The breaks between a package that the files name and another one, of which at least one release is left open.

    ``taken`` are the facts with what an installer would take.
    """
    for hit in atlas_breaks(taken):
        names = tuple(f"{_PACKAGE}{name}" for name in hit.packages)
        left_open = tuple(name for name in names if not isinstance(facts.value(name), Exact))
        if hit.rule == IMPORT_BREAKS and left_open and any(name in facts for name in names):
            told = [f"{name.removeprefix(_PACKAGE)} {taken.value(name)} ({taken[name].origin.source})" for name in left_open]
            yield replace(hit, outcome=None, missing=left_open, detail=f"{hit.detail}; left open: {', '.join(told)}", newest=True)
