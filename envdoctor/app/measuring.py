"""What ``fit`` measures rather than computes: the lengths of the data, and the model's own code on fake tensors."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.gathered import Gathered
from envdoctor.app.request import Request
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import FactValue
from envdoctor.memory.advice import EstimateWith
from envdoctor.memory.estimate import Assumption, Estimate, Range
from envdoctor.memory.fits import verdict
from envdoctor.memory.moves import Change
from envdoctor.memory.read_method import OF_PREFERENCES, objective
from envdoctor.memory.regime import beside_training
from envdoctor.memory.situation import Planned, restated
from envdoctor.records import replace
from envdoctor.report.fit import FitReport
from envdoctor.report.plain import printable
from envdoctor.sources.model.snapshot import Snapshot, table_of

if TYPE_CHECKING:
    from envdoctor.lengths.values import LengthAdvice, Lengths

# Where the data may be cut, in parts of its rows that stay whole.
_WHOLE = (0.99, 0.95, 0.9, 0.75, 0.5)
_SECONDS = 300.0


def cuts(lengths: Lengths) -> tuple[tuple[int, float], ...]:
    """Lengths at which the data may be cut, the longest first, each with the share of the rows that are longer."""
    reached = list(accumulate(count for _, count in lengths.histogram))
    told: dict[int, float] = {}
    for part in _WHOLE:
        tokens = lengths.percentile(part)
        place = bisect_right(lengths.histogram, tokens, key=lambda one: one[0])
        told[tokens] = 1 - (reached[place - 1] if place else 0) / lengths.rows
    return tuple(told.items())


def measure_lengths_of(
    data: str, request: Request, gathered: Gathered, snapshot: Snapshot, situation: Planned
) -> tuple[Lengths, LengthAdvice]:
    """The lengths of ``--data`` under the model's tokenizer, and what they mean for the batches of the plan.

    Raises:
        EnvdoctorError: the data or the tokenizer cannot be used.
    """
    from envdoctor.lengths.advice import advice_on
    from envdoctor.lengths.measure import measure_lengths
    from envdoctor.lengths.values import Refused

    with request.watch.stages(printable(data), "a second for some thousand rows") as told:
        lengths = measure_lengths(Path(data), snapshot.directory.path, gathered.interpreter, trust=request.trust_remote_code, told=told)
    if isinstance(lengths, Refused):
        raise EnvdoctorError(lengths.place, found=lengths.found, expected=lengths.expected, next_step=lengths.next_step)
    stated = situation.facts.value("plan.seq_len")
    longest = stated if isinstance(stated, int) and stated > 0 else None
    plan = situation.plan
    return lengths, advice_on(lengths, max(1, plan.rows), longest, max(1, plan.accumulation), situation.facts.text("plan.trainer") or "")


def with_data(situation: Planned, lengths: Lengths, on_lengths: LengthAdvice) -> Planned:
    """The situation with the longest row that a batch of the data may hold; rows that are pairs are trained on as pairs."""
    told: dict[str, FactValue] = {}
    if situation.facts.value("plan.packing") is not True:
        told["plan.seq_len"] = on_lengths.now.longest
    if lengths.sequences == 2 and objective(situation.facts) not in OF_PREFERENCES:
        told["plan.objective"] = "dpo"
        pairs = Assumption("plan.objective", "dpo", "the rows of the data are pairs")
        return replace(restated(situation, told, lengths.data, (pairs,)), counted=True)
    return replace(restated(situation, told, lengths.data), counted=True)


def measure_on_fake_tensors(request: Request, gathered: Gathered, snapshot: Snapshot, situation: Planned, report: FitReport) -> FitReport:
    """The report with the figure of a run on fake tensors, or with why there is none; the closed form stays beside it."""
    if gathered.interpreter is None:
        return replace(report, refused="no environment with torch and transformers: --python PATH names one")
    if situation.regime.trained_layers is not None:
        return replace(report, refused="a plan that trains some of the layers is computed in closed form only")
    from envdoctor.memory.exact import Refusal, measure

    with request.watch.stages("the model on fake tensors", "up to 30 s") as told:
        found = measure(
            gathered.interpreter,
            table_of(snapshot.config),
            situation.plan,
            model_path=snapshot.directory.path,
            trust=request.trust_remote_code,
            timeout=_SECONDS,
            told=told,
        )
    if isinstance(found, Refusal):
        return replace(report, refused=found.reason)
    found = beside_training(found, situation.architecture, situation.plan, situation.regime)
    return replace(
        report,
        estimate=found,
        closed_form=report.estimate,
        verdict=verdict(found, report.verdict.memory, report.verdict.most),
        assumptions=tuple(dict.fromkeys((*report.assumptions, *found.assumptions))),
    )


def correct_by_measurement(situation: Planned, computed: Estimate, found: Estimate) -> EstimateWith:
    """What changes leave, by the closed form, corrected by what was measured of the plan as it stands."""
    factor = found.allocated.expected / max(computed.allocated.expected, 1.0)

    def corrected(change: Change) -> Estimate:
        if not change:
            return found
        then = situation.estimate_with(change)
        return replace(then, allocated=_times(then.allocated, factor), reserved=_times(then.reserved, factor))

    return corrected


def _times(range_: Range, factor: float) -> Range:
    return Range(range_.low * factor, range_.expected * factor, range_.high * factor)
