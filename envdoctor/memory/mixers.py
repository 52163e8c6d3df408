"""Layers that mix tokens otherwise than by attention: what they keep, and what their backward takes for a moment.

Each has two ways: kernels of a package of its own, which keep what they are given and compute the rest again, and operations of torch,
which keep every step in float32. Counted from the storages of the modeling files of transformers 5.0.0 and 5.23.0 under fake tensors, and
from what the kernels save: ``ChunkGatedDeltaRuleFunction`` (fla-core 0.6.0, ops/gated_delta_rule/chunk.py) and
``MambaSplitConv1dScanCombinedFn`` (mamba_ssm, ops/triton/ssd_combined.py: the product of in_proj, the output and one number a row).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass

Way: TypeAlias = Literal["delta", "mamba2", "mamba", "convolution", "none"]
_DELTA_CHUNK = 64
PACKAGES = {"delta": "flash-linear-attention", "mamba2": "mamba-ssm", "mamba": "mamba-ssm"}
"""The package whose kernels a way needs."""


@dataclass(frozen=True, slots=True)
class Mixer:
    """``inner`` is the width of the values, ``keys`` that of queries (or keys) as every head has them, ``narrow`` the width of what a short
    convolution sees, ``product`` that of the projections into it all, ``state`` the numbers of a state for each value, ``chunk`` tokens
    at once. ``parameters`` of a layer that are in no linear module: the convolution, decays, norms."""

    way: Way
    inner: int
    product: int
    narrow: int = 0
    keys: int = 0
    heads: int = 1
    state: int = 0
    chunk: int = 0
    parameters: int = 0


def by_kernels(mixer: Mixer, plan: Plan) -> bool:
    """Whether a package's kernels do it: where nobody says that the package is not there, since whoever trains such a model installs it."""
    release = plan.stack.fla if mixer.way == "delta" else plan.stack.mamba
    return release != "-"


def kept(mixer: Mixer, plan: Plan, computed: int, *, last: bool) -> float:
    """Bytes for each token until the backward; ``last`` says that the input of the last product is kept too."""
    output = computed * mixer.inner if last else 0
    if mixer.way == "none":
        return 0.0
    if mixer.way == "convolution":
        # B, C and x; B times x; what the convolution makes of that; C times it is the input of the last product (Lfm2ShortConv).
        return computed * (mixer.product + 2 * mixer.inner) + output
    if by_kernels(mixer, plan):
        return _by_kernels(mixer, plan, computed, last=last)
    if mixer.way == "delta":
        return _delta(mixer, plan, computed) + output
    if mixer.way == "mamba2":
        return _mamba2(mixer, plan, computed) + output
    # A step for each token: the decay, what is added and the state, each as wide as the values times the states (JambaMambaMixer).
    return computed * (mixer.product + 2 * mixer.narrow) + 4.0 * mixer.inner * (3 * mixer.state + 4) + output


def _by_kernels(mixer: Mixer, plan: Plan, computed: int, *, last: bool) -> float:
    if mixer.way == "delta":
        # The convolution keeps its input; normalised queries and keys, values, decays, and the inverse of each chunk.
        rule = computed * (2 * mixer.keys + mixer.inner + _DELTA_CHUNK * mixer.heads) + 16.0 * mixer.heads
        return computed * mixer.narrow + rule + _gated_norm(mixer, plan, computed, fused=True) + (computed * mixer.inner if last else 0)
    if mixer.way == "mamba2":
        return computed * (mixer.product + mixer.inner) + 8.0 * mixer.heads
    return computed * (mixer.product + 2 * mixer.inner) + 4.0 * mixer.inner


def _gated_norm(mixer: Mixer, plan: Plan, computed: int, *, fused: bool) -> float:
    """The norm of the values with their gate: up to transformers 5.12 fla's own, else operations of torch in float32."""
    if fused and not at_least(plan.stack.transformers, "5.13"):
        return computed * 2 * mixer.inner
    return (3 * 4 + 2 * computed) * mixer.inner


def _delta(mixer: Mixer, plan: Plan, computed: int) -> float:
    """``torch_chunk_gated_delta_rule``: float32 queries, keys and values, padded and scaled; five matrices of a chunk; a state for each
    chunk. Before the triangular solver a copy of the matrix for each of its rows."""
    keys, values = mixer.keys, mixer.inner
    states = keys / max(mixer.heads, 1) * values / _DELTA_CHUNK
    total = 4.0 * (8 * keys + 3 * values + 5 * _DELTA_CHUNK * mixer.heads + states) + 24.0 * mixer.heads
    if not solves(plan):
        total += 4.0 * mixer.heads * _DELTA_CHUNK * _DELTA_CHUNK / 3
    return total + computed * 2 * mixer.narrow + _gated_norm(mixer, plan, computed, fused=False)


def solves(plan: Plan) -> bool:
    """Whether the inverse of a chunk's matrix is a triangular solve, as in 5.23.0; 5.0.0 substitutes row by row."""
    return at_least(plan.stack.transformers, "5.20")


def _mamba2(mixer: Mixer, plan: Plan, computed: int) -> float:
    """``torch_forward`` of Mamba 2: for each head three matrices of a chunk and five copies of B and C, six of the values, the states of
    each chunk three times, and the gated norm in float32."""
    pairs = 3 * mixer.chunk + 5 * mixer.state
    states = 3.0 * mixer.inner * mixer.state / max(mixer.chunk, 1)
    return computed * (mixer.product + mixer.narrow) + 4.0 * (mixer.heads * pairs + 10 * mixer.inner + states) + 20.0 * mixer.heads


def busy(mixer: Mixer, plan: Plan, computed: int) -> float:
    """Bytes for each token of gradients in the backward of the mixing itself."""
    if mixer.way in ("convolution", "none"):
        return computed * 2.0 * mixer.inner
    if by_kernels(mixer, plan):
        # Gradients of queries, keys and values, and the states and values that are computed again.
        states = mixer.keys / max(mixer.heads, 1) * mixer.inner / _DELTA_CHUNK if mixer.way == "delta" else 2.0 * mixer.inner
        return computed * (3 * mixer.keys + 3 * mixer.inner + states)
    if mixer.way == "delta":
        return 4.0 * (3 * mixer.keys + 3 * mixer.inner)
    if mixer.way == "mamba2":
        return 4.0 * mixer.heads * 2 * max(mixer.chunk, mixer.state)
    return 4.0 * 2 * mixer.inner * mixer.state
