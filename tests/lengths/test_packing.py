"""Packs as trainers make them, against their own loops over single rows."""

from __future__ import annotations

import bisect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.lengths.batches import packs, rows_of
from envdoctor.lengths.packing import knapsacks, packs_as

LENGTHS = st.dictionaries(st.integers(1, 60), st.integers(1, 9), min_size=1, max_size=12)


def one_by_one(histogram: tuple[tuple[int, int], ...], length: int, most: int) -> int:
    """LLaMA-Factory's way, with axolotl's bound."""
    numbers = sorted(tokens for tokens, count in histogram for _ in range(count))
    filled = 0
    while numbers:
        room, rows = length, 0
        while rows < most and (place := bisect.bisect(numbers, room)):
            room -= numbers.pop(place - 1)
            rows += 1
        filled += 1
    return filled


@given(LENGTHS, st.integers(60, 200), st.integers(1, 12))
def test_packs_of_equal_rows_are_counted_at_once(lengths: dict[int, int], length: int, most: int) -> None:
    histogram = tuple(sorted(lengths.items()))
    assert knapsacks(histogram, length, most) == one_by_one(histogram, length, most)
    assert knapsacks(histogram, length) == one_by_one(histogram, length, 10**9)


@pytest.mark.parametrize("trainer", ["trl", "llamafactory", "ms-swift", "axolotl", "", "another"])
def test_a_few_rows_are_one_part(trainer: str) -> None:
    histogram = ((10, 7), (40, 5), (90, 3))
    assert packs_as(histogram, 100, trainer) == packs(histogram, 100) == 6


def test_what_is_packed_in_parts_leaves_more_packs_begun() -> None:
    histogram = ((7, 3000), (100, 3500), (450, 1500))
    whole, parts = (packs_as(histogram, 1000, trainer) for trainer in ("", "trl"))
    assert whole < parts <= whole + rows_of(histogram) // 1000
