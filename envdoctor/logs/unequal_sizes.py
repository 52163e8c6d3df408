"""Two sizes that do not go together, of which somebody pasted the last line alone: the operation is not told, and so no cause is certain.

torch says it of every addition, product, mask and expand(); what the sides are of is read from their number and size alone.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

_SIZES = re.compile(
    r"[Tt]he (?:size of tensor a|expanded size of the tensor) \((?P<a>\d{1,9})\) must match the (?:size of tensor b|existing size) "
    r"\((?P<b>\d{1,9})\)"
)
_TARGET = re.compile(r"Target sizes: \[(?P<sides>\d{1,9}(?:, -?\d{1,9}){0,7})\]")
_LEAST_VOCABULARY = 20_000
_OF_ATTENTION = 4


def judge_unequal_sizes(failure: Failure) -> Hit | None:
    """What may be behind it, and where to look; None where frames show the operation, or a size is 0."""
    sizes = _SIZES.search(failure.told)
    if sizes is None or failure.frames or "0" in (sizes["a"], sizes["b"]):
        return None
    return Hit(
        "error-of-the-run",
        None,
        detail=f"{_first_guess(failure.told, int(sizes['a']), int(sizes['b']))}the last line of the traceback, which is not here, "
        "names the operation",
        edge="code:two-tensors-of-one-operation-are",
        headline=f"Two tensors of one operation are of different sizes: {sizes['a']} and {sizes['b']}",
        advice="look at that line: a mask or positions: rows cut and padded to one length, at most max_position_embeddings; a weight, an "
        "embedding or a buffer: code, configuration and weights of one model; attention: the releases that the project names",
    )


def _first_guess(told: str, one: int, other: int) -> str:
    """What the shape that was asked for is most often of; empty where it may be anything."""
    target = _TARGET.search(told)
    sides = target["sides"].split(", ") if target is not None else []
    if len(sides) == _OF_ATTENTION:
        return (
            "four sides are mostly those of attention and its mask (batch, heads, queries, keys): the mask and the row, with "
            "what the cache "
            "holds already, differ in length; "
        )
    if min(one, other) >= _LEAST_VOCABULARY and abs(one - other) < _LEAST_VOCABULARY:
        return "sizes so large are mostly those of vocabularies: tokens were added on one side alone, or the weights are of another model; "
    return ""
