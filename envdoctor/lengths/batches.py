"""What batches cost, from the histogram of lengths alone: expectations over the order of the rows are exact, nothing is sampled.

All sums follow from one identity: the longest of a batch is the sum over the steps between neighbouring lengths of whether the batch
holds a row of at least the upper one. Random micro-batches are random subsets without replacement, so how many such rows one holds
has the hypergeometric law.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import accumulate
from math import exp, lgamma, sqrt

from envdoctor.lengths.values import Histogram

_FAR = 9.0
"""Standard deviations of the hypergeometric law beyond which nothing is summed: less than 1e-15 of it lies there."""


def cut(histogram: Histogram, longest: int | None) -> Histogram:
    """The histogram of the same rows, none longer than ``longest``; None leaves them as they are."""
    if longest is None or histogram[-1][0] <= longest:
        return histogram
    kept = tuple((length, count) for length, count in histogram if length < longest)
    return (*kept, (longest, sum(count for _length, count in histogram) - rows_of(kept)))


def kept(histogram: Histogram, longest: int) -> Histogram:
    """The histogram of those rows that are not longer than ``longest``."""
    return tuple((length, count) for length, count in histogram if length <= longest)


def rows_of(histogram: Histogram) -> int:
    return sum(count for _length, count in histogram)


def tokens_of(histogram: Histogram) -> int:
    return sum(length * count for length, count in histogram)


def not_longer(histogram: Histogram, rows: int) -> list[float]:
    """For each length, the probability that no row of a random batch of ``rows`` is longer: C(rows up to it, b) / C(all rows, b)."""
    total = rows_of(histogram)
    rows = min(rows, total)
    law = []
    for reached in accumulate(count for _length, count in histogram):
        if reached < rows:
            law.append(0.0)
        elif rows <= 64:
            chance = 1.0
            for drawn in range(rows):
                chance *= (reached - drawn) / (total - drawn)
            law.append(chance)
        else:
            law.append(min(1.0, exp(_log_choose(reached, rows) - _log_choose(total, rows))))
    law[-1] = 1.0
    return law


def expected_longest(histogram: Histogram, rows: int) -> float:
    """The mean length that a random batch of ``rows`` rows is padded to."""
    before, total = 0.0, 0.0
    for (length, _count), chance in zip(histogram, not_longer(histogram, rows), strict=True):
        total += length * (chance - before)
        before = chance
    return total


def longest_quantile(histogram: Histogram, rows: int, part: float) -> int:
    """The smallest length that a random batch of ``rows`` rows is padded to, or to less, with probability ``part``."""
    law = not_longer(histogram, rows)
    return histogram[min(bisect_left(law, part), len(law) - 1)][0]


def padded_at_random(histogram: Histogram, rows: int) -> float:
    """Tokens with padding of one epoch in random order, micro-batches of ``rows`` and a last one of what is left: the expectation."""
    full, rest = divmod(rows_of(histogram), rows)
    padded = full * rows * expected_longest(histogram, rows) if full else 0.0
    return padded + (rest * expected_longest(histogram, rest) if rest else 0.0)


def batches_above(histogram: Histogram, rows: int, tokens: float) -> float:
    """How many micro-batches of an epoch in random order are expected to have more than ``tokens`` with padding."""
    full, rest = divmod(rows_of(histogram), rows)
    return sum(
        number * (1 - _chance_up_to(histogram, size, tokens / size)) for number, size in ((full, rows), (1 if rest else 0, rest)) if number
    )


def padded_sorted(histogram: Histogram, rows: int) -> int:
    """Tokens with padding of one epoch, the rows sorted by length, longest first."""
    padded, before, total = 0, 0, rows_of(histogram)
    for length, count in reversed(histogram):
        # A batch is padded to its first row: those that start among the rows of this length.
        first, end = -(-before // rows) * rows, before + count
        if first < end:
            started = -(-(end - first) // rows)
            padded += length * min(started * rows, total - first)
        before = end
    return padded


def padded_grouped(histogram: Histogram, rows: int, accumulation: int = 1) -> float:
    """Tokens with padding of one epoch under ``group_by_length``: the expectation over the order of the rows.

    As transformers does it (``get_length_grouped_indices`` of its trainer_pt_utils): the shuffled rows are cut into mega-batches of 50
    steps' rows, or of a quarter of the data where that is less, and each is sorted. It then swaps the longest row of all into the first
    place, which is left out here and changes two micro-batches of an epoch.
    """
    total = rows_of(histogram)
    of_step = rows * accumulation
    size = min(total, max(1, min(total // (of_step * 4), 50)) * of_step)
    full, rest = divmod(total, size)
    return full * _padded_mega_batch(histogram, size, rows) + (_padded_mega_batch(histogram, rest, rows) if rest else 0.0)


def packs(histogram: Histogram, length: int) -> int:
    """How many packs of ``length`` tokens best-fit decreasing fills with the rows, none of which is longer.

    Each row, longest first, goes into the fullest pack that has room for it: what TRL calls ``bfd``, over all rows at once.
    """
    free: dict[int, int] = {}
    rooms: list[int] = []

    def leave(room: int, number: int) -> None:
        if room and number:
            if room not in free:
                insort(rooms, room)
            free[room] = free.get(room, 0) + number

    def take(room: int, number: int) -> None:
        free[room] -= number
        if not free[room]:
            del free[room]
            rooms.remove(room)

    opened = 0
    for tokens, count in reversed(histogram):
        left = count
        while left and tokens:
            place = bisect_left(rooms, tokens)
            fresh = place == len(rooms)
            room = length if fresh else rooms[place]
            # A pack that was begun stays the fullest with room until no other row of this length fits in.
            each = room // tokens
            number = left // each if fresh else min(free[room], left // each)
            one_more = left - number * each if fresh or number < free[room] else 0
            if fresh:
                opened += number + (one_more > 0)
            else:
                take(room, number + (one_more > 0))
            leave(room - each * tokens, number)
            leave(room - one_more * tokens, int(one_more > 0))
            left -= number * each + one_more
    return opened


def _padded_mega_batch(histogram: Histogram, size: int, rows: int) -> float:
    """Expected tokens with padding of ``size`` rows drawn at random and sorted: a batch of every ``rows`` is padded to its first."""
    short = -size % rows
    last = size // rows * rows
    total, padded, before, at_least = rows_of(histogram), 0.0, 0, rows_of(histogram)
    for length, count in histogram:
        step = length - before
        batches, reached_last = 0.0, 0.0
        for drawn, chance in _drawn(total, at_least, size):
            batches += chance * -(-drawn // rows)
            if drawn > last:
                reached_last += chance
        padded += step * (rows * batches - short * reached_last)
        before, at_least = length, at_least - count
    return padded


def _drawn(total: int, marked: int, size: int) -> Iterator[tuple[int, float]]:
    """How many of ``marked`` rows are among ``size`` drawn of ``total``, with the probability of each number that matters."""
    low, high = max(0, size + marked - total), min(size, marked)
    if low == high:
        yield low, 1.0
        return
    mean = size * marked / total
    spread = sqrt(mean * (1 - marked / total) * (total - size) / max(1, total - 1))
    low, high = max(low, int(mean - _FAR * spread - _FAR)), min(high, int(mean + _FAR * spread + _FAR) + 1)
    chance = exp(_log_choose(marked, low) + _log_choose(total - marked, size - low) - _log_choose(total, size))
    for drawn in range(low, high + 1):
        yield drawn, chance
        chance *= (marked - drawn) * (size - drawn) / ((drawn + 1) * (total - marked - size + drawn + 1))


def _chance_up_to(histogram: Histogram, rows: int, longest: float) -> float:
    place = bisect_left(histogram, (longest, float("inf")))
    return not_longer(histogram, rows)[place - 1] if place else 0.0


def _log_choose(things: int, chosen: int) -> float:
    return lgamma(things + 1) - lgamma(chosen + 1) - lgamma(things - chosen + 1)
