"""What is trained: how many parameters, how wide they, their gradients and their states are, and how long each of them lives."""

from __future__ import annotations

from envdoctor.memory import optimizer as optimizers
from envdoctor.memory import sharding
from envdoctor.memory.architecture import Architecture, Linear, Parameters
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.weights import other_width, saved_modules
from envdoctor.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Trained:
    """Bytes for all trained parameters of a run, on one GPU if nothing is shared.

    ``added`` are weights beside the base model (adapters, copies of modules trained in full); ``master`` the float32 copies that
    DeepSpeed or mixed precision keep; ``casts`` 16-bit copies that autocast keeps from the forward to the end of the backward;
    ``transient`` what one step of the optimizer makes beside all that. ``low_rank`` is the part of ``added`` that adapters take,
    ``root_gradients`` those of a trained output layer, the first that are there, and ``last_gradients`` those of the copy of an embedding
    that is trained beside an adapter.
    """

    parameters: int
    width: int
    added: float
    gradients: float
    states: float
    master: float
    casts: float
    transient: float
    keeps_gradients: bool
    root_gradients: float
    low_rank: float = 0.0
    last_gradients: float = 0.0


def trained(architecture: Architecture, parameters: Parameters, plan: Plan, adapters: int) -> Trained:
    """``adapters`` is the number of parameters of the low-rank matrices or the prompt, all layers together."""
    if plan.method == "inference":
        return Trained(0, 2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, True, 0.0)
    if plan.method == "full":
        largest = max(parameters.embedding, parameters.head, *(_whole(one, plan) for _, kind in architecture.kinds for one in kind.linears))
        groups = ((parameters.total, _full_width(plan)),)
        root = parameters.embedding + parameters.head
        return _of(architecture, plan, groups, added=False, root=root, largest=largest, twice=_stands_twice(architecture, largest))
    head, embedding = saved_modules(parameters, plan)
    float32 = plan.adapter is None or plan.adapter.float32
    low_rank, wide = 4 if float32 else WIDTH[plan.load_dtype], int(other_width(plan))
    made = _of(
        architecture, plan, ((adapters, low_rank), (head + embedding, wide)), added=True, root=head, largest=max(head, embedding), wide=wide
    )
    if not sharding.is_deepspeed(plan):
        made = replace(made, root_gradients=float(head * wide), last_gradients=float(embedding * wide))
    return replace(made, low_rank=float(adapters * low_rank))


def _stands_twice(architecture: Architecture, largest: int) -> bool:
    """Whether two of the largest parameters follow each other, as gate and up do."""
    return any(
        sum(one.inputs * one.outputs == largest and one.role in ("gate", "up") for one in kind.linears) > 1
        for _, kind in architecture.kinds
    )


def _whole(one: Linear, plan: Plan) -> int:
    """Parameters of one tensor: experts are one from transformers 5 on (``gate_up_proj`` of their modules), and bare ones at any time."""
    merged = one.count > 1 and (not one.module or at_least(plan.stack.transformers, "5.0"))
    both = 2 if merged and one.role in ("gate", "up") and at_least(plan.stack.transformers, "5.0") else 1
    return one.inputs * one.outputs * (one.count * both if merged else 1)


def _full_width(plan: Plan) -> int:
    """Weights as they are loaded; FSDP with mixed precision keeps the trained ones in float32 (accelerate, ``prepare_model``)."""
    if plan.sharding == "fsdp" and plan.autocast is not None:
        return 4
    return WIDTH[plan.load_dtype]


def _of(
    architecture: Architecture,
    plan: Plan,
    groups: tuple[tuple[int, int], ...],
    *,
    added: bool,
    root: int,
    largest: int,
    wide: int = 0,
    twice: bool = False,
) -> Trained:
    chosen = optimizers.of(plan)
    count = sum(number for number, _ in groups)
    weights = sum(number * width for number, width in groups)
    width = max((width for number, width in groups if number), default=2)
    if sharding.is_deepspeed(plan):
        # ZeRO keeps float32 masters of 16-bit weights, two float32 states, and while it steps a float32 copy of the gradients, which stages
        # 1 and 2 flatten first (deepspeed/runtime/zero/stage_1_and_2.py, step and get_flat_partition).
        whole = plan.load_dtype == "float32" and plan.autocast is None
        states = count * optimizers.state_bytes(chosen, 4, architecture.hidden)
        sixteen = 4 if whole else 2
        keeps = 4.0 * (1 + chosen.transient) + (sixteen if plan.sharding in ("zero1", "zero2") else 0)
        stepped = float(count)
        if plan.sharding == "zero3":
            keeps, stepped = sharding.third_stage_step(chosen.transient, count, plan, wide=whole)
        return Trained(
            count,
            sixteen,
            weights if added else 0.0,
            count * sixteen,
            states,
            0.0 if whole else count * 4.0,
            0.0,
            stepped * keeps,
            chosen.keeps_gradients,
            root * sixteen,
        )
    if plan.sharding == "megatron":
        # Float32 gradients in one buffer from the start, and float32 masters of what one rank steps (grad_data of
        # core/distributed/param_and_grad_buffer.py and shard_fp32_from_float16_groups of core/optimizer/distrib_optimizer.py, 0.16.1).
        states = count * optimizers.state_bytes(chosen, 4, architecture.hidden)
        return Trained(count, width, weights if added else 0.0, count * 4.0, states, count * 4.0, 0.0, 0.0, True, root * 4.0)
    states = sum(number * optimizers.state_bytes(chosen, each, architecture.hidden) for number, each in groups)
    casts = count * 2.0 if plan.autocast is not None and width == 4 and not added and plan.sharding != "fsdp" else 0.0
    # Adafactor's loop still holds the update of the parameter before.
    each = chosen.largest[(wide or width) == 4] + (4 if twice and chosen.factored and chosen.largest[0] else 0)
    transient = weights * chosen.transient + largest * each
    added_weights = weights if added else 0.0
    return Trained(count, width, added_weights, weights, states, 0.0, casts, transient, chosen.keeps_gradients, root * width)


@dataclass(frozen=True, slots=True)
class Casts:
    """Bytes of 16-bit copies of float32 weights at four moments: of the loss, its backward, and those of the last and first layer."""

    forward: float = 0.0
    backward: float = 0.0
    last: float = 0.0
    first: float = 0.0
