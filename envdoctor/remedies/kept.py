"""The remedies of an installed stack, kept between runs: the search costs more than all that comes before it.

They follow from the facts, the findings, the rules, the tables and the atlas alone, and stand until one of these is another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.atlas.shelf import files_of
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Facts
from envdoctor.files import kept
from envdoctor.remedies.remedy import Change, Move, Remedy
from envdoctor.world import tables
from envdoctor.world.releases import as_of

_HERE = os.path.dirname(os.path.dirname(__file__))
_DECIDING = tuple(os.path.join(_HERE, room) for room in ("atlas", "checks", "engine", "facts", "remedies", "rules", "world"))


def key(stated: Facts, goals: Sequence[Finding], digest: str) -> str:
    """All that the remedies of some findings follow from; ``digest`` is that of the rules."""
    facts = [repr(fact) for _, fact in sorted(stated.by_name.items())]
    packages = sorted(name.removeprefix("packages.") for name in stated.by_name if name.startswith("packages."))
    bundled = (str(table) for table in sorted(tables.BUNDLED.iterdir()))
    made_by = (*_DECIDING, *bundled, *tables.files_of("releases"), *files_of(packages))
    return kept.key(("remedies", digest, as_of(), repr(stated.closed), *facts, *map(_goal, goals)), made_by)


def _goal(goal: Finding) -> str:
    """A finding without its rule's text, which the digest stands for."""
    own = (goal.status, goal.severity, goal.because, goal.missing, goal.detail, goal.packages, goal.pins, goal.plan, goal.newest, goal.edge)
    return repr((goal.rule.id, *own))


def recall(directory: Path, of: str) -> tuple[Remedy, ...] | None:
    """The remedies that were found before; None where none are kept, or what is kept is damaged."""
    before = kept.recall(directory, of)
    try:
        return None if before is None else tuple(map(_remedy, before["remedies"]))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def keep(directory: Path, of: str, remedies: Sequence[Remedy]) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    kept.keep(directory, of, {"remedies": [_row(remedy) for remedy in remedies]}, {})


_TEXTS = ("clears", "unfixable", "removes", "in_code")
_TEXT = ("verified", "proof", "conflict", "index")


def _row(remedy: Remedy) -> dict[str, object]:
    """All that a remedy of the search says: it proposes no settings."""
    return {
        "pins": dict(remedy.pins),
        "changes": [[one.package, one.before, one.pin, one.clears, one.reason] for one in remedy.changes],
        "moves": [[one.package, one.before, one.after] for one in remedy.moves],
        **{name: getattr(remedy, name) for name in (*_TEXTS, *_TEXT, "steps", "days")},
    }


def _remedy(row: Mapping[str, Any]) -> Remedy:
    """A remedy from its row.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is none.
    """
    clears, unfixable, removes, in_code = (_texts(row[name]) for name in _TEXTS)
    verified, proof, conflict, index = (_text(row[name]) for name in _TEXT)
    return Remedy(
        {_text(name): _text(pin) for name, pin in row["pins"].items()},
        clears,
        unfixable,
        verified,
        tuple(map(_change, row["changes"])),
        removes,
        tuple(Move(*map(_text, move)) for move in row["moves"]),
        proof,
        conflict,
        index,
        _number(row["steps"]),
        _number(row["days"]),
        in_code=in_code,
    )


def _change(row: Sequence[object]) -> Change:
    package, before, pin, clears, reason = row
    return Change(_text(package), _text(before), _text(pin), _texts(clears), _text(reason))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("no texts")
    return tuple(map(_text, value))


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError("no number")
    return value


__all__ = ["keep", "key", "recall"]
