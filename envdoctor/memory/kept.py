"""What autograd keeps of one layer until its backward, in bytes for each token, item by item.

Counted from the code of the layers (transformers' modeling files, torch's derivatives.yaml, peft's lora/layer.py) and compared with the
storages that are alive in a run of the same code under fake tensors (docs/memory.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.stack import at_least

_ATTENTION_INPUTS = ("query", "key", "value", "key_value", "attention", "latent")
_MLP_INPUTS = ("gate", "up", "gate_up")


@dataclass(frozen=True, slots=True)
class Widths:
    """Bytes of one element: of what a layer computes, and of the residual stream between layers."""

    computed: int
    stream: int


def widths(plan: Plan) -> Widths:
    """The residual stream is as wide as the embeddings; under autocast matrix products are computed in 16 bits whatever the weights are."""
    stream = 4 if plan.upcast else WIDTH[plan.load_dtype]
    return Widths(WIDTH[plan.autocast] if plan.autocast is not None else WIDTH[plan.load_dtype], stream)


def layer(architecture: Architecture, plan: Plan, tuned: Sequence[Linear], *, repeats: bool) -> Mapping[str, float]:
    """Bytes that one layer keeps for each token.

    ``tuned`` are the linear layers with a trained adapter beside them; ``repeats`` says that keys and values are copied for every
    query head before the attention kernel sees them.
    """
    width = widths(plan)
    full = plan.method == "full"
    items = {
        "norms": _norms(architecture, width, full, fused=plan.liger),
        "attention": _attention(architecture, plan, width, repeats=repeats),
        "mlp": _mlp(architecture, width, fused=plan.liger),
        "dropout": _dropout(architecture),
    }
    if full:
        items["inputs"] = _trained_inputs(architecture, plan, width)
    elif plan.quant == "8bit" or (plan.quant == "4bit" and not at_least(plan.stack.bitsandbytes, "0.43.2")):
        items["inputs"] = _all_inputs(architecture, width)
    if plan.method == "adapter" and plan.adapter is not None:
        items["adapters"] = _adapter_inputs(tuned, plan, width)
    return {name: bytes_ for name, bytes_ in items.items() if bytes_}


def _norms(architecture: Architecture, width: Widths, trained: bool, *, fused: bool) -> float:
    hidden = architecture.hidden
    if fused:
        # Liger's norms keep their input as it is and one number a row.
        return architecture.norms * (width.stream * hidden + 4)
    if architecture.norm == "layer":
        # native_layer_norm keeps its input, its mean and its reciprocal deviation.
        return architecture.norms * (width.stream * hidden + 8)
    # The input as float32 and the reciprocal root; with a trained weight the normalised values too, in the stream's dtype.
    total = architecture.norms * (4 * hidden + 4 + (width.stream * hidden if trained else 0))
    if architecture.head_norms:
        heads = architecture.query_width + architecture.key_width
        total += (4 + (width.computed if trained else 0)) * heads
    return total


def _attention(architecture: Architecture, plan: Plan, width: Widths, *, repeats: bool) -> float:
    """Queries, keys, values and the output; the kernels of sdpa and FlashAttention add one float32 for each head, eager attention the
    whole matrix of probabilities: as float32 out of the softmax, and as it is multiplied with the values."""
    query, key = architecture.query_width, architecture.key_width
    whole = query if repeats or plan.attention == "eager" else key
    kept = width.computed * (query + 2 * whole + query)
    if plan.attention == "eager":
        matrix = architecture.heads * plan.tokens
        kept += matrix * (4 + (width.computed if width.computed < 4 else 0))
        if architecture.attention_dropout:
            kept += matrix * (1 + width.computed)
        return kept
    return kept + 4 * architecture.heads


def _mlp(architecture: Architecture, width: Widths, *, fused: bool) -> float:
    """Gated: the gate, what its activation makes of it, and the values that are multiplied; Liger's fused one computes the second again.
    Plain: what goes into the activation."""
    share = architecture.experts_per_token or 1
    if architecture.experts:
        # Each expert's output is kept until it is weighted.
        return share * width.computed * (3 * architecture.ffn + architecture.hidden)
    if architecture.gated and fused:
        return share * width.computed * 2 * architecture.ffn
    if architecture.gated:
        return share * width.computed * 3 * architecture.ffn
    # transformers' own tanh GELU ("gelu_new", "gelu_fast") is five operations of Python: x, x/2, the tanh, and 1 + tanh stay.
    copies = 4 if architecture.activation in ("gelu_new", "gelu_fast", "gelu_python_tanh") else 1
    return share * width.computed * copies * architecture.ffn


def _dropout(architecture: Architecture) -> float:
    """One byte for each element that a dropout with a chance above 0 saw, after the attention and after the MLP."""
    return 2.0 * architecture.hidden if architecture.hidden_dropout else 0.0


def _trained_inputs(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """The inputs of trained matrix products. Under autocast every product makes its own 16-bit copy of a float32 input."""
    copies = width.computed < width.stream
    total = 0.0
    for roles in (_ATTENTION_INPUTS, _MLP_INPUTS):
        fed = [one for one in architecture.linears if one.role in roles]
        if fed:
            # Products of one input share it; those of a latent attention have inputs of several widths.
            total += width.computed * (sum(map(_fed, fed)) if copies else sum(set(map(_fed, fed))))
    # The output of the attention is kept by the attention itself; what goes into the last product is new.
    total += width.computed * sum(_fed(one) for one in architecture.linears if one.role == "down")
    if plan.attention == "eager":
        total += width.computed * architecture.query_width
    return total


def _all_inputs(architecture: Architecture, width: Widths) -> float:
    """bitsandbytes' int8 product keeps its input whether the weights are trained or not (``MatMul8bitLt``), and so did the 4-bit one
    before 0.43.2 (``MatMul4Bit``). What the attention puts out is kept by the attention itself."""
    return width.computed * sum(_fed(one) for one in _firsts(architecture.linears) if one.role != "output")


def _adapter_inputs(tuned: Iterable[Linear], plan: Plan, width: Widths) -> float:
    """What the low-rank path keeps: its input, in the adapter's dtype where that is another, and the product of the first matrix.

    peft casts the input to the dtype of ``lora_A`` for each target by itself; autocast makes 16 bits of that again.
    """
    adapter = plan.adapter
    if adapter is None:
        return 0.0
    of_adapter = 4 if adapter.float32 else width.stream
    if plan.autocast is not None:
        of_adapter = WIDTH[plan.autocast]
    total = 0.0
    shared: dict[str, float] = {}
    for one in tuned:
        if adapter.dropout:
            # One byte of mask for each element, and the input as the dropout left it.
            total += (1 + of_adapter) * _fed(one)
        elif of_adapter != width.computed or plan.autocast is not None:
            total += of_adapter * _fed(one)
        else:
            shared[_place(one)] = max(shared.get(_place(one), 0.0), width.computed * _fed(one))
        total += of_adapter * adapter.rank * one.count * one.share
        if adapter.dora:
            total += width.computed * one.outputs * one.count * one.share
    shared.pop("output", None)
    return total + sum(shared.values())


def _fed(one: Linear) -> float:
    """Elements that the modules of one kind see for each token of the layer."""
    return one.inputs * one.count * one.share


def _place(one: Linear) -> str:
    if one.role in _ATTENTION_INPUTS:
        return "attention"
    return "mlp" if one.role in _MLP_INPUTS else one.role


def _firsts(linears: Iterable[Linear]) -> Iterable[Linear]:
    """One linear layer for each tensor that several of them are given."""
    return {_place(one): one for one in linears}.values()
