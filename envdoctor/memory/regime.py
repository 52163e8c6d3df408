"""What a way of training adds to the closed form or takes from it: frozen layers, a reference model, an evaluation between steps."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.memory import evaluation, generation, reserved, sharding
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.asked import Reader
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.estimate import Assumption, Estimate, Moment, Range, Term
from envdoctor.memory.evaluation import Evaluated
from envdoctor.memory.generation import Generated, read_generated
from envdoctor.memory.parameters import parameters
from envdoctor.memory.plan import WIDTH, Dtype, Plan
from envdoctor.memory.read_method import ROLLED_OUT, objective, sequences
from envdoctor.memory.run import run_of
from envdoctor.memory.stack import at_least
from envdoctor.memory.uncertainty import spread
from envdoctor.memory.weights import base_bytes
from envdoctor.records import dataclass, replace

# freeze_trainable_layers of LLaMA-Factory (hparams/finetuning_args.py).
_LAST_LAYERS = 2
# per_device_eval_batch_size of TrainingArguments.
_EVALUATED = 8
# Who trains by TrainingArguments, or may; a loop of one's own and litgpt (data.connect(batch_size=train.micro_batch_size) in its
# finetune/lora.py) load both sets alike.
_WITH_ARGUMENTS = (None, "transformers", "trl", "llamafactory", "ms-swift", "axolotl", "unsloth")
# Who asks the model for its keys and values while it evaluates, unless it is told not to: LLaMA-Factory, ms-swift, axolotl and Unsloth turn
# the model's cache off before they train. TRL's SFTTrainer passes use_cache=False (sft_trainer.py: not in 0.21.0, in 0.22.2).
_CACHING = frozenset((None, "transformers", "trl", "accelerate"))
_WITHOUT_CACHE = "0.22"
# Trainers that compare with a frozen copy of the model; beside an adapter the model without it serves (TRL's DPOTrainer and KTOTrainer,
# LLaMA-Factory's create_ref_model).
_COMPARED = frozenset(("dpo", "kto"))
# GRPO does so up to TRL 0.18.2, whose beta is 0.04, under ZeRO-3 and FSDP beside an adapter too (grpo_trainer.py); it is 0.0 from 0.19.0
# on (grpo_config.py). RLOO's is 0.05 (rloo_config.py of 0.24.0 to 1.16.0).
_NOT_COMPARED = "0.19"


@dataclass(frozen=True, slots=True)
class Regime:
    """``trained_layers`` of a plan that freezes the rest; ``resting`` is the dtype of what is frozen; ``reference`` that of a frozen copy.

    ``evaluated`` is a batch that is evaluated between steps, ``generated`` are answers to prompts: of no rows without.
    """

    trained_layers: int | None = None
    reference: Dtype | None = None
    resting: Dtype = "bfloat16"
    evaluated: Evaluated = Evaluated()
    generated: Generated = Generated()
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the closed form is all there is to it."""
        return self.trained_layers is None and self.reference is None and not self.evaluated.rows and not self.generated.rows


def read_regime(facts: Facts, plan: Plan, architecture: Architecture) -> Regime:
    """The regime that facts describe of a plan that was read from them."""
    assumptions: list[Assumption] = []
    layers = None
    if plan.method == "full" and facts.text("plan.method") == "freeze":
        layers = _count(facts, "plan.trained_layers")
        if layers is None:
            layers = _LAST_LAYERS
            assumptions.append(Assumption("plan.trained_layers", layers, "default of LLaMA-Factory"))
    # LLaMA-Factory loads in the dtype of the computation, and makes float32 only of what is trained.
    of_factory = facts.text("plan.trainer") == "llamafactory" and plan.autocast is not None
    resting = plan.autocast if of_factory and plan.autocast is not None else plan.load_dtype
    goal = objective(facts)
    compared = plan.method == "full" and (goal in _COMPARED or goal == "rloo")
    if goal == "grpo" and plan.method in ("full", "adapter") and not plan.unsloth:
        compared = (plan.method == "full" or plan.sharding in ("zero3", "fsdp")) and _compares(facts)
    evaluated = Evaluated()
    if plan.method != "inference" and facts.value("plan.evaluate") is True and facts.value("plan.predict_with_generate") is not True:
        evaluated = _evaluated(facts, plan, architecture, assumptions)
    generated = read_generated(facts, plan)
    notes = tuple(_notes(goal, compared=compared, counted=bool(generated.rows)))
    return Regime(layers, resting if compared else None, resting, evaluated, generated, tuple(assumptions), notes)


def _compares(facts: Facts) -> bool:
    """Whether TRL's GRPO compares with a frozen copy unless it is told otherwise: as the release that is counted does."""
    return facts.text("plan.trainer") == "trl" and not Reader(facts).of_trl(_NOT_COMPARED)


