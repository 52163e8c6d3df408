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


def spread(architecture: Architecture, plan: Plan, peak: Moment) -> Range:
    """The range of the peak; wider where the architecture or the way of distributing is one that was not compared with measurements."""
    wider = 1.0
    if plan.sharding in ("zero1", "zero2", "zero3", "device_map") or plan.offload != "none" or plan.second or plan.tensor > 1:
        wider *= 2
    if architecture.encoder_decoder or architecture.beside or not architecture.known:
        wider *= 2
    low = high = 0.0
    for term, value in peak.terms.items():
        below, above = _KNOWN[term]
        low += value * max(0.0, 1 - (1 - below) * wider)
        high += value * (1 + (above - 1) * wider)
    return Range(low, peak.total, high)
