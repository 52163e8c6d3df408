"""Whether what a plan needs goes into the memory of a GPU.

Decided on what is allocated, with what lies beside it: the CUDA context and what the allocator cannot use. What torch keeps reserved beyond
that it gives back before it fails: runs of 74.8 GiB allocated have finished on an A100 of 80 GB, with 75.7 to 75.9 GiB on nvidia-smi
(fms-acceleration's benchmarks, ``scripts/benchmarks/refs/a100_80gb.csv``).
"""

from __future__ import annotations

from typing import Literal

from envdoctor.memory.estimate import Estimate, Range
from envdoctor.records import dataclass

Fits = Literal["yes", "tight", "no", "unknown"]

# Shares of what is allocated that the allocator loses to fragments when memory is short. The run of 74.8 GiB left at most 1.1 GiB for the
# context and fragments together, so that 1 % is the rule; 4 % is what was left between it and the 79.15 GiB of its card.
_FRAGMENTS = Range(0.0, 0.01, 0.04)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``memory`` is what torch may use of one GPU, ``needed`` what the plan needs of it with all that lies beside; in bytes.

    ``yes``: the high end fits, and what torch is expected to reserve as well. Of 198 published runs that ended well and that the first
    alone tells ``yes``, all stay so; with the high end of what is reserved 33 of them would be ``tight``.
    ``no``: not even the expected allocation does, with the smallest context and an allocator that loses nothing. ``tight``: between the
    two, where what decides is in no estimate. That ``no`` starts from the expected figure, and not from the low end, errs least: of runs
    just at that border as many fit as do not, and of all beyond it fewer. Ends of blocks, which not every run has, refuse none.
    ``unknown``: nobody said how much memory there is, or whether it fits depends on what nobody stated (``guessed``).
    """

    fits: Fits
    memory: float | None
    needed: Range
    fragments: Range
    most: float | None = None

    @property
    def spare(self) -> float | None:
        """Bytes left of the memory beside the expected need; negative where it is too little."""
        return None if self.memory is None else self.memory - self.needed.expected


def verdict(estimate: Estimate, memory: float | None, most: float | None = None) -> Verdict:
    """Whether the estimate fits into ``memory``, the bytes of one GPU that torch may use. Up to ``most`` it is not refused."""
    allocated, beside = estimate.allocated, estimate.beside
    fragments = Range(
        allocated.low * _FRAGMENTS.low, allocated.expected * _FRAGMENTS.expected, max(allocated.high, allocated.expected) * _FRAGMENTS.high
    )
    needed = Range(
        allocated.low + beside.low + fragments.low,
        allocated.expected + beside.expected + fragments.expected,
        allocated.high + beside.high + fragments.high,
    )
    if memory is None:
        return Verdict("unknown", None, needed, fragments)
    fits: Fits = "tight"
    most = max(memory, most or 0.0)
    if max(needed.high, estimate.reserved.expected + beside.expected) <= memory:
        fits = "yes"
    elif allocated.low + beside.low > most:
        fits = "no"
    elif estimate.guessed:
        fits = "unknown"
    elif allocated.expected - estimate.ends + beside.low > most:
        fits = "no"
    return Verdict(fits, memory, needed, fragments, most)
