"""What searches for pins keep for the next one: nothing of it depends on what a situation has installed or asks for."""

from __future__ import annotations

from collections.abc import Hashable
from weakref import WeakKeyDictionary

from envdoctor.engine.outcomes import Outcomes
from envdoctor.facts.fact import Facts
from envdoctor.remedies.agreement import Agreement
from envdoctor.remedies.candidates import Listed, listed
from envdoctor.remedies.installable import Listing, Requires
from envdoctor.rules.conditions import Known
from envdoctor.world.releases import as_of


class Memory:
    """Releases, and what they require of each other."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.agreement = Agreement(listing)


_KEPT: WeakKeyDictionary[Outcomes, dict[Hashable, Memory]] = WeakKeyDictionary()


def memory_of(outcomes: Outcomes | None, releases: Listed | None, requires: Requires, known: Known, stated: Facts) -> Memory:
    """What is kept as long as the outcomes are; without these a new one, for one search."""
    facts = Facts({name: stated[name] for name in ("python", "os", "machine") if name in stated})
    kept = {} if outcomes is None else _KEPT.setdefault(outcomes, {})
    key = (releases, requires, known, as_of(), *((type(fact.value), fact.value) for fact in facts.values()), tuple(facts))
    found = kept.get(key)
    if found is None:
        found = kept[key] = Memory(Listing(releases or listed, releases, requires, known, facts))
    return found


__all__ = ["Memory", "memory_of"]
