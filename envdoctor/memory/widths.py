"""How wide an element is at the places of a network that memory follows from."""

from __future__ import annotations

from envdoctor.memory import modeling
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.records import dataclass

# Encoders whose layers hand on what their last norm puts out, which autocast makes float32 (BertOutput and its like).
_NORM_LAST = frozenset(("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "deberta", "deberta-v2"))


@dataclass(frozen=True, slots=True)
class Widths:
    """Bytes of one element: of what an attention computes, of the residual stream between layers, and of what a linear layer hands back."""

    computed: int
    stream: int
    product: int


def widths(architecture: Architecture, plan: Plan) -> Widths:
    """The residual stream is as wide as the embeddings; under autocast matrix products are computed in 16 bits whatever the weights are.

    A layer of 4 or 8 bits hands back what it was given (bitsandbytes, ``Linear4bit.forward``: ``.to(inp_dtype)``), autocast or not, so that
    embeddings made float32 for k-bit training make all of a network float32, and without autocast everything. So does the layer norm of
    autocast, which puts out float32 whatever it is given.
    """
    stream = 4 if plan.upcast else WIDTH[plan.load_dtype]
    if plan.sharding == "fsdp" and plan.autocast is not None and not plan.upcast and plan.quant == "none":
        # Its mixed precision casts the weights themselves, the embeddings among them.
        stream = WIDTH[plan.autocast]
    computed = WIDTH[plan.autocast] if plan.autocast is not None else stream
    if architecture.wide_stream or (plan.autocast is not None and architecture.kind in _NORM_LAST):
        stream = 4
    if plan.quant not in ("4bit", "8bit"):
        return Widths(computed, stream, computed)
    if plan.autocast is not None and modeling.norm(architecture, plan) == "layer" and architecture.kind != "nemotron":
        stream = 4
    return Widths(computed, stream, stream)
