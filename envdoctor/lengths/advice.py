"""What the lengths mean for a plan's micro-batches, and which work on the data or its order would save how much."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.lengths.batches import (
    batches_above,
    cut,
    kept,
    longest_quantile,
    padded_at_random,
    padded_grouped,
    padded_sorted,
    rows_of,
    tokens_of,
)
from envdoctor.lengths.packing import packs_as
from envdoctor.lengths.values import Arrangement, Cost, Histogram, LengthAdvice, Lengths, Saving, quantile
from envdoctor.records import dataclass

_WORTH = 0.001
"""A saving of less than this part is none."""


def advice_on(lengths: Lengths, rows: int, seq_len: int | None, accumulation: int = 1, trainer: str = "") -> LengthAdvice:
    """What micro-batches of ``rows`` rows cost, each row cut at ``seq_len`` tokens (None: never), and what would save.

    ``accumulation`` micro-batches make a step: ``group_by_length`` sorts in larger chunks then. Rows are packed as ``trainer`` does.

    Raises:
        ValueError: ``rows``, ``seq_len`` or ``accumulation`` below 1.
    """
    if rows < 1 or accumulation < 1 or (seq_len is not None and seq_len < 1):
        raise ValueError(f"micro-batches of {rows} rows of at most {seq_len} tokens, {accumulation} a step")
    histogram = cut(lengths.histogram, seq_len)
    at_all = _Whole(rows_of(lengths.histogram), tokens_of(lengths.histogram), _longer(lengths.histogram, seq_len))
    now = _cost("random", histogram, rows, padded_at_random(histogram, rows), at_all)
    fixed = None if seq_len is None else _fixed(histogram, rows, seq_len, at_all)
    savings = [
        saving
        for saving in _savings(histogram, rows, seq_len or histogram[-1][0], accumulation, trainer, now, at_all)
        if saving.saved > _WORTH or saving.memory_saved > _WORTH
    ]
    savings.sort(key=lambda saving: -saving.saved)
    p50, p90, p99 = (longest_quantile(histogram, rows, part) for part in (0.5, 0.9, 0.99))
    return LengthAdvice(rows, seq_len, now, fixed, p50, p90, p99, tuple(savings))


def micro_batches_above(lengths: Lengths, rows: int, seq_len: int | None, tokens: float) -> float:
    """How many micro-batches of an epoch in random order are expected to have more than ``tokens`` with padding.

    With the tokens that still fit into a GPU this is how often an epoch would run out of memory.
    """
    return batches_above(cut(lengths.histogram, seq_len), rows, tokens)


@dataclass(frozen=True, slots=True)
class _Whole:
    """The data before anything was done to it, and how many of its rows ``seq_len`` cuts."""

    rows: int
    tokens: int
    rows_cut: int


def _savings(histogram: Histogram, rows: int, length: int, accumulation: int, trainer: str, now: Cost, at_all: _Whole) -> Iterator[Saving]:
    bounds = {quantile(histogram, 0.95): "p95", quantile(histogram, 0.99): "p99"}
    for bound, name in bounds.items():
        if bound < histogram[-1][0]:
            yield _filtered(histogram, rows, bound, name, now, at_all)
            yield _truncated(histogram, rows, bound, name, now, at_all)
    if rows > 1:
        cost = _cost("grouped", histogram, rows, padded_grouped(histogram, rows, accumulation), at_all)
        words = f"group rows of like length into micro-batches: {_percent(cost.waste)} padding instead of {_percent(now.waste)}"
        yield _saving("group-by-length", f"{words}, and the worst micro-batch comes first", "group_by_length: true", cost, now)
        cost = _cost("sorted", histogram, rows, padded_sorted(histogram, rows), at_all)
        words = f"sort all rows by length: {_percent(cost.waste)} padding, but every epoch meets them in the same order"
        yield _saving("sort", words, "", cost, now)
    yield _packed(histogram, rows, length, packs_as(histogram, length, trainer), now, at_all)


def _filtered(histogram: Histogram, rows: int, bound: int, name: str, now: Cost, at_all: _Whole) -> Saving:
    left = kept(histogram, bound)
    cost = _cost("random", left, rows, padded_at_random(left, rows), at_all, rows_cut=0)
    lost = f"{cost.rows_lost} rows longer than {bound} tokens ({_percent(cost.rows_lost / at_all.rows)} of the rows,"
    lost += f" {_percent(cost.tokens_lost / at_all.tokens)} of the tokens)"
    words = f"drop the {lost}: micro-batches of at most {cost.worst_batch} tokens instead of {now.worst_batch}"
    return _saving(f"filter-{name}", words, "", cost, now)


def _truncated(histogram: Histogram, rows: int, bound: int, name: str, now: Cost, at_all: _Whole) -> Saving:
    left = cut(histogram, bound)
    more_cut = sum(count for length, count in histogram if length > bound)
    cost = _cost("random", left, rows, padded_at_random(left, rows), at_all, rows_cut=more_cut)
    lost = f"{more_cut} rows, {_percent(cost.tokens_lost / at_all.tokens)} of the tokens"
    words = f"cut rows at {bound} tokens ({lost}): micro-batches of at most {cost.worst_batch} tokens instead of {now.worst_batch}"
    return _saving(f"truncate-{name}", words, "", cost, now)


def _packed(histogram: Histogram, rows: int, length: int, number: int, now: Cost, at_all: _Whole) -> Saving:
    cost = Cost(
        "packed",
        at_all.rows,
        now.tokens,
        float(number * length),
        -(-number // rows),
        min(rows, number) * length,
        length,
        rows_cut=at_all.rows_cut,
        tokens_lost=now.tokens_lost,
    )
    words = (
        f"pack rows into {number} of {length} tokens: {_percent(cost.waste)} padding instead of {_percent(now.waste)},"
        f" {cost.micro_batches} micro-batches instead of {now.micro_batches}, each of {cost.worst_batch} tokens"
    )
    return _saving("pack", words, "packing: true", cost, now)


def _cost(arrangement: Arrangement, histogram: Histogram, rows: int, padded: float, at_all: _Whole, *, rows_cut: int | None = None) -> Cost:
    number, tokens, longest = rows_of(histogram), tokens_of(histogram), histogram[-1][0]
    return Cost(
        arrangement,
        number,
        tokens,
        padded,
        -(-number // rows),
        min(rows, number) * longest,
        longest,
        rows_lost=at_all.rows - number,
        rows_cut=at_all.rows_cut if rows_cut is None else rows_cut,
        tokens_lost=at_all.tokens - tokens,
    )


def _fixed(histogram: Histogram, rows: int, seq_len: int, at_all: _Whole) -> Cost:
    number = rows_of(histogram)
    return Cost(
        "padded_to_length",
        number,
        tokens_of(histogram),
        float(number * seq_len),
        -(-number // rows),
        min(rows, number) * seq_len,
        seq_len,
        rows_cut=at_all.rows_cut,
        tokens_lost=at_all.tokens - tokens_of(histogram),
    )


def _saving(name: str, words: str, setting: str, cost: Cost, now: Cost) -> Saving:
    saved = 1 - cost.padded / now.padded if now.padded else 0.0
    memory_saved = 1 - cost.worst_batch / now.worst_batch if now.worst_batch else 0.0
    return Saving(name, words, setting, cost, saved, memory_saved)


def _longer(histogram: Histogram, seq_len: int | None) -> int:
    return 0 if seq_len is None else sum(count for length, count in histogram if length > seq_len)


def _percent(part: float) -> str:
    """A part as a person reads it: 34 %, 3.4 %, 0.34 %."""
    hundred = 100 * part
    return f"{hundred:.0f} %" if hundred >= 10 else f"{hundred:.2g} %"
