"""Batches from a histogram of lengths: every expectation is that over all orders of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.lengths.batches import (
    batches_above,
    cut,
    expected_longest,
    kept,
    longest_quantile,
    not_longer,
    packs,
    padded_at_random,
    padded_grouped,
    padded_sorted,
    rows_of,
    tokens_of,
)
from envdoctor.lengths.values import Histogram, quantile

FEW = st.lists(st.integers(0, 9), min_size=1, max_size=6)
MANY = st.lists(st.integers(0, 40), min_size=1, max_size=80)


def histogram_of(lengths: list[int]) -> Histogram:
    return tuple(sorted(Counter(lengths).items()))


def batches(order: tuple[int, ...] | list[int], rows: int) -> Iterator[tuple[int, ...] | list[int]]:
    return (order[start : start + rows] for start in range(0, len(order), rows))


def padded(order: tuple[int, ...] | list[int], rows: int) -> int:
    return sum(len(batch) * max(batch) for batch in batches(order, rows))


def mean_over_orders(lengths: list[int], cost: Callable[[tuple[int, ...]], int]) -> float:
    orders = list(permutations(lengths))
    return float(Fraction(sum(cost(order) for order in orders), len(orders)))


@given(FEW, st.integers(1, 7))
def test_padding_in_random_order_is_the_mean_over_all_orders(lengths: list[int], rows: int) -> None:
    expected = mean_over_orders(lengths, lambda order: padded(order, rows))
    assert padded_at_random(histogram_of(lengths), rows) == pytest.approx(expected)


@given(FEW, st.integers(1, 3), st.integers(1, 2))
def test_padding_in_groups_is_the_mean_over_all_orders(lengths: list[int], rows: int, accumulation: int) -> None:
    step = rows * accumulation
    size = max(1, min(len(lengths) // (step * 4), 50)) * step

    def cost(order: tuple[int, ...]) -> int:
        return sum(padded(sorted(mega, reverse=True), rows) for mega in batches(order, size))

    assert padded_grouped(histogram_of(lengths), rows, accumulation) == pytest.approx(mean_over_orders(lengths, cost))


@pytest.mark.large
def test_padding_in_groups_of_many_rows_is_that_of_many_shuffles() -> None:
    """Whole mega-batches of fifty steps; the figure is the mean of 400 shuffles with a seed, and its standard error a thousandth."""
    rng = Random(7)
    lengths = [int(rng.lognormvariate(5, 0.8)) + 1 for _ in range(1234)]
    total = 0
    for _ in range(400):
        rng.shuffle(lengths)
        total += sum(padded(sorted(mega, reverse=True), 4) for mega in batches(lengths, 200))
    assert padded_grouped(histogram_of(lengths), 4) == pytest.approx(total / 400, rel=1e-3)


@given(MANY, st.integers(1, 90))
def test_sorted_rows_pad_as_when_each_is_looked_at(lengths: list[int], rows: int) -> None:
    assert padded_sorted(histogram_of(lengths), rows) == padded(sorted(lengths, reverse=True), rows)


@given(MANY, st.integers(0, 20))
def test_packs_are_those_of_best_fit_decreasing_row_by_row(lengths: list[int], more: int) -> None:
    length = max(1, max(lengths) + more)
    free: list[int] = []
    for tokens in sorted((one for one in lengths if one), reverse=True):
        room = min((room for room in free if room >= tokens), default=None)
        if room is None:
            free.append(length - tokens)
        else:
            free[free.index(room)] = room - tokens
    found = packs(histogram_of(lengths), length)
    assert found == len(free)
    assert found * length >= sum(lengths)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(1, 250))
def test_the_law_of_the_longest_is_that_of_subsets(lengths: list[int], rows: int) -> None:
    histogram = histogram_of(lengths)
    drawn = min(rows, len(lengths))
    expected = [comb(sum(1 for one in lengths if one <= length), drawn) / comb(len(lengths), drawn) for length, _count in histogram]
    assert not_longer(histogram, rows) == pytest.approx(expected)


@given(FEW, st.integers(1, 6), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_of_the_longest_is_reached_with_its_probability(lengths: list[int], rows: int, part: float) -> None:
    found = longest_quantile(histogram_of(lengths), rows, part)
    longest = [max(order[:rows]) for order in permutations(lengths)]
    assert sum(one <= found for one in longest) >= part * len(longest) - 1e-6
    assert sum(one < found for one in longest) < part * len(longest) + 1e-6


@given(FEW, st.integers(1, 4), st.integers(0, 40))
def test_batches_above_a_number_of_tokens_are_counted_over_all_orders(lengths: list[int], rows: int, tokens: int) -> None:
    expected = mean_over_orders(lengths, lambda order: sum(len(batch) * max(batch) > tokens for batch in batches(order, rows)))
    assert batches_above(histogram_of(lengths), rows, tokens) == pytest.approx(expected)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(1, 9), st.randoms())
def test_the_orders_stand_in_their_order(few: list[int], rows: int, rng: Random) -> None:
    """Where all batches are full no order needs less than sorting, and none more than padding all to the longest."""
    lengths = few + [rng.choice(few) for _ in range(-len(few) % rows)]
    histogram = histogram_of(lengths)
    by_sorting, by_groups, at_random = padded_sorted(histogram, rows), padded_grouped(histogram, rows), padded_at_random(histogram, rows)
    close = 1e-6 * (1 + max(lengths) * len(lengths))
    assert tokens_of(histogram) <= by_sorting <= at_random + close
    assert by_sorting <= by_groups + close
    assert at_random <= max(lengths) * len(lengths) + close
    assert padded_at_random(histogram, 1) == pytest.approx(sum(lengths))
    assert expected_longest(histogram, len(lengths)) == max(lengths)


@given(MANY, st.integers(1, 50))
def test_cutting_and_keeping_are_what_they_are_to_each_row(lengths: list[int], bound: int) -> None:
    histogram = histogram_of(lengths)
    assert cut(histogram, bound) == histogram_of([min(one, bound) for one in lengths])
    assert cut(histogram, None) == histogram
    assert kept(histogram, bound) == histogram_of([one for one in lengths if one <= bound])
    assert (rows_of(histogram), tokens_of(histogram)) == (len(lengths), sum(lengths))


@given(MANY, st.floats(0.001, 1))
def test_a_quantile_is_a_length_that_so_many_do_not_exceed(lengths: list[int], part: float) -> None:
    found = quantile(histogram_of(lengths), part)
    assert found in lengths
    assert sum(one <= found for one in lengths) >= part * len(lengths) - 1e-6
    assert sum(one < found for one in lengths) < part * len(lengths) + 1e-6


def test_a_million_rows_are_answered_at_once_and_exactly() -> None:
    """One row of 4096 among a million of 100: its batch alone is padded to it."""
    histogram = ((100, 999_999), (4096, 1))
    assert padded_at_random(histogram, 8) == pytest.approx(100 * 999_992 + 8 * 4096)
    assert padded_grouped(histogram, 8) == pytest.approx(100 * 999_992 + 8 * 4096)
    assert batches_above(histogram, 8, 800) == pytest.approx(1)
    assert padded_at_random(histogram, 100) == pytest.approx(100 * 999_900 + 100 * 4096)
