"""How many packs a trainer makes of the rows: each looks at so many rows at once, and fills packs in its own way.

TRL packs what ``Dataset.map`` hands it, a thousand rows, by best fit (``pack_dataset`` of trl/data_utils.py, "bfd"); LLaMA-Factory the
thousand of ``preprocessing_batch_size`` by ``greedy_knapsack`` (data/processor/processor_utils.py); axolotl the hundred thousand of
``sample_packing_group_size`` by first fit, at most ``sample_packing_bin_size`` rows to a pack (utils/samplers/multipack.py); ms-swift a
thousand (swift/dataset/packing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate

from envdoctor.lengths.batches import packs, rows_of
from envdoctor.lengths.values import Histogram
from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Packer:
    """``fill`` says how many packs of a length hold rows of such lengths; it is given ``at_once`` rows."""

    at_once: int
    fill: Callable[[Histogram, int], int]


def knapsacks(histogram: Histogram, length: int, most: int | None = None) -> int:
    """How many packs are filled one after the other, each with the longest row that still fits in, of at most ``most`` rows.

    First fit decreasing leaves the same packs.
    """
    left = {tokens: count for tokens, count in histogram if tokens}
    lengths, filled = sorted(left, reverse=True), 0
    while lengths:
        room, rows, used = length, 0, {}
        for tokens in lengths:
            taken = min(room // tokens, left[tokens], left[tokens] if most is None else most - rows)
            if taken:
                used[tokens] = taken
                room, rows = room - taken * tokens, rows + taken
        # The same pack as often as there are rows for it.
        times = min(left[tokens] // taken for tokens, taken in used.items())
        filled += times
        for tokens, taken in used.items():
            left[tokens] -= times * taken
        lengths = [tokens for tokens in lengths if left[tokens]]
    return filled


PACKERS: Mapping[str, Packer] = {
    "trl": Packer(1000, packs),
    "llamafactory": Packer(1000, knapsacks),
    "ms-swift": Packer(1000, packs),
    "axolotl": Packer(100_000, lambda histogram, length: knapsacks(histogram, length, 200)),
}


def packs_as(histogram: Histogram, length: int, trainer: str) -> int:
    """How many packs of ``length`` tokens a trainer makes of the rows; one that is not known packs all of them at once.

    Of data that is read in parts, a part with its even share of every length is packed.
    """
    packer = PACKERS.get(trainer)
    if packer is None:
        return packs(histogram, length)
    total = rows_of(histogram)
    if total <= packer.at_once:
        return packer.fill(histogram, length)
    parts = total / packer.at_once
    return round(parts * packer.fill(_even_part(histogram, packer.at_once), length))


def _even_part(histogram: Histogram, rows: int) -> Histogram:
    """So many rows, spread over the lengths as all are."""
    total = rows_of(histogram)
    reached = [round(count * rows / total) for count in accumulate(count for _, count in histogram)]
    before = [0, *reached[:-1]]
    return tuple((tokens, now - then) for (tokens, _), now, then in zip(histogram, reached, before, strict=True) if now > then)
