"""What selective checkpointing leaves as it is, beside the inputs of the layers that it computes again."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.run import Layers, Run
from envdoctor.memory.stack import at_least

# Inputs that are on the GPU at once where all others wait on the CPU: the last layer's, which is not moved, and the buffer that they come
# back through (``UnslothCheckpointFunction`` of unsloth_zoo 2025.4.1 and 2026.1.1, gradient_checkpointing.py); elsewhere so many are on
# their way (``max_fwd_stash_size`` of TRL 0.23.0, models/activation_offloading.py, and torchtune 0.6.1). Unsloth has two such buffers from
# 2026.5 on (``GPU_BUFFERS_B``: not in unsloth_zoo 2026.1.1, in 2026.5.1).
_OF_UNSLOTH, _ON_THEIR_WAY = 2, 5
_TWO_BUFFERS = "2026.5"
# Elements below which nothing is moved (``MINIMUM_SIZE`` there: 2 MiB of 16 bits).
_SMALL = 2**20


def kept_of_all(run: Run, boundary: float, counted: Sequence[Layers]) -> float:
    """Bytes for each token that all layers keep: their inputs where they are computed again."""
    if not run.plan.checkpointing:
        return sum(one.times * one.kept for one in counted)
    layers = sum(one.times for one in counted)
    if run.plan.offloaded and run.tokens * run.architecture.hidden > _SMALL:
        of_unsloth = _OF_UNSLOTH + at_least(run.plan.stack.unsloth, _TWO_BUFFERS)
        layers = min(layers, of_unsloth if run.plan.offloaded == "unsloth" else _ON_THEIR_WAY)
    return layers * boundary


def left_out(run: Run, boundary: float, counted: Sequence[Layers]) -> float:
    """Bytes for each token that all layers keep beyond their inputs until their backward.

    Of layers, one in so many is checkpointed, and the others keep all. Of operations, a policy keeps the attention's output and every
    second matrix product, the first one of a layer among them (``_save_list`` and ``_get_custom_policy`` of torchtitan at 6fc499f6).
    """
    plan = run.plan
    if not plan.checkpointing:
        return 0.0
    if plan.every > 1:
        return sum(one.times * max(0.0, one.kept - boundary) for one in counted) * (1 - 1 / plan.every)
    if not plan.ops:
        return 0.0
    return sum(times * _products(kind, run.width.product, run.width.computed) for times, kind, _ in run.kinds)


def _products(kind: Architecture, product: int, computed: int) -> float:
    """In the order in which a layer multiplies: queries, keys, values, the attention's output, gate, up, down."""
    made = [one.outputs for one in kind.linears for _ in range(one.count)]
    return float(sum(made[::2]) * product + (kind.query_width * computed + 4 * kind.heads if kind.attends else 0))
