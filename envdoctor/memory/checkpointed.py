"""What selective checkpointing leaves as it is, beside the inputs of the layers that it computes again."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.run import Layers, Run


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
