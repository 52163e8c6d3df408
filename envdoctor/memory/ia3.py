"""What IA3 takes in the place of low-rank matrices: one vector for each module, by which what comes out of it is multiplied, or what
goes into the last product of the network (peft, ``tuners/ia3/layer.py`` and ``bnb.py`` of 0.21.2).

A multiplication keeps what the vector is multiplied with, and the product behind it, whose weight is frozen, keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.plan import Plan
from envdoctor.memory.widths import Widths

_SCALED: tuple[str, ...] = ("key", "value", "key_value", "attention", "down")


def default_targets(architecture: Architecture) -> tuple[str, ...]:
    """Keys, values and the last product of the network: what peft has for most architectures
    (TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING)."""
    return tuple(dict.fromkeys(one.name for one in architecture.linears if one.role in _SCALED and one.module))


def scales_input(one: Linear) -> bool:
    """Whether it is one of ``feedforward_modules``, as peft's own lists have them: the last product of the network."""
    return one.role == "down"


def length(one: Linear) -> int:
    """Elements of the vector of one module."""
    return one.inputs if scales_input(one) else one.outputs


def kept(tuned: Iterable[Linear], plan: Plan, width: Widths) -> float:
    """Bytes for each token of one layer."""
    return sum(_width(one, plan, width) * length(one) * one.count * one.share for one in tuned)


def _width(one: Linear, plan: Plan, width: Widths) -> int:
    # Beside layers of bitsandbytes it is autocast that decides, and all is float32 without it; elsewhere the input is cast to the dtype of
    # the vector, and what comes out is multiplied as it is.
    if plan.quant in ("4bit", "8bit"):
        return width.product if plan.autocast is not None else 4
    return (4 if plan.adapter is None or plan.adapter.float32 else width.product) if scales_input(one) else width.product
