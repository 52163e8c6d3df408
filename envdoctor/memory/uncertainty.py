"""How far the truth may lie from an estimate, term by term."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import Moment, Range, Term
from envdoctor.memory.plan import Plan

# Shares of a term below and above the expected one. States and weights are counted; activations depend on releases and kernels.
_KNOWN: Mapping[Term, tuple[float, float]] = {
    "weights": (0.99, 1.02),
    "adapters": (0.97, 1.05),
    "gradients": (0.97, 1.05),
    "optimizer": (0.97, 1.05),
    "activations": (0.88, 1.12),
    "logits": (0.85, 1.17),
    "other": (0.5, 1.5),
}


# Whole weights and gradients that are there for a moment only: how many layers and copies of them depends on how far ahead is gathered and
# when it is given back. Of 23 plans under FSDP that were drawn and judged once (docs/fit.md), where short rows and few layers made them
# most of the peak, the figure was 20 % too low to 23 % too high.
_GATHERED = (0.75, 1.35)


# What is counted to the byte is not what is run: eleven adapters on 25 tokens whose source states every fact took 2 to 5 % less than
# that (benchmarks/unseen/memory-5.json, 6 to 16), which no term of theirs left open.
_LEAST = 0.05


def spread(architecture: Architecture, plan: Plan, peak: Moment, own: float | None = None) -> Range:
    """The range of the peak; wider where the architecture or the way of distributing is one that was not compared with measurements.

    ``own`` are the bytes of weights that one GPU keeps for itself: what lies beyond them at the peak is gathered.
    """
    wider = 1.0
    several = plan.second or plan.tensor > 1 or plan.context > 1 or plan.pipeline > 1
    if plan.sharding in ("zero1", "zero2", "zero3", "device_map", "megatron") or plan.offload != "none" or several:
        wider *= 2
    # Mixers without an attention: rows of Qwen3.5-9B are up to 23 % too high (benchmarks/unseen/memory-3.json, 9747 to 9761).
    mixes = any(kind.mixer is not None for _, kind in architecture.kinds)
    if architecture.encoder_decoder or architecture.beside or not architecture.known or mixes:
        wider *= 2
    low = high = 0.0
    for term, value in peak.terms.items():
        below, above = _KNOWN[term]
        low += value * max(0.0, 1 - (1 - below) * wider)
        high += value * (1 + (above - 1) * wider)
    if own is not None and plan.sharding in ("fsdp", "zero3") and plan.gpus > 1:
        gathered = max(0.0, peak.terms.get("weights", 0.0) - own) + (peak.terms.get("gradients", 0.0) if plan.method == "full" else 0.0)
        low, high = low - (1 - _GATHERED[0]) * gathered, high + (_GATHERED[1] - 1) * gathered
    floor = max((1 - _LEAST) * peak.total, _KNOWN["weights"][0] * peak.terms.get("weights", 0.0))
    return Range(min(low, floor), peak.total, max(high, (1 + _LEAST) * peak.total))
