"""What a layer holds for a moment beside what it keeps: gradients on their way, at the fullest point of its backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.memory import modeling
from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.kept import Widths, last_input
from envdoctor.memory.plan import Plan


def backward(architecture: Architecture, plan: Plan, width: Widths, kept: Mapping[str, float], tuned: Sequence[Linear]) -> float:
    """Bytes for each token beside what the layer keeps, at the fullest of three points: inside the MLP, inside an attention that makes the
    matrix of its scores, or where a float32 adapter adds to the widest product.

    By the time of the second the MLP has freed what it kept.
    """
    stream = 2 * width.stream * architecture.hidden
    last = last_input(architecture, plan, width, tuned)
    points = [_network(architecture, plan, width, last)]
    if modeling.makes_matrix(architecture, plan):
        points.append(_scores(architecture, plan, width) - kept.get("mlp", 0.0) - last)
    if plan.method == "adapter" and plan.adapter is not None and plan.adapter.float32 and width.computed < 4 and not architecture.experts:
        points.append(_added(architecture, plan, width, kept, last, tuned))
    return stream + max(points)


def _network(architecture: Architecture, plan: Plan, width: Widths, last: float) -> float:
    """The gradients around the activation, when the last product, whose input took ``last`` bytes, is done with."""
    wide = width.computed * architecture.ffn
    if architecture.experts:
        return _fullest(architecture) * wide * 3
    if architecture.gated:
        return max(3 * wide - last, wide)
    name = architecture.activation
    if name in ("gelu_new", "gelu_fast", "gelu_python_tanh"):
        # Of the product and of both its factors, which autocast takes in float32.
        mixed = plan.autocast is not None and width.computed < 4
        return max((3 * 4 + 2) * architecture.ffn if mixed else 3 * wide, wide + last) - last
    if name == "bloom_gelu":
        # Its backward is a formula in Python, with six tensors at once.
        return max(6 * wide - last, wide)
    if name == "relu":
        # Its result, which it keeps itself, is the input of the last product.
        return 2 * wide
    return max(2 * wide - last, wide)


def _scores(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """The gradients of probabilities and scores, in float32 where the softmax is, less the 16-bit copy that is no more by then, and less
    what a dropout kept."""
    matrix = architecture.heads * plan.tokens
    if modeling.falls_back(architecture, plan):
        return 8.0 * matrix
    wide = width.computed == 4 or modeling.wide_softmax(architecture, plan)
    freed = width.computed if (wide and width.computed < 4) or architecture.attention_dropout else 0
    return float(matrix * (2 * (4 if wide else width.computed) - freed - (1 if architecture.attention_dropout else 0)))


def _added(architecture: Architecture, plan: Plan, width: Widths, kept: Mapping[str, float], last: float, tuned: Sequence[Linear]) -> float:
    """Where a float32 adapter adds to a wide product, in the forward that a checkpointed layer repeats: what comes after it in the layer
    is not there yet. peft (lora/layer.py) makes the base layer's product, that of the adapter, and the latter scaled."""
    narrow = width.computed
    made = narrow + 2 * (narrow if plan.autocast is not None else 4)
    most = 0.0
    for one in tuned:
        if one.role in ("gate", "up", "gate_up"):
            later = narrow * architecture.ffn if one.role == "up" and architecture.gated else kept.get("mlp", 0.0)
            most = max(most, made * one.outputs - later - last)
        if one.role == "down":
            # Its input is there as the base layer takes it and, where autocast keeps a third copy, as peft casts it.
            given = narrow + (4 if plan.autocast is not None else 0)
            most = max(most, given * one.inputs + made * one.outputs)
    return most


def _fullest(architecture: Architecture) -> float:
    """Which part of the tokens one expert works on at once, all of them without experts.

    Routers are not even: 1.15 times the even share is fitted to one figure, what the Mixtral rows of fms-acceleration's benchmarks
    without fused kernels leave for it beyond the tensors that are counted.
    """
    if not architecture.experts:
        return 1.0
    return min(1.0, 1.15 * max(architecture.experts_per_token, 1) / architecture.experts)


def forward(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token of the widest point of a layer's forward that keeps nothing."""
    mlp = _fullest(architecture) * width.computed * architecture.ffn * (3 if architecture.gated else 2)
    matrix = architecture.heads * plan.tokens * (4 + 2 * width.computed) if modeling.makes_matrix(architecture, plan) else 0
    return 2 * width.stream * architecture.hidden + max(mlp, matrix)
