"""What merged experts hold while their outputs are weighted and summed: ``grouped_mm_experts_forward`` of transformers 5
(integrations/moe.py of 5.0.0, 5.2.0, 5.4.0, 5.8.0, 5.12.0 and 5.24.0)."""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.widths import Widths

# Routers that hand their weights on in the dtype of the hidden states or of the logits.
_NARROW = frozenset((
    "aria", "cohere2_moe", "ernie4_5_moe", "ernie4_5_vl_moe", "gpt_oss", "granitemoe", "granitemoeshared", "granitemoehybrid",
    "hunyuan_v1_moe", "jamba", "lfm2_moe", "phimoe",
))  # fmt: skip
# Those that call their softmax the logits, and cast to its own dtype what comes of it: not in 5.4.0, in 5.8.0.
_CAST_TO_LOGITS = frozenset((
    "qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text", "olmoe", "flex_olmo", "qwen3_next", "qwen3_5_moe",
    "qwen3_5_moe_text",
))  # fmt: skip
_LOGITS_APART = "5.8"
# Until then rows were chosen and sorted in two steps, each of which made a copy.
_IN_ONE_STEP = "5.8"
# Until then what comes out of the activation had a name of its own, and lived to the end.
_ONE_NAME = "5.4"


def weighted_width(architecture: Architecture, plan: Plan, width: Widths) -> int:
    """Bytes of an element of what an expert puts out times its weight, which is float32 where the router's softmax stays so."""
    kind = architecture.kind
    narrow = kind in _NARROW or (kind in _CAST_TO_LOGITS and at_least(plan.stack.transformers, _LOGITS_APART))
    return width.product if narrow else 4


def forward(architecture: Architecture, plan: Plan, width: Widths, *, trained: bool) -> float:
    """Bytes for each token that are there at the end of a layer's forward beside what it keeps: the weighted outputs sorted by experts and
    by tokens, and the inputs of both products, unless those are kept since the experts are ``trained``."""
    release = plan.stack.transformers
    copies = (1 if at_least(release, _IN_ONE_STEP) else 2) - trained
    between = 0 if trained or at_least(release, _ONE_NAME) else width.product * architecture.ffn
    each = architecture.hidden * (2 * weighted_width(architecture, plan, width) + copies * width.product) + between
    return float(architecture.experts_per_token * each)


def backward(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token where the product with the weights goes back: the gradients of the product and of both its factors, before
    that of the weights is summed."""
    wide = 2 * weighted_width(architecture, plan, width) + width.product
    return float(architecture.experts_per_token * architecture.hidden * wide)
