"""An evaluation between steps: a forward without gradients, which keeps what the model returns until its batch is done with.

Read in transformers 4.38.2 to 5.24.0, accelerate 0.27.2 to 1.14.0, TRL 0.7.11 to 1.7.1 and liger-kernel 0.3.1 and 0.5.10: checkpointing
turns the cache of keys and values off while a model trains, and not while it evaluates; ``prediction_step`` holds the outputs, the cache
among them; under mixed precision accelerate makes float32 copies of the tensors among them (``convert_outputs_to_fp32``), of a cache too
where it is a tuple of tensors, as it was before 4.48; and Liger's loss without logits is for training alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.memory import logits, sharding, working
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.estimate import GIB, Moment, Range, Term
from envdoctor.memory.plan import Plan
from envdoctor.memory.run import run_of
from envdoctor.memory.stack import at_least
from envdoctor.memory.widths import widths
from envdoctor.records import dataclass, replace

NAME = "evaluation"
_OBJECTS = "4.48"
# Whose caches are no tuples of tensors, or are made to generate alone (cache_utils.py and modeling_gemma2.py of 4.45.2).
_NO_TUPLES = frozenset(("gemma2", "gemma3", "gemma3_text"))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """``rows`` of a batch; ``caches`` says that the model is asked for its keys and values, ``widened`` that accelerate hands its outputs
    on as float32."""

    rows: int = 0
    caches: bool = False
    widened: bool = False


def moment(moments: Sequence[Moment], architecture: Architecture, plan: Plan, evaluated: Evaluated) -> Moment:
    """The fullest point of it, beside the weights and the states of the run; no gradient is there then."""
    loss = next((one for one in moments if one.name == "loss"), moments[0])
    held: dict[Term, float] = {term: count for term, count in loss.terms.items() if term != "gradients"}
    points = _points(architecture, plan, evaluated)
    return max((Moment(NAME, {**held, **terms}) for terms in points), key=lambda one: one.total)


def _points(architecture: Architecture, trained: Plan, evaluated: Evaluated) -> Iterator[dict[Term, float]]:
    """What lives for the batch: in the last layer, at the loss, and when the outputs are handed out."""
    plan = replace(
        trained,
        rows=evaluated.rows,
        mask=evaluated.rows > 1 and (trained.mask or trained.rows == 1),
        accumulation=1,
        liger=trained.liger and (trained.cut_loss or trained.unsloth),
    )
    width, tokens = widths(architecture, plan), plan.rows * plan.tokens
    share = sharding.shares(plan).activations
    cache = _cache(architecture, plan) if evaluated.caches else 0.0
    forward = next(one for one in estimate(architecture, plan).moments if one.name == "loss")
    yield {"logits": 0.0, "activations": (cache + working.forward(architecture, plan, width)) * tokens * share}
    yield {"logits": forward.terms.get("logits", 0.0), "activations": cache * tokens * share}
    if not evaluated.widened:
        return
    returned = logits.returned(architecture, plan, width)
    copied = 4.0 * architecture.vocab if 0 < returned < 4.0 * architecture.vocab else 0.0
    tuples = not at_least(plan.stack.transformers, _OBJECTS) and architecture.kind not in _NO_TUPLES
    wider = cache * 4 / min(width.computed, 4) if tuples and width.computed < 4 else 0.0
    yield {"logits": (returned + copied) * tokens, "activations": (cache + wider) * tokens * share}


def _cache(architecture: Architecture, plan: Plan) -> float:
    """Bytes for each token of the keys and values of all layers."""
    run = run_of(architecture, plan)
    attending = sum(times for times, kind, _ in run.kinds if kind.attends)
    return 2.0 * attending * run.width.computed * run.architecture.key_width


def reserved(trained: Range, allocated: Range, architecture: Architecture, plan: Plan, evaluated: Evaluated) -> Range:
    """What the allocator holds, ``trained`` without an evaluation, with the blocks of its batches.

    Where they are larger than those that are trained on, none of the cached ones is large enough for them, and those of the loss are not
    cut up for the copies of a cache: eight QLoRA notebooks that train on batches of 2 and evaluate in eights held nearly the sum of all
    (benchmarks/unseen/memory-7.json, 1 to 7).
    """
    if not evaluated.rows:
        return trained
    points = list(_points(architecture, plan, evaluated))
    fresh = max(one["activations"] for one in points) + max(one["logits"] for one in points)
    most = max(trained.high + fresh, allocated.high + 0.5 * GIB)
    larger = evaluated.rows > plan.rows and not plan.expandable
    return Range(allocated.low, max(trained.expected + (fresh if larger else 0.0), allocated.expected), most)
