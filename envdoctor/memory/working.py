"""What a layer holds for a moment beside what it keeps: gradients on their way, at the fullest point of its backward."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.kept import Widths
from envdoctor.memory.plan import Plan


def backward(architecture: Architecture, plan: Plan, width: Widths, kept: Mapping[str, float]) -> float:
    """Bytes for each token beside what the layer keeps, at the fuller of two points: inside the MLP, or inside an eager attention.

    By the time of the latter the MLP has freed what it kept. The gradient of 16-bit probabilities is cast to float32 before the softmax's
    own backward, while the float32 probabilities are still there and the 16-bit ones no more.
    """
    stream = 2 * width.stream * architecture.hidden
    mlp = _fullest(architecture) * width.computed * architecture.ffn * (3 if architecture.gated else 2)
    if plan.attention != "eager":
        return stream + mlp
    matrix = architecture.heads * plan.tokens * (4 if width.computed < 4 else 8)
    return stream + max(mlp, matrix - kept.get("mlp", 0.0))


def _fullest(architecture: Architecture) -> float:
    """Which part of the tokens one expert works on at once: twice its share, as routers are not even; all of them without experts."""
    if not architecture.experts:
        return 1.0
    return min(1.0, 2 * max(architecture.experts_per_token, 1) / architecture.experts)


def forward(architecture: Architecture, plan: Plan, width: Widths) -> float:
    """Bytes for each token of the widest point of a layer's forward that keeps nothing."""
    mlp = _fullest(architecture) * width.computed * architecture.ffn * (3 if architecture.gated else 2)
    matrix = architecture.heads * plan.tokens * (4 + 2 * width.computed) if plan.attention == "eager" else 0
    return 2 * width.stream * architecture.hidden + max(mlp, matrix)
