"""Counting the parameters of an architecture."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.memory.architecture import Architecture, Linear, Parameters
from envdoctor.records import replace


def parameters(architecture: Architecture) -> Parameters:
    """How many parameters stand where, in the model as transformers builds it.

    ``linear`` are the linear modules of all layers and those that stand once, with their biases; ``other`` the norms, positions, bare
    parameters of experts and the rest; ``head`` the product with the vocabulary (0 where it is the embedding) or the labels.
    """
    others = [parameters(replace(one, variants=())) for one in architecture.variants]
    layers = architecture.layers - architecture.dense_layers - sum(one.layers for one in architecture.variants)
    sparse, bare = _counted(architecture.linears)
    dense, bare_dense = _counted(architecture.dense_linears)
    once, bare_once = _counted(architecture.once)
    width = architecture.embedding_width or architecture.hidden
    narrow = architecture.norm_width if architecture.dense_norm_width is None else architecture.dense_norm_width
    norms = layers * architecture.norm_width + architecture.dense_layers * narrow + architecture.final_norm_width
    matrices = layers * bare + architecture.dense_layers * bare_dense + bare_once
    mixed = architecture.mixer.parameters * layers if architecture.mixer is not None else 0
    return Parameters(
        embedding=architecture.vocab * width,
        head=_head(architecture, width),
        linear=layers * sparse + architecture.dense_layers * dense + once + sum(one.linear for one in others),
        other=norms
        + matrices
        + mixed
        + architecture.positions * architecture.hidden
        + architecture.extra
        + sum(one.other for one in others),
        beside=architecture.beside,
        bare=matrices + sum(one.bare for one in others),
    )


def _counted(linears: Iterable[Linear]) -> tuple[int, int]:
    """Parameters of those that are modules, and of those that are bare parameters."""
    modules = bare = 0
    for linear in linears:
        if linear.module:
            modules += linear.parameters
        else:
            bare += linear.parameters
    return modules, bare


def _head(architecture: Architecture, width: int) -> int:
    if architecture.head == "none":
        return 0
    if architecture.head == "classification":
        return architecture.labels * (architecture.hidden + architecture.head_bias)
    return (0 if architecture.tied else architecture.vocab * width) + (architecture.vocab if architecture.head_bias else 0)