def _evaluated(facts: Facts, plan: Plan, architecture: Architecture, assumptions: list[Assumption]) -> Evaluated:
    stated = _count(facts, "plan.eval_batch_size")
    usual, why = _EVALUATED, "default of TrainingArguments"
    trainer = facts.text("plan.trainer")
    if trainer not in _WITH_ARGUMENTS:
        usual, why = plan.rows // sequences(facts), "the batch that is trained on"
    if stated is None:
        assumptions.append(Assumption("plan.eval_batch_size", usual, why))
    release, told = plan.stack.transformers, facts.value("plan.use_cache")
    # The Trainer of transformers 5 sets use_cache of the model, to False unless it is asked for.
    asked = told is True or (told is None and architecture.caches and bool(release) and not at_least(release, "5.0"))
    trl = facts.value("packages.trl")
    without = trainer not in _CACHING or (trainer == "trl" and isinstance(trl, Exact) and at_least(trl.text, _WITHOUT_CACHE))
    widened = plan.autocast is not None and trainer in (None, "transformers", "trl")
    return Evaluated((stated or usual) * sequences(facts), asked and not without, widened)


def _count(facts: Facts, name: str) -> int | None:
    value = facts.value(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _notes(goal: str | None, *, compared: bool, counted: bool) -> Iterator[str]:
    if compared:
        yield f"{goal} compares with a frozen copy of the model: it is counted among the weights (none beside an adapter)"
    if counted:
        yield f"{goal} may hold a reward model, which is not counted"
    elif goal in ROLLED_OUT:
        yield f"{goal} generates answers, and may hold a reference, a reward and a value model: only the step of the policy is counted"


def estimate_under(architecture: Architecture, plan: Plan, regime: Regime) -> Estimate:
    """The closed form of a plan under a regime."""
    return beside_training(estimate(architecture, plan), architecture, plan, regime)


def beside_training(computed: Estimate, architecture: Architecture, plan: Plan, regime: Regime) -> Estimate:
    """An estimate of the plan alone, in closed form or measured, with what the regime changes of it."""
    if regime.plain:
        return computed
    moments = computed.moments
    if regime.trained_layers is not None:
        moments = tuple(_frozen(moment, architecture, plan, regime) for moment in moments)
    if regime.evaluated.rows:
        moments = (*moments, evaluation.moment(moments, architecture, plan, regime.evaluated))
    if regime.generated.rows:
        moments = (*moments, generation.moment(moments, architecture, plan, regime.generated))
    if regime.reference is not None:
        run = run_of(architecture, replace(plan, load_dtype=regime.reference, stage="last" if plan.pipeline > 1 else ""))
        copied = base_bytes(run.architecture, run.parameters, run.plan)
        held: dict[Term, float] = {"weights": copied * sharding.shares(plan).weights}
        moments = tuple(_with(moment, held) for moment in moments)
    allocated = spread(architecture, plan, max(moments, key=lambda moment: moment.total), moments[0].terms.get("weights", 0.0))
    training = [moment for moment in moments if moment.name not in (evaluation.NAME, generation.NAME)]
    trained = spread(architecture, plan, max(training, key=lambda moment: moment.total), moments[0].terms.get("weights", 0.0))
    cached = evaluation.reserved(reserved.held(training, trained, plan, 0.0), allocated, architecture, plan, regime.evaluated)
    if regime.generated.rows:
        # Its blocks are of other sizes than those of a step: what is reserved is no less than what they hold.
        cached = Range(max(cached.low, allocated.low), max(cached.expected, allocated.expected), max(cached.high, allocated.high))
    return replace(computed, moments=moments, allocated=allocated, reserved=cached)


def _with(moment: Moment, more: dict[Term, float]) -> Moment:
    return Moment(moment.name, {**moment.terms, **{term: moment.terms.get(term, 0.0) + count for term, count in more.items()}})


def _frozen(moment: Moment, architecture: Architecture, plan: Plan, regime: Regime) -> Moment:
    """The moment of a full training in which only some layers are trained: of the rest nothing is kept but the weights."""
    counted = parameters(architecture)
    layers = min(1.0, (regime.trained_layers or 0) / max(architecture.layers, 1))
    trained = layers * (counted.linear + counted.other) / max(counted.total, 1)
    width = WIDTH[plan.load_dtype]
    shares: dict[Term, float] = {
        "weights": trained + (1 - trained) * min(1.0, WIDTH[regime.resting] / width),
        "adapters": trained,
        "gradients": trained,
        "optimizer": trained,
        "activations": layers,
    }
    terms = {term: count * shares.get(term, 1.0) for term, count in moment.terms.items()}
    bucket = sharding.buckets(plan, counted.total, width) - sharding.buckets(plan, counted.total * trained, width)
    if "other" in terms:
        terms["other"] = max(0.0, terms["other"] - bucket)
    return Moment(moment.name, terms)
