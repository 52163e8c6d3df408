"""Whether what a plan needs goes into the memory of a GPU.

Decided on what is allocated, with what lies beside it: the CUDA context and what the allocator cannot use. What torch keeps reserved beyond
that it gives back before it fails: runs of 74.8 GiB allocated have finished on an A100 of 80 GB, with 75.7 to 75.9 GiB on nvidia-smi
(fms-acceleration's benchmarks, ``scripts/benchmarks/refs/a100_80gb.csv``).
"""

from __future__ import annotations

from typing import Literal

from envdoctor.facts.fact import Facts
from envdoctor.memory.estimate import GIB, Estimate, Range
from envdoctor.records import dataclass

Fits = Literal["yes", "tight", "no", "unknown"]

# Shares of what is allocated that the allocator loses to fragments when memory is short. The run of 74.8 GiB left at most 1.1 GiB for the
# context and fragments together, so that 1 % is the rule; 4 % is what was left between it and the 79.15 GiB of its card.
_FRAGMENTS = Range(0.0, 0.01, 0.04)
# What a card is sold with against what torch may use of it, in GiB: 24 and 23.64 (the cards of zjunlp/DeepKE#519), 80 and 79.15 (A100).
_SOLD, _KEPT = (24.0, 80.0), (0.36, 0.85)
_LEAST_KEPT = 0.2


@dataclass(frozen=True, slots=True)
class Verdict:
    """``memory`` is what torch may use of one GPU, ``needed`` what the plan needs of it with all that lies beside; in bytes.

    ``yes``: the high end fits. ``no``: not even the expected allocation does, with the smallest context and an allocator that loses
    nothing. ``tight``: between the two, where what decides is in no estimate. That ``no`` starts from the expected figure, and not from
    the low end, errs least: of runs just at that border as many fit as do not, and of all beyond it fewer. ``unknown``:
    nobody said how much memory there is, or whether it fits depends on what nobody stated (``guessed``).
    """

    fits: Fits
    memory: float | None
    needed: Range
    fragments: Range

    @property
    def spare(self) -> float | None:
        """Bytes left of the memory beside the expected need; negative where it is too little."""
        return None if self.memory is None else self.memory - self.needed.expected


def verdict(estimate: Estimate, memory: float | None) -> Verdict:
    """Whether the estimate fits into ``memory``, the bytes of one GPU that torch may use (see ``usable_memory``)."""
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
    if needed.high <= memory:
        fits = "yes"
    elif allocated.low + beside.low > memory:
        fits = "no"
    elif estimate.guessed:
        fits = "unknown"
    elif allocated.expected + beside.low > memory:
        fits = "no"
    return Verdict(fits, memory, needed, fragments)


def usable_memory(facts: Facts) -> float | None:
    """Bytes of one GPU that torch may use; None where the memory is not known.

    The driver keeps a part of what is sold, and of what nvidia-smi calls total. A figure with decimals that somebody states (23.64) is
    torch's own, from the message of a failed allocation, and is taken as it is.
    """
    fact = facts.get("gpu.memory_gib")
    if fact is None or not isinstance(fact.value, (int, float)) or isinstance(fact.value, bool) or fact.value <= 0:
        return None
    size = float(fact.value)
    measured = not size.is_integer() and fact.origin.source != "nvidia-smi" and not fact.origin.source.startswith("known GPU")
    return size * GIB if measured else usable_of(size) * GIB


def usable_of(size: float) -> float:
    """GiB that torch may use of a card that is sold with ``size`` GiB: a line through two cards of which both are known."""
    slope = (_KEPT[1] - _KEPT[0]) / (_SOLD[1] - _SOLD[0])
    kept = max(_LEAST_KEPT, _KEPT[0] + slope * (size - _SOLD[0]))
    return max(0.0, size - kept)
