"""What is counted in place of seconds tells work in proportion from work by squares."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.steps import IN_PROPORTION, growth, steps


def once(size: int) -> Callable[[], object]:
    return lambda: [number for number in range(size)]  # noqa: C416 - the steps are the point


def by_squares(size: int) -> Callable[[], object]:
    return lambda: [other for number in range(size) for other in range(number)]


def test_growth_tells_squares_from_proportion() -> None:
    assert 3 < growth(once, 500) < IN_PROPORTION
    assert growth(by_squares, 30) > 2 * IN_PROPORTION


def test_steps_are_the_same_each_time() -> None:
    assert steps(once(100)) == steps(once(100)) > 100


def test_what_traced_before_traces_again() -> None:
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        steps(lambda: 1 / 0)
    assert sys.gettrace() is before
