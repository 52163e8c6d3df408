"""One rank's slice of a model under tensor parallelism, as transformers' plans cut it.

``base_model_tp_plan`` of its configurations (configuration_llama.py of 5.0.0): queries, keys, values, gate and up are cut by their outputs,
the attention's output and down by their inputs; ``_tp_plan`` cuts the output layer by the vocabulary and gathers the logits. Norms,
embeddings and the residual stream are whole on each rank. Megatron cuts embeddings and logits by the vocabulary too, and computes the loss
of its part (core/tensor_parallel/layers.py and cross_entropy.py of megatron-core 0.16.1).
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear, Parameters
from envdoctor.records import replace

_BY_OUTPUTS = ("query", "key", "value", "gate", "up")
_BY_INPUTS = ("output", "down")


def slices(architecture: Architecture, ranks: int) -> bool:
    """Whether a model can be cut so: a plain decoder whose heads and widths can be divided."""
    plain = (
        architecture.known
        and architecture.mixer is None
        and not (
            architecture.variants or architecture.experts or architecture.encoder_decoder or architecture.beside or architecture.remote
        )
    )
    roles = all(one.role in _BY_OUTPUTS + _BY_INPUTS for one in architecture.linears)
    sizes = (architecture.heads, architecture.kv_heads, architecture.ffn, architecture.vocab)
    return plain and roles and architecture.head == "causal" and not any(size % ranks for size in sizes)


def sliced(architecture: Architecture, ranks: int, *, vocabulary: bool) -> Architecture:
    return replace(
        architecture,
        vocab=architecture.vocab // ranks if vocabulary else architecture.vocab,
        heads=architecture.heads // ranks,
        kv_heads=architecture.kv_heads // ranks,
        ffn=architecture.ffn // ranks,
        linears=tuple(_part(one, ranks) for one in architecture.linears),
    )


def with_head_sliced(counted: Parameters, ranks: int) -> Parameters:
    """The output layer in parts; a tied one is the embedding, which is whole."""
    return replace(counted, head=counted.head // ranks)


def _part(one: Linear, ranks: int) -> Linear:
    if one.role in _BY_OUTPUTS:
        return replace(one, outputs=one.outputs // ranks)
    return replace(one, inputs=one.inputs // ranks)
