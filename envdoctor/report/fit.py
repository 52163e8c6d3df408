"""What ``envdoctor fit`` found, as one value: text, JSON and HTML show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.facts.fact import Skip
from envdoctor.memory.advice import Advice
from envdoctor.memory.estimate import Assumption, Estimate
from envdoctor.memory.fits import Verdict
from envdoctor.memory.plan import Plan
from envdoctor.memory.undecided import Undecided
from envdoctor.records import dataclass

if TYPE_CHECKING:
    from envdoctor.lengths.values import LengthAdvice, Lengths


@dataclass(frozen=True, slots=True)
class FitReport:
    """``estimate`` is what is shown; with ``--exact`` it is the measured one and ``closed_form`` the other, or ``refused`` says why not.

    ``gpu`` is the card as it was named ("" where none was), ``stack`` the releases that the estimate is for. ``useless`` are changes that
    do not help, with their reasons. ``lengths`` are there with ``--data``. ``trained_layers`` is how many layers a plan trains that
    freezes the others. ``undecided`` are facts that nobody stated and that move the answer by more than a quarter.
    """

    version: str
    model: str
    plan: Plan
    stack: str
    gpu: str
    estimate: Estimate
    verdict: Verdict
    advice: tuple[Advice, ...] = ()
    useless: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[Skip, ...] = ()
    closed_form: Estimate | None = None
    refused: str = ""
    lengths: Lengths | None = None
    length_advice: LengthAdvice | None = None
    trained_layers: int | None = None
    undecided: tuple[Undecided, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.verdict.fits == "no" else 0
