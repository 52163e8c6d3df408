"""What a child measured, read with suspicion: a value may be of any kind, and a number of any size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeGuard

from envdoctor.probes.verdict import Ruling

# How torch says that a CPU, or its own CPU build, cannot compute what a GPU can.
NOT_ON_THIS_CPU = (
    "not implemented for '",
    "unexpected floating scalartype in at::autocast::prioritize",
    "mixed dtype (cpu): expect parameter to have scalar type of float",
    "expected attn_mask dtype to be bool or to match query dtype",
)


def is_finite(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that a float holds; JSON has whole numbers of any length."""
    return math.isfinite(number(value))


def number(value: object) -> float:
    """The number as a float, NaN where it is none or too large for one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a number of things or bytes: whole, and not more than a machine counts."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def with_assumed(judgement: tuple[Ruling, str], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """The judgement, whose reason says what was assumed of the plan."""
    ruling, reason = judgement
    assumed = params.get("assumed")
    if isinstance(assumed, (list, tuple)) and assumed:
        reason += f" (assumed: {', '.join(str(item) for item in assumed)})"
    return ruling, reason
