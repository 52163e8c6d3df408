"""What DoRA takes beside LoRA: whole matrices, made anew in every forward (peft, lora/dora.py: ``DoraLinearLayer.forward``).

The norm of a row is that of the base weight and of what the adapter adds to it. The latter is computed as ``lora_B(lora_A(eye))``, with an
identity as long and as wide as the inputs of the layer, so that the last product of a wide network needs most. Counted from the code of
peft 0.13.2, 0.15.2, 0.19.0 and 0.21.2, and from the storages that live in runs of the first and last.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.memory.architecture import Linear
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.widths import Widths


def results(plan: Plan, width: Widths, one: Linear) -> float:
    """Bytes for each token that are kept for the gradient of the magnitude: the product of the base layer and that of the adapter.

    Without a dropout peft takes the base layer's own from 0.14 on; before, and behind a dropout, it multiplies a second time.
    """
    low = _low(plan, width)
    base = width.product if _takes_base(plan) else low
    return (base + low) * one.outputs * one.count * one.share


def weights(plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes that one layer keeps of copies of weights: those that the second product was computed with, where they are no weights of the
    model: in the dtype that goes into the adapter, under autocast in its own, and of a quantized layer in any case."""
    if not _is_dora(plan) or _takes_base(plan):
        return 0.0
    # Autocast takes the weight of the second product by itself, and keeps the copy that it makes of a float32 one beside the first one's.
    cast = plan.autocast is not None and plan.load_dtype != plan.autocast
    return sum(_low(plan, width) * one.inputs * one.outputs * one.count for one in tuned if cast or _copies(plan, width))


def transposed(plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes of whole gradients that one layer of a model with Conv1D has for as long as the graph lives: peft transposes the weight that
    the second product takes into a new parameter, which is trained (``transpose`` of utils/other.py, peft 0.21.2), unless it was cast
    before."""
    if not _is_dora(plan) or _takes_base(plan) or _copies(plan, width):
        return 0.0
    return sum(WIDTH[plan.load_dtype] * one.inputs * one.outputs * one.count for one in tuned)


def passing(plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes for a moment of the widest forward: identity, what the adapter adds, the weight in the adapter's dtype, and their sum."""
    return max((_passing(plan, width, one) for one in tuned), default=0.0) if _is_dora(plan) else 0.0


def input_copies(plan: Plan, width: Widths, tuned: Sequence[Linear]) -> float:
    """Bytes for each token of the widest input as it comes and as it is cast for the adapter, which are there then."""
    cast = _given(plan, width) if _given(plan, width) != width.product else 0
    return max(((width.product + cast) * one.inputs for one in tuned), default=0.0) if _is_dora(plan) else 0.0


def _passing(plan: Plan, width: Widths, one: Linear) -> float:
    given, low, own = _given(plan, width), _low(plan, width), _own(plan)
    square, whole = float(one.inputs * one.inputs), float(one.inputs * one.outputs)
    newer = at_least(plan.stack.peft, "0.19")
    eye = own if newer else given
    cast = low if plan.autocast is not None and eye != low else 0
    made = (eye + cast) * square + low * whole
    held = (cast or eye) if newer else eye + cast
    added = given if newer else low
    copy = given if newer and given != low else 0
    weight = given if _copies(plan, width) else 0
    norm = held * square + (low + copy + weight + added + max(given, low)) * whole
    return max(made, norm)


def _is_dora(plan: Plan) -> bool:
    return plan.method == "adapter" and plan.adapter is not None and plan.adapter.dora


def _takes_base(plan: Plan) -> bool:
    return at_least(plan.stack.peft, "0.14") and not (plan.adapter is not None and plan.adapter.dropout)


def _own(plan: Plan) -> int:
    """Bytes of an element of the adapter."""
    return 4 if plan.adapter is None or plan.adapter.float32 else WIDTH[plan.load_dtype]


def _given(plan: Plan, width: Widths) -> int:
    """Bytes of an element of what goes into the adapter: cast to its dtype, but beside layers of bitsandbytes under autocast."""
    return width.product if plan.quant in ("4bit", "8bit") and plan.autocast is not None else _own(plan)


def _low(plan: Plan, width: Widths) -> int:
    """Bytes of an element of what the adapter puts out."""
    return WIDTH[plan.autocast] if plan.autocast is not None else _own(plan)


def _copies(plan: Plan, width: Widths) -> bool:
    return plan.quant != "none" or _given(plan, width) != WIDTH[plan.load_dtype]
