"""What an estimate says: the moments of a run, the terms of each, and a range that is honest about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from envdoctor.records import dataclass

GIB = 2**30
_TWICE = 2.0
Term = Literal["weights", "adapters", "gradients", "optimizer", "activations", "logits", "other"]
TERMS: tuple[Term, ...] = ("weights", "adapters", "gradients", "optimizer", "activations", "logits", "other")


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes, from what is surely needed to what may be."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Moment:
    """One point of a run and what lies in the memory of one GPU then, in bytes."""

    name: str
    terms: Mapping[Term, float]

    @property
    def total(self) -> float:
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class Assumption:
    """A fact that nobody stated, and what was taken in its place; ``why`` in a few words, such as ``default of peft 0.17.1``."""

    fact: str
    assumed: object
    why: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory of the fullest GPU.

    ``allocated`` is what ``torch.cuda.max_memory_allocated()`` would say; ``reserved`` what the allocator holds of the driver;
    ``beside`` what the CUDA context and its libraries take outside of both. ``moments`` are in their order in time.
    ``notes`` are sentences that a reader of the number has to know. ``guessed`` says that the range spans what nobody stated, so that its
    expected figure decides nothing. ``ends`` are bytes of the expected allocation that only the ends of blocks take.
    """

    method: Literal["closed-form", "fake-tensors"]
    moments: tuple[Moment, ...]
    allocated: Range
    reserved: Range
    beside: Range
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    guessed: bool = False
    ends: float = 0.0

    @property
    def is_a_range(self) -> bool:
        """Whether the answer is the range and no figure in it: what nobody stated leaves more than twice between its ends."""
        return self.guessed and self.allocated.high > _TWICE * self.allocated.low

    @property
    def peak(self) -> Moment:
        """The moment with the most; the earlier one of two."""
        return max(self.moments, key=lambda moment: moment.total)
