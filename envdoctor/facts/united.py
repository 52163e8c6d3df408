"""Lists that several sources show parts of: one list, each item with the place that shows it."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.fact import Fact, Origin
from envdoctor.records import replace


def unite(some: Sequence[Fact]) -> Fact:
    """What files show of one run, the weakest first; the place is the weakest one's, which may not show all of it."""
    first = some[0]
    placed: dict[str, Origin] = {}
    for one in some:
        if not isinstance(one.value, tuple) or not isinstance(first.value, tuple):
            return some[-1]
        for item, place in _placed(one, one.value).items():
            placed.setdefault(item, place)
    together = tuple(sorted(placed))
    return replace(first, value=together, places=tuple(placed[item] for item in together))


def _placed(fact: Fact, items: tuple[str, ...]) -> dict[str, Origin]:
    """The place of each item of a list, which is the list's own where its reader keeps no other."""
    return dict(zip(items, fact.places or [fact.origin] * len(items), strict=True))
