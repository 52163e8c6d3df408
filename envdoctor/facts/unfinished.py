"""Pre-, post- and development releases against the bounds that requirements mostly name, without packaging being asked."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

_Place: TypeAlias = "tuple[tuple[int, ...], int, int, int, bool, int]"
"""Where a version stands among all: its release number, the kind and the number of the pre-release, the post-release, whether it is
no development release, and the number of that."""

_VERSION = re.compile(
    r"([0-9]+(?:\.[0-9]+)*)(?:[-.]?(a|b|rc)([0-9]+))?(?:\.post([0-9]+))?(?:\.dev([0-9]+))?(\+[a-z0-9]+(?:\.[a-z0-9]+)*)?", re.ASCII
)
_CLAUSE = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*([a-z0-9.-]+)\s*", re.ASCII)
_KINDS = {"a": 0, "b": 1, "rc": 2}
_ONLY_DEV, _NO_PRE, _NO_POST = -1, 3, -1


def admits(part: str, version: str) -> bool | None:
    """Whether a specifier set admits a version, both in their normal form; None for what is left to packaging.

    That is what lies at a bound of ``<`` and ``>`` and is no final release: whether 2.0rc1 is below 2.0 is a rule of its own.
    """
    here = _place(version)
    if here is None:
        return None
    held, final = True, here[1] == _NO_PRE and here[3] == _NO_POST and here[4]
    for piece in filter(None, map(str.strip, part.split(","))):
        clause = _CLAUSE.fullmatch(piece)
        bound = None if clause is None else _place(clause[2])
        if clause is None or bound is None or (clause[1] in "<>" and bound[0] == here[0] and not final):
            return None
        held = held and _compared(clause[1], here, bound)
    return held


def is_prerelease(version: str) -> bool | None:
    """Whether a version is a pre- or development release; None for one that is not in its normal form."""
    here = _place(version)
    return None if here is None else here[1] != _NO_PRE or not here[4]


def _compared(operator: str, here: _Place, bound: _Place) -> bool:
    if operator in ("==", "!="):
        return (here == bound) is (operator == "==")
    return here > bound if operator == ">" else here < bound if operator == "<" else here >= bound if operator == ">=" else here <= bound


@lru_cache(maxsize=4096)
def _place(text: str) -> _Place | None:
    """The place of a version, whatever its label; None for one that is not in its normal form."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    kind = _KINDS[found[2]] if found[2] else _ONLY_DEV if found[5] and not found[4] else _NO_PRE
    return tuple(numbers), kind, int(found[3] or 0), int(found[4] or _NO_POST), not found[5], int(found[5] or 0)


__all__ = ["admits", "is_prerelease"]
