"""How much a piece of work does, counted instead of timed: the same on a busy machine, a slow one and under coverage.

A step is a line of Python or the call of a function. Whether a reader takes time in proportion to what it reads shows in how its steps
grow with the size of the text; a clock would say more of the machine than of the reader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(work: Callable[[], object]) -> int:
    """The lines and calls of Python that ``work`` runs in this thread."""
    counted = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal counted
        if event in ("line", "call"):
            counted += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times the steps four times the size takes: about 4 where the work is in proportion, 16 where it is by squares.

    ``work`` makes the work of a size. It is done once beforehand, so that what is kept from then on is made already.
    """
    work(size)()
    return steps(work(4 * size)) / steps(work(size))


IN_PROPORTION = 5.0
"""A growth below this is that of work in proportion to its size."""
