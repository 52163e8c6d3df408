"""The pieces that a loss fused with the output layer makes its logits in, so that never all of them are there."""

from __future__ import annotations

import math

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.parameters import parameters
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.memory.weights import base_bytes

_GIB = 2**30
# From which releases of Unsloth on its own loss is used (cut cross entropy before), a piece takes 4 GiB at most, and a logit is counted as
# 16 bytes of it where it had been 4 (unsloth_zoo/fused_losses/cross_entropy_loss.py: not in 2025.8.1, in 2025.9.1; not in 2026.6.1, in
# 2026.8.1; not there, in 2026.10.9).
_OWN, _CAPPED, _WHOLE = "2025.9", "2026.8", "2026.10"
_CAP = 4.0
# GiB of a card that nobody names, and how much of one is free beside the weights when the loss is first computed.
_CARD, _FREE = 24.0, 0.95
# Bytes of one logit while its piece is computed: as it is, in float32, its log-softmax and its gradient (the comment at
# ``_CE_BYTES_PER_LOGIT`` there, which counts 16 where the logits are capped). Compiled it is less.
_LOGIT, _SOFTCAPPED = 14, 16


def piece(architecture: Architecture, plan: Plan, computed: int) -> float:
    """Bytes for each token of the batch that one piece of the logits takes, with its gradient."""
    if plan.loss_rows:
        return architecture.vocab * _SOFTCAPPED * min(1.0, plan.loss_rows / max(plan.rows * plan.tokens, 1))
    if not plan.unsloth or (plan.stack.unsloth and not at_least(plan.stack.unsloth, _OWN)):
        return _of_liger(architecture.vocab, architecture.hidden) * (computed + 4)
    each = _SOFTCAPPED if architecture.softcap else _LOGIT
    return architecture.vocab * each / _of_unsloth(architecture, plan)


def _of_liger(vocabulary: int, hidden: int) -> float:
    """Logits for each token that Liger's fused linear cross entropy holds at once: it cuts the rows into as many chunks as the vocabulary
    is longer than the hidden state, rounded up to a power of two (liger_kernel/ops/fused_linear_cross_entropy.py)."""
    chunks = 1
    while chunks < vocabulary / max(hidden, 1):
        chunks *= 2
    return vocabulary / chunks


def _of_unsloth(architecture: Architecture, plan: Plan) -> int:
    """How many pieces: so many that the logits of one take half of the memory that is free (``get_chunk_size``). Before the cap all of them
    were one piece unless they filled the card."""
    release = plan.stack.unsloth
    weights = base_bytes(architecture, parameters(architecture), plan) / _GIB
    half = max(0.5, (_FREE * (plan.card or _CARD) - weights) / 2)
    logits = plan.rows * plan.tokens * architecture.vocab / _GIB
    if not at_least(release, _CAPPED):
        return max(round(logits * 4 / half / 4) * 4, 1)
    wanted = logits * (16 if at_least(release, _WHOLE) else 4) / min(half, _CAP)
    return 1 if wanted <= 1 else math.ceil(wanted / 4) * 4
