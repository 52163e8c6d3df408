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
# TOKEN_CHUNK_SIZE of trl/kernels/chunked_logprob.py and _CHUNKED_LOGPROB_CHUNK_SIZE of trainer/utils.py, TRL 1.16.0.
_TOKENS_OF_TILE, _WORDS_OF_TILE = 4096, 32768
# GiB of a card that nobody names, and how much of one is free beside the weights when the loss is first computed.
_CARD, _FREE = 24.0, 0.95
# Bytes of one logit while its piece is computed: as it is, in float32, its log-softmax and its gradient (the comment at
# ``_CE_BYTES_PER_LOGIT`` there, which counts 16 where the logits are capped). Compiled it is less.
_LOGIT, _SOFTCAPPED = 14, 16


def piece(architecture: Architecture, plan: Plan, computed: int) -> float:
    """Bytes for each token of the batch that one piece of the logits takes, with its gradient."""
    if not plan.unsloth or (plan.stack.unsloth and not at_least(plan.stack.unsloth, _OWN)):
        return _of_liger(architecture.vocab, architecture.hidden) * (computed + 4)
    each = _SOFTCAPPED if architecture.softcap else _LOGIT
    return architecture.vocab * each / _of_unsloth(architecture, plan)


def of_trl(architecture: Architecture, plan: Plan, computed: int) -> tuple[float, float]:
    """Bytes for each token of the batch that TRL's loss takes in the forward, and in its backward.

    Up to 1.12 each piece makes a float32 copy of the output layer, which autocast copies again in 16 bits for the product; its gradient
    comes back the same way. Counted by its own code under fake tensors: beside Qwen2.5-7B's output layer 6 bytes an element in forward and
    backward, 8 in the backward where it is trained (TRL 1.7.1, torch 2.13.0). From 1.15 on a kernel has one tile of logits, and adds up the
    gradients in float32.
    """
    tokens = max(plan.rows * plan.tokens, 1)
    layer, rows = float(architecture.vocab * architecture.hidden), architecture.vocab * min(plan.loss_rows, tokens)
    wide, mixed, full = plan.load_dtype == "float32", plan.autocast is not None, plan.method == "full"
    piece = float(_SOFTCAPPED * rows)
    if plan.loss_way == "tiles":
        tile = min(tokens, _TOKENS_OF_TILE) * min(architecture.vocab, _WORDS_OF_TILE) * computed
        states = 4.0 * architecture.hidden * tokens
        return tile / tokens, (max(tile, (0.0 if wide else 2.0) * layer * full) + states + 4 * layer * full) / tokens
    if plan.loss_way == "narrow":
        copied = 2 * layer if wide and mixed else 0.0
        given = (6 if wide and mixed else computed) * layer if full else 0.0
        return (copied + piece) / tokens, (copied + given + piece) / tokens
    if not mixed:
        copied = 0.0 if wide else 4 * layer
        given = (4 if wide else 6) * layer if full else 0.0
        return (copied + piece) / tokens, (copied + given + piece) / tokens
    forward = max((2 if wide else 6) * layer + 2 * rows, 2 * layer + piece)
    return forward / tokens, (max(forward, 8 * layer + 4 * rows) if full else forward) / tokens


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
