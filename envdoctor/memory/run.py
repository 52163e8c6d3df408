"""A plan on an architecture, and what follows from the two for one GPU before any moment is looked at."""

from __future__ import annotations

from envdoctor.memory import blocks, kept, modeling, parallel, sharding, tensor_parallel, working
from envdoctor.memory.architecture import Architecture, Linear, Parameters
from envdoctor.memory.parameters import parameters
from envdoctor.memory.plan import Plan
from envdoctor.memory.targets import EVERY_LINEAR, joined_parameters, parameters_of, tuned
from envdoctor.memory.trained import Trained, trained
from envdoctor.memory.weights import dequantized_bytes
from envdoctor.memory.widths import Widths, widths
from envdoctor.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Run:
    """A plan on an architecture, with everything that follows from the two, in bytes for one GPU.

    ``kinds`` are the kinds of layers: how many of each, and the linears of it that have an adapter."""

    architecture: Architecture
    plan: Plan
    parameters: Parameters
    targets: tuple[Linear, ...]
    kinds: tuple[tuple[int, Architecture, tuple[Linear, ...]], ...]
    trained: Trained
    shares: sharding.Shares
    width: Widths

    @property
    def tokens(self) -> int:
        return self.plan.rows * (self.plan.tokens + self.plan.prompt)


def run_of(architecture: Architecture, plan: Plan) -> Run:
    """The run of a plan on an architecture, as the release builds it."""
    plan = replace(plan, checkpointing=modeling.checkpoints(architecture, plan))
    if plan.litgpt and architecture.tied:
        # Its ``wte`` and ``lm_head`` are two tensors (model.py of 0.5.0), whatever the checkpoint has.
        architecture = replace(architecture, tied=False)
    named = plan.adapter.targets if plan.method == "adapter" and plan.adapter is not None else None
    if named is None or not modeling.adapts_experts(architecture, plan, every=not EVERY_LINEAR.isdisjoint(named)):
        architecture = modeling.as_merged(architecture, plan)
    architecture = parallel.of_stage(architecture, plan)
    before = architecture
    if plan.experts_over > 1:
        architecture = parallel.with_experts_shared(architecture, plan.experts_over)
    if plan.tensor > 1 and not plan.spread:
        architecture = tensor_parallel.sliced(architecture, plan.tensor, vocabulary=plan.sharding == "megatron")
    counted = parameters(modeling.as_merged(parallel.thinned(architecture, plan) if plan.spread else architecture, plan))
    if plan.tensor > 1 and plan.sharding != "megatron":
        counted = tensor_parallel.with_head_sliced(counted, plan.tensor)
    counted = parallel.parameters_of_stage(counted, architecture, plan)
    targets: tuple[Linear, ...] = ()
    added = 0
    kinds = tuple((times, kind, () if named is None else tuned(kind, named)) for times, kind in architecture.kinds)
    if plan.method == "adapter" and plan.adapter is not None:
        targets = tuned(architecture, plan.adapter.targets)
        added = parameters_of(architecture, plan.adapter)
        if modeling.merges_experts(plan) and not plan.adapter.vectors and plan.sharding != "megatron":
            added += joined_parameters(((times - kind.dense_layers, linears) for times, kind, linears in kinds), plan.adapter.rank)
    elif plan.method == "prompt":
        added = plan.prompt * architecture.hidden
    made = trained(architecture, counted, plan, added)
    if plan.experts_over > 1 and plan.method in ("full", "adapter"):
        made = _with_states_of_experts(made, before, counted, plan, added)
    return Run(architecture, plan, counted, targets, kinds, made, sharding.shares(plan), widths(architecture, plan))


def _with_states_of_experts(made: Trained, before: Architecture, counted: Parameters, plan: Plan, added: int) -> Trained:
    """States of experts are shared out among the ranks that have the same ones, which are fewer: each has its part of all of them."""
    if plan.method == "full":
        whole = parallel.parameters_of_stage(parameters(modeling.as_merged(before, plan)), before, plan).total / plan.tensor
        times = whole / counted.total
    else:
        assert plan.adapter is not None
        times = parameters_of(before, plan.adapter) / max(added, 1)
    return replace(made, states=made.states * times, master=made.master * times)


@dataclass(frozen=True, slots=True)
class Layers:
    """So many layers of a kind: bytes for each token that one keeps, what its backward takes beside, and whether a quantized weight is
    written out then. ``rests`` is what of the first is no tensor, but the end of a block."""

    times: int
    kept: float
    busy: float
    written_out: bool
    rests: float = 0.0


def layers_of(run: Run) -> list[Layers]:
    """Each kind of layer as it is counted."""
    plan, found = run.plan, []
    written_out = dequantized_bytes(run.architecture, plan) / max(run.tokens * run.shares.activations, 1)
    for times, kind, named in run.kinds:
        items = kept.layer(kind, plan, named)
        busy, there = working.backward(kind, plan, run.width, items, named, written_out)
        last = kept.last_input(kind, plan, run.width, named)
        rests = blocks.beside_kept(kind, plan, run.width, items, last)
        found.append(Layers(times, sum(items.values()) + rests, busy, there, rests))
    return found
