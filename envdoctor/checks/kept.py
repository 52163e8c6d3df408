"""What a costly check found, kept between runs.

A snapshot's code against its library costs as much as all other checks together; so does a stack of a hundred packages against the atlas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Skip
from envdoctor.files import kept
from envdoctor.files.kept import Files, Seen, key


def recall(directory: Path, of: str) -> tuple[tuple[Hit, ...], tuple[Skip, ...]] | None:
    """What was found before; None where nothing is kept, it is damaged, or a file that was read is another."""
    before = recall_told(directory, of)
    return None if before is None else before[:2]


def recall_told(directory: Path, of: str) -> tuple[tuple[Hit, ...], tuple[Skip, ...], tuple[str, ...]] | None:
    """What was found before, with the notes that were told of it."""
    before = kept.recall(directory, of)
    if before is None:
        return None
    try:
        hits = tuple(_hit(row) for row in before["hits"])
        return hits, tuple(Skip(str(what), str(why)) for what, why in before["skips"]), _texts(before["notes"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def keep(directory: Path, of: str, hits: Sequence[Hit], skips: Sequence[Skip], files: Files | Seen, notes: Sequence[str] = ()) -> None:
    """Keep what was found; where it cannot be written it is found again next time."""
    rows = {"hits": [_row(hit) for hit in hits], "skips": [[skip.what, skip.why] for skip in skips], "notes": list(notes)}
    kept.keep(directory, of, rows, files)


_TEXT = ("rule", "detail", "edge", "headline", "witness", "advice", "entry")
_TEXTS = ("missing", "packages", "unless", "names", "edges")
_PAIRS = ("because", "pins")


def _row(hit: Hit) -> dict[str, object]:
    """All that a hit says; no check that is kept proposes plan facts."""
    row = {name: getattr(hit, name) for name in (*_TEXT, *_TEXTS, *_PAIRS, "outcome", "file", "line", "yields")}
    return {**row, "parts": [_row(part) for part in hit.parts]}


def _hit(row: Mapping[str, object]) -> Hit:
    """A hit from its row.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is none.
    """
    rule, detail, edge, headline, witness, advice, entry = (_text(row[name]) for name in _TEXT)
    missing, packages, unless, names, edges = (_texts(row[name]) for name in _TEXTS)
    because, pins = (_pairs(row[name]) for name in _PAIRS)
    outcome, file, line, yields = (row[name] for name in ("outcome", "file", "line", "yields"))
    if outcome not in (True, False, None) or not isinstance(yields, bool):
        raise ValueError("no hit")
    if not isinstance(file, str | None) or not isinstance(line, int | None):
        raise TypeError("no place")
    parts = tuple(_hit({**part, "parts": []}) for part in _rows(row["parts"]))
    return Hit(rule, None if outcome is None else bool(outcome), because, missing, detail, packages, pins, (), file, line, yields, unless,
               edge, headline, witness, names, advice, entry, edges=edges, parts=parts)  # fmt: skip


def _rows(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise TypeError("no parts")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("no texts")
    return tuple(value)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise TypeError("no pairs")
    return tuple((first, second) for first, second in map(_texts, value))


__all__ = ["keep", "key", "recall", "recall_told"]
