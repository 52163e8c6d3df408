"""What torch's allocator hands out beyond what was asked for, and counts as allocated.

A tensor of 10 MiB and more lies in a segment of its own, of whole 2 MiB (kMinLargeAlloc, kRoundLarge of c10/cuda/CUDACachingAllocator.cpp).
What is left of it is split off only where it is more than 1 MiB (kSmallSize), and else is a part of the block: 43 MiB take 44. Segments
that grow are split at any size.
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.children.allocator import OWN_SEGMENT, SEGMENT_ROUND, SMALL
from envdoctor.memory.plan import Plan
from envdoctor.memory.widths import Widths

# Ways of sharing under which each weight is a tensor by itself; FSDP, ZeRO and Megatron have flat ones.
_APART = ("none", "ddp")


def rest(size: float) -> float:
    """Bytes that a tensor of so many takes beyond them."""
    if size < OWN_SEGMENT:
        return 0.0
    left = -size % SEGMENT_ROUND
    return left if left <= SMALL else 0.0


def beside_weights(architecture: Architecture, plan: Plan, width: float) -> float:
    """Bytes beside the matrices of all layers, in so many bytes for each element. Their gradients and moments are made one by one, and they
    themselves where a model is moved; what ``device_map`` puts in its place lies in one segment (``caching_allocator_warmup`` of
    transformers' modeling_utils.py), and which of the two it was no fact tells."""
    if plan.expandable or plan.sharding not in _APART or plan.quant != "none" or plan.tensor > 1 or plan.pipeline > 1:
        return 0.0
    return sum(
        times * one.count * rest(one.inputs * one.outputs * width)
        for times, kind in architecture.kinds
        for one in kind.linears
        if one.module
    )


def beside_kept(architecture: Architecture, plan: Plan, width: Widths, items: Mapping[str, float], last: float) -> float:
    """Bytes for each token beside the widest tensors that one layer keeps: those of a gated network, which are all as wide as its products
    (what another activation keeps is of several widths); ``last`` is the input of the last product."""
    tokens = plan.rows * plan.tokens
    if plan.expandable or architecture.experts or not architecture.gated or not architecture.ffn or tokens < 1:
        return 0.0
    wide = width.product * architecture.ffn
    return (items.get("mlp", 0.0) / wide * rest(wide * tokens) + rest(last * tokens)) / tokens


def of_states(plan: Plan, states: float, parameters: float) -> float:
    """Bytes for each element of one of the two moments of AdamW; 0 for other optimizers."""
    each = states / max(parameters, 1.0)
    return each / 2 if plan.method == "full" and "adamw" in plan.optimizer and each in (2.0, 4.0, 8.0) else 0.0
