"""The smallest changes under which a plan fits, in the order in which a practitioner would accept them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import inf
from typing import TypeAlias

from envdoctor.facts.fact import FactValue
from envdoctor.memory.budget import usable_of
from envdoctor.memory.estimate import GIB, Estimate, Range
from envdoctor.memory.fits import Fits, verdict
from envdoctor.memory.moves import Change, Circumstances, Move, Step, go_together, moves
from envdoctor.memory.plan import Plan
from envdoctor.records import dataclass

EstimateWith: TypeAlias = Callable[[Change], Estimate]
"""The estimate of the plan with these facts stated beside its own."""

# Cards as they are sold (GiB), each with one that a person may rent.
CARDS: tuple[tuple[int, str], ...] = (
    (16, "RTX 4080"), (24, "RTX 3090"), (32, "RTX 5090"), (40, "A100 40GB"), (48, "RTX A6000"), (80, "A100 80GB"),
    (96, "RTX PRO 6000 Blackwell"), (141, "H200"), (192, "B200"),
)  # fmt: skip
# Less than this share of the whole is no help.
_WORTH = 0.01
_MOST_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Advice:
    """One change, or several that are made together: what to state, the memory that is allocated then, whether that fits, what it costs."""

    change: Change
    allocated: Range
    fits: Fits
    cost: str


def advise(plan: Plan, estimate_with: EstimateWith, memory: float | None, circumstances: Circumstances | None = None) -> tuple[Advice, ...]:
    """What makes the plan fit into ``memory`` (bytes that torch may use), most acceptable first; nothing where it fits already.

    First every single change that is enough, at its mildest; among them the set of several that costs least, where that is less than any
    of them; last what has to be bought: the fewest GPUs that share the work, and the smallest card. Without ``memory``: what each change
    would leave.
    No advice needs more memory than the plan as it stands, and each that is said to fit does by ``fits.verdict``.
    """
    search = _Search(estimate_with, memory)
    if search.fits({}) == "yes":
        return ()
    known = moves(plan, circumstances or Circumstances())
    if memory is None:
        return tuple(advice for move in known if (advice := search.least(move)) is not None)
    soft = [move for move in known if not move.hardware]
    alone = {move.name: priced for move in known if (priced := search.alone(move)) is not None}
    if "zero" in alone and alone["zero"].advice.fits == "yes":
        # What is shared out among the GPUs that are there needs neither the CPU nor more of them.
        alone = {name: priced for name, priced in alone.items() if name not in ("offload", "gpus")}
    found = [alone[move.name] for move in soft if move.name in alone]
    for together in search.together(soft, found):
        dearer = (place for place, one in enumerate(found) if one.price > together.price)
        found.insert(next(dearer, len(found)), together)
    found += [alone[move.name] for move in known if move.hardware and move.name in alone]
    return (*(one.advice for one in found), *search.card(memory, soft, helped=bool(found)))


@dataclass(frozen=True, slots=True)
class _Priced:
    """``price`` only serves to compare advice with other advice."""

    price: float
    advice: Advice


class _Search:
    """The estimates of changes, each made once."""

    def __init__(self, estimate_with: EstimateWith, memory: float | None) -> None:
        made = lru_cache(maxsize=None)(lambda key: estimate_with(dict(key)))
        self.estimate: EstimateWith = lambda change: made(tuple(sorted(change.items())))
        self.memory = memory
        self.now = self.estimate({})

    def fits(self, change: Change) -> Fits:
        return verdict(self.estimate(change), self.memory).fits

    def helps(self, change: Change) -> bool:
        then = self.estimate(change).allocated
        now = self.now.allocated
        return then.expected < now.expected * (1 - _WORTH) and then.low <= now.low and then.high <= now.high

    def advice(self, change: Change, cost: str) -> Advice:
        return Advice(change, self.estimate(change).allocated, self.fits(change), cost)

    def least(self, move: Move) -> Advice | None:
        """The mildest step that helps at all."""
        return next((self.advice(step.change, step.cost) for step in move.steps if self.helps(step.change)), None)

    def alone(self, move: Move) -> _Priced | None:
        """The mildest step that is surely enough, else the mildest that may be, where nothing is yet."""
        helping = [step for step in move.steps if self.helps(step.change)]
        for wanted in self._wanted():
            for step in helping:
                if self.fits(step.change) == wanted:
                    return _Priced(step.price, self.advice(step.change, step.cost))
        return None

    def together(self, known: Sequence[Move], alone: Sequence[_Priced]) -> list[_Priced]:
        """The cheapest set of changes that may be enough, and the cheapest that surely is; none that costs more than one change alone."""
        strong = {move.name: self._strongest(move) for move in known}
        useful = [move for move in known if strong[move.name] is not None]
        bound: dict[Fits, float] = {fits: self._cheapest(alone, fits) for fits in ("yes", "tight")}
        cheapest: dict[Fits, _Priced] = {}
        for chosen in self._sets(useful):
            steps = [step for move in chosen if (step := strong[move.name]) is not None]
            change = _merged(step.change for step in steps)
            least = sum(min(step.price for step in move.steps) for move in chosen)
            if change is None or least >= max(bound.values()) or not self.helps(change):
                continue
            for wanted in self._wanted():
                if self.fits(change) in ("yes", wanted) and least < bound[wanted]:
                    priced = self._relaxed(chosen, steps, ("yes", wanted))
                    if priced.price < bound[wanted]:
                        bound["tight"] = min(bound["tight"], priced.price)
                        if priced.advice.fits == "yes":
                            bound["yes"] = min(bound["yes"], priced.price)
                        cheapest[priced.advice.fits] = priced
        return sorted(cheapest.values(), key=lambda one: one.price)

    def _wanted(self) -> tuple[Fits, ...]:
        return ("yes", "tight") if self.fits({}) == "no" else ("yes",)

    @staticmethod
    def _cheapest(alone: Sequence[_Priced], fits: Fits) -> float:
        return min((one.price for one in alone if one.advice.fits in ("yes", fits)), default=inf)

    def _strongest(self, move: Move) -> Step | None:
        """The step that leaves least; of equal ones the last. Alone it need not help: the peak may be where only another change reaches."""
        now = self.now.allocated
        bearable = [step for step in reversed(move.steps) if self.estimate(step.change).allocated.expected <= now.expected]
        return min(bearable, key=lambda step: self.estimate(step.change).allocated.expected, default=None)

    def _sets(self, useful: Sequence[Move]) -> Iterator[tuple[Move, ...]]:
        """Sets of two and three, most acceptable first; then all that go together, without those that are not needed."""
        for size in range(2, _MOST_TOGETHER + 1):
            for chosen in combinations(useful, size):
                if go_together(*(move.name for move in chosen)):
                    yield chosen
        for avoided in ((), ("quant",), ("zero", "offload"), ("quant", "offload"), ("quant", "optimizer"), ("zero", "offload", "gpus")):
            rest = tuple(move for move in useful if move.name not in avoided)
            if len(rest) > _MOST_TOGETHER and go_together(*(move.name for move in rest)):
                yield rest

    def _relaxed(self, chosen: Sequence[Move], steps: list[Step], wanted: Sequence[Fits]) -> _Priced:
        """The set with what it does not need left out, the least acceptable first, and each of the rest at its mildest; with its price."""
        kept: list[tuple[Move, Step]] = list(zip(chosen, steps, strict=True))
        for pair in reversed(kept[:]) if len(kept) > _MOST_TOGETHER else ():
            rest = [one for one in kept if one is not pair]
            change = _merged(step.change for _, step in rest)
            if len(rest) > 1 and change is not None and self.helps(change) and self.fits(change) in wanted:
                kept = rest
        for place in range(len(kept) - 1, -1, -1):
            move, _ = kept[place]
            for step in move.steps:
                change = _merged(other.change if number != place else step.change for number, (_, other) in enumerate(kept))
                if change is not None and self.helps(change) and self.fits(change) in wanted:
                    kept[place] = (move, step)
                    break
        merged = _merged(step.change for _, step in kept) or {}
        cost = "; ".join(_costs(step.cost for _, step in kept))
        return _Priced(sum(step.price for _, step in kept), self.advice(merged, cost))

    def card(self, memory: float, known: Sequence[Move], *, helped: bool) -> list[Advice]:
        """The smallest card that surely holds the plan as it stands; where no change was enough, also the one with all that helps."""
        plain = self._on_a_card(memory, {}, "")
        changed = None
        if not helped:
            change, cost = self._least(known)
            changed = self._on_a_card(memory, change, f"; {cost}") if change else None
        return [advice for advice in (changed, plain) if advice is not None]

    def _least(self, known: Sequence[Move]) -> tuple[Change, str]:
        """The changes that together leave least, and what they cost."""
        best: tuple[Change, str] = {}, ""
        for chosen in self._sets(known):
            steps = [step for move in chosen if (step := self._strongest(move)) is not None]
            change = _merged(step.change for step in steps)
            if change is not None and self.estimate(change).allocated.expected < self.estimate(best[0]).allocated.expected:
                best = change, "; ".join(_costs(step.cost for step in steps))
        return best

    def _on_a_card(self, memory: float, change: Change, cost: str) -> Advice | None:
        estimate = self.estimate(change)
        for size, name in CARDS:
            usable = usable_of(size) * GIB
            if usable > memory and verdict(estimate, usable).fits == "yes":
                told = f"a larger card, such as {name}{cost}"
                return Advice({"gpu.memory_gib": size, **change}, estimate.allocated, "yes", told)
        return None


def _merged(changes: Iterable[Change]) -> Change | None:
    """The changes as one; None where they contradict each other."""
    merged: dict[str, FactValue] = {}
    for change in changes:
        for name, value in change.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged


def _costs(costs: Iterable[str]) -> Iterator[str]:
    """What several changes cost, each thing said once."""
    told: set[str] = set()
    for cost in costs:
        for part in cost.split("; "):
            if part not in told:
                told.add(part)
                yield part
