"""The estimate in closed form: what lies on one GPU at each moment of a training step, term by term."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory import beside, blocks, gathered, logits, reserved, sharding, step, working
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import Estimate, Moment, Term
from envdoctor.memory.plan import WIDTH, Plan, Stage
from envdoctor.memory.run import Run, layers_of, run_of
from envdoctor.memory.uncertainty import spread
from envdoctor.memory.weights import base_bytes, dequantized_bytes, left_behind
from envdoctor.records import replace

# cuBLAS keeps its workspace with the allocator: 8 MiB and 128 KiB a handle, 32 MiB on Hopper and Blackwell (parseChosenWorkspaceSize,
# ATen/cuda/CublasHandlePool.cpp; https://docs.nvidia.com/cuda/cublas/#cublassetworkspace).
_WORKSPACE, _WIDE_WORKSPACE = 8.125 * 2**20, 32.0 * 2**20
# One for each thread that multiplies: the one that computes forward, and autograd's that computes backward (CublasHandlePool.cpp).
_THREADS = 2


def estimate(architecture: Architecture, plan: Plan) -> Estimate:
    """What the fullest GPU needs for a plan."""
    if plan.pipeline > 1 and not plan.stage:
        ends: tuple[Stage, ...] = ("first", "last")
        return max((estimate(architecture, replace(plan, stage=end)) for end in ends), key=lambda one: one.allocated.expected)
    run = run_of(architecture, plan)
    moments = _moments(run)
    peak = max(moments, key=lambda moment: moment.total)
    allocated = spread(run.architecture, run.plan, peak, moments[0].terms.get("weights", 0.0))
    elsewhere = sharding.in_other_streams(run.plan, run.trained.parameters, run.trained.width)
    unsaid = max(0.0, gathered.kept(run) - gathered.with_layers(run, 0)) if run.plan.zero_init is None else 0.0
    rests, moved = _rests(run), blocks.beside_weights(architecture, plan, _width(run))
    allocated = replace(allocated, low=allocated.low - rests, high=allocated.high + unsaid + elsewhere + moved)
    streams = elsewhere + gathered.in_other_streams(run)
    return Estimate(
        "closed-form",
        moments,
        allocated,
        reserved.held(moments, allocated, plan, streams, left_behind(run.parameters, plan)),
        reserved.beside(plan),
        ends=rests,
    )


def _width(run: Run) -> int:
    """Bytes of an element of the base model."""
    return run.trained.width if run.plan.method == "full" else WIDTH[run.plan.load_dtype]


def _beside_states(run: Run) -> float:
    moment = blocks.of_states(run.plan, run.trained.states, run.trained.parameters)
    return 2 * blocks.beside_weights(run.architecture, run.plan, moment)


def _rests(run: Run) -> float:
    """Ends of blocks among what is counted: there are none where a block of the right size was in the allocator's cache already."""
    kept = sum(one.rests * (1 if run.plan.checkpointing else one.times) for one in layers_of(run))
    trained = blocks.beside_weights(run.architecture, run.plan, _width(run)) if run.plan.method == "full" else 0.0
    return kept * run.tokens * run.shares.activations + trained + _beside_states(run)


def _moments(run: Run) -> tuple[Moment, ...]:
    held = _held(run)
    moments = [_moment("loading", _loading(run), {})]
    if run.plan.method == "inference":
        return (*moments, _moment("forward", held, _passing(run)))
    return (*moments, *(_moment(name, held, terms) for name, terms in step.moments(run)))


def _moment(name: str, held: Mapping[Term, float], more: Mapping[Term, float]) -> Moment:
    terms = dict(held)
    for term, value in more.items():
        terms[term] = terms.get(term, 0.0) + value
    return Moment(name, {term: value for term, value in terms.items() if value})


def _loading(run: Run) -> dict[Term, float]:
    """The base model, and for a quantizer the largest tensor that it is given whole."""
    whole = base_bytes(run.architecture, run.parameters, run.plan) * run.shares.weights
    return {"weights": whole, "other": dequantized_bytes(run.architecture, run.plan)}


def _held(run: Run) -> dict[Term, float]:
    """What is there at every moment of every step but the first."""
    plan, made, part = run.plan, run.trained, run.shares
    widened = plan.sharding == "fsdp" and plan.quant == "none" and sharding.widens_frozen(plan)
    full = (plan.method == "full" and made.width == 4) or widened
    base = run.parameters.total * 4.0 if full else base_bytes(run.architecture, run.parameters, plan)
    return {
        "weights": base * part.weights,
        "adapters": made.added * part.weights,
        "optimizer": (made.states + made.master) * part.optimizer + _beside_states(run),
        "other": (_WIDE_WORKSPACE if plan.wide_workspace else _WORKSPACE) * (1 if plan.method == "inference" else _THREADS)
        + sharding.buckets(plan, made.gradients / max(made.width, 1), made.width),
    }


def _passing(run: Run) -> dict[Term, float]:
    """A forward that keeps nothing but keys and values for what follows."""
    plan = run.plan
    cache = 2 * run.architecture.layers * run.width.computed * run.architecture.key_width
    busy = working.forward(run.architecture, plan, run.width)
    loss = logits.loss(run.architecture, plan, run.width)
    return {
        "weights": gathered.with_layers(run, 1),
        "activations": (cache + busy) * run.tokens * run.shares.activations,
        "logits": loss.forward * run.tokens,
        "other": dequantized_bytes(run.architecture, plan) + beside.shared_by_layers(run),
    }
