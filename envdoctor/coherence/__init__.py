"""Whether the files of a snapshot agree with each other, and with the libraries that will read them.

Nothing is loaded: configuration files, headers and the syntax of code are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Defect, Facts, Skip
from envdoctor.records import dataclass
from envdoctor.sources.model.snapshot import Snapshot

Check = Callable[[Snapshot, Facts], Iterable[Defect | Hit]]


@dataclass(frozen=True, slots=True)
class Examined:
    """What the checks found, and what they could not read."""

    hits: tuple[Hit, ...] = ()
    defects: tuple[Defect, ...] = ()
    skips: tuple[Skip, ...] = ()


def examine(snapshot: Snapshot, facts: Facts) -> Examined:
    """Run every check of this room on a snapshot, beside all that is known of the situation."""
    before, files = len(snapshot.directory.skips), len(snapshot.defects)
    found = [one for check in _checks() for one in check(snapshot, facts)]
    return Examined(
        tuple(one for one in found if isinstance(one, Hit)),
        (*snapshot.defects[files:], *(one for one in found if isinstance(one, Defect))),
        tuple(snapshot.directory.skips[before:]),
    )


def _checks() -> tuple[Check, ...]:
    from envdoctor.coherence import (
        adapter,
        arithmetic,
        auto_map,
        chat_template,
        embeddings,
        generation,
        pickles,
        quantization,
        special_tokens,
        weights,
    )

    rooms = (weights, arithmetic, embeddings, pickles, special_tokens, chat_template, generation, auto_map, quantization, adapter)
    return tuple(check for room in rooms for check in room.CHECKS)
