"""Fit: will this plan fit into the memory of this GPU, and which change makes it fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envdoctor import __version__
from envdoctor.app.gathered import Gathered
from envdoctor.app.request import Request
from envdoctor.app.situations import gather
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts
from envdoctor.memory.advice import EstimateWith, advise
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.budget import Budget, budget, foreign
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.fits import verdict
from envdoctor.memory.no_help import no_help
from envdoctor.memory.plan import Stack
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.targets import parameters_of
from envdoctor.memory.undecided import deciding, spanned, weigh
from envdoctor.records import dataclass, replace
from envdoctor.report.fit import FitReport
from envdoctor.sources.model.snapshot import Snapshot, table_of
from envdoctor.world.gpus import parse_gpu

if TYPE_CHECKING:
    from envdoctor.lengths.values import LengthAdvice, Lengths

# Fields that nearly every config.json leaves out, and that hardly move the figure.
_OF_NO_WEIGHT = frozenset(("hidden_act", "attention_dropout", "attention_bias", "mlp_bias", "hidden_activation"))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a model: its path or hub id, the card, the file of training data, whether to measure as well."""

    model: str
    gpu: str | None = None
    data: str | None = None
    exact: bool = False


def fit(request: Request, question: Question) -> FitReport:
    """Everything that follows from a request that names the model among its targets, as one report.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    gathered = gather(request)
    snapshot = _model(question.model, gathered)
    situation = planned(_on_the_gpu(question.gpu, gathered.facts), _architecture(question.model, snapshot))
    lengths: Lengths | None = None
    on_lengths: LengthAdvice | None = None
    if question.data is not None:
        # Children and what tells of them cost a third of all imports.
        from envdoctor.app.measuring import measure_lengths_of, with_data

        lengths, on_lengths = measure_lengths_of(question.data, request, gathered, snapshot, situation)
        situation = with_data(situation, lengths, on_lengths)
    room = budget(situation.facts)
    memory = None if room is None else room.usable
    computed = situation.estimate()
    weighed = weigh(situation, computed)
    spans = spanned(situation, computed, weighed)
    report = FitReport(
        version=__version__,
        model=question.model,
        plan=situation.plan,
        stack=_stack_words(situation.plan.stack),
        gpu=parse_gpu(situation.facts.text("gpu.name") or "")[0],
        estimate=spans,
        verdict=verdict(spans, memory, None if room is None else room.most),
        undecided=deciding(weighed),
        assumptions=(*situation.assumptions, *computed.assumptions),
        notes=(*_notes(situation), *_of_the_gpu(situation.facts, room)),
        skipped=tuple(skip for skip in gathered.situation.skips if question.gpu is None or skip.what != "GPU"),
        lengths=lengths,
        length_advice=on_lengths,
        trained_layers=situation.regime.trained_layers,
    )
    if question.exact:
        from envdoctor.app.measuring import measure_on_fake_tensors

        report = measure_on_fake_tensors(request, gathered, snapshot, situation, report)
    shortened: tuple[tuple[int, float], ...] = ()
    if lengths is not None:
        from envdoctor.app.measuring import cuts

        shortened = cuts(lengths)
    circumstances = situation.circumstances(shortened)
    corrected: EstimateWith = situation.estimate_with
    if report.closed_form is not None:
        from envdoctor.app.measuring import correct_by_measurement

        corrected = correct_by_measurement(situation, computed, report.estimate)
    return replace(
        report,
        advice=advise(situation.plan, corrected, memory, circumstances),
        # What depends on what nobody stated is no reason to call anything useless.
        useless=no_help(situation.plan, corrected, None if report.verdict.fits == "unknown" else memory, circumstances),
    )


def _on_the_gpu(gpu: str | None, facts: Facts) -> Facts:
    """The facts on the card that ``--gpu`` names: what was read of another one does not hold of it."""
    if gpu is None:
        return facts
    if not gpu.strip():
        raise EnvdoctorError("--gpu", found="nothing", expected="the name of a GPU", next_step='for example --gpu "RTX 3090 x3"')
    of_another = [name for name in facts if name.startswith("gpu.") and facts[name].origin.source != "--set"]
    counted = parse_gpu(gpu)[1] is not None
    # How many of them there are, may still be said elsewhere.
    return facts.without(*(name for name in of_another if counted or name != "gpu.count" or facts[name].origin.source == "nvidia-smi"))


def _model(text: str, gathered: Gathered) -> Snapshot:
    """The model whose sizes are counted.

    Raises:
        EnvdoctorError: there is none that could be read.
    """
    if gathered.snapshots:
        return gathered.snapshots[0]
    adapter = bool(gathered.adapters)
    skipped = next((skip.why for skip in gathered.situation.skips if skip.what == text), "no model")
    raise EnvdoctorError(
        text,
        found="an adapter without its base model" if adapter else skipped,
        expected="a directory with config.json, or a hub id in the local hub cache",
        next_step="give the base model as MODEL" if adapter else _fetching(text),
    )


def _fetching(text: str) -> str:
    """How to get the one file that is needed."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", text) or text.startswith("."):
        return "put the model's config.json into a directory, and give that"
    folder = text.partition("/")[2]
    return f"hf download {text} config.json --local-dir {folder} && envdoctor fit ./{folder}"


def _architecture(text: str, snapshot: Snapshot) -> Architecture:
    try:
        return read_architecture(table_of(snapshot.config))
    except ArchitectureError as error:
        raise EnvdoctorError(
            f"{text}: config.json, {error.field}", found=error.found, expected=error.expected, next_step="check that it is the model's own"
        ) from None


def _stack_words(stack: Stack) -> str:
    named = [(name, getattr(stack, name)) for name in ("torch", "transformers", "peft", "bitsandbytes", "deepspeed")]
    told = [f"{name} {release}" for name, release in named if release not in ("", "-")]
    return ", ".join(told) or "no release is known: the newest ones are counted"


def _of_the_gpu(facts: Facts, room: Budget | None) -> Iterator[str]:
    """What a reader has to know of what the memory is compared with."""
    if room is not None and room.note:
        yield room.note
    if foreign(facts):
        yield f"counted is what CUDA's kernels keep; those of {foreign(facts)} were not measured, and the range is a quarter wider for it"


def _notes(situation: Planned) -> tuple[str, ...]:
    """What a reader of the number has to know of the model."""
    architecture, notes = situation.architecture, []
    if not architecture.known:
        notes.append(f"model_type {architecture.kind} was compared with no real modules: its layers are counted as those of Llama")
    assumed = [name for name in architecture.assumed if name not in _OF_NO_WEIGHT]
    if assumed:
        notes.append(f"config.json does not state {', '.join(assumed)}: the defaults of its class in transformers are counted")
    if situation.facts.value("plan.gradient_checkpointing") is True and not situation.circumstances().checkpointing_works:
        notes.append("gradient checkpointing is asked for and stays off: this snapshot's own code switches nothing on")
    plan = situation.plan
    if plan.method == "full" and plan.quant != "none":
        notes.append(f"the Trainer refuses to train {plan.quant} weights: it asks for adapters on top of them")
    adapter = plan.adapter
    if adapter is not None and not parameters_of(architecture, adapter):
        notes.append(f"no module of this model is called {', '.join(adapter.targets)}: peft refuses such an adapter, and none is counted")
    return (*notes, *situation.regime.notes)
