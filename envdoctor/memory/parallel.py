"""What one of several ranks has of a model whose experts, or whose rows' tokens, are shared out."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture, Linear, Parameters
from envdoctor.memory.asked import Reader
from envdoctor.memory.plan import Plan, Sharding
from envdoctor.records import replace

# What Megatron calls a layer's products, as the names of transformers for the same ones (``linear_qkv`` and ``linear_proj`` of
# core/transformer/attention.py, ``linear_fc1`` and ``linear_fc2`` of mlp.py, those of multi_latent_attention.py; megatron-core 0.16.1).
_OF_MEGATRON: Mapping[str, tuple[str, ...]] = {
    "linear_qkv": ("q_proj", "k_proj", "v_proj"),
    "linear_proj": ("o_proj",),
    "linear_fc1": ("gate_proj", "up_proj"),
    "linear_fc2": ("down_proj",),
    "linear_q_down_proj": ("q_a_proj",),
    "linear_q_up_proj": ("q_b_proj",),
    "linear_kv_down_proj": ("kv_a_proj_with_mqa",),
    "linear_kv_up_proj": ("kv_b_proj",),
}
# Whose attention sees the whole row by exchanging heads for tokens, or is handed keys and values block by block: no rank has more of
# anything than its part. torch's own way gathers the keys and values of the whole row.
_EXCHANGES: frozenset[Sharding] = frozenset(("zero1", "zero2", "zero3", "megatron"))
_EXCHANGING = frozenset(("ms-swift", "axolotl"))
# Beside which a rank's stage is counted: one model in stages, or several such, each whole. What FSDP and ZeRO share out of a stage, and
# when, was not read.
_IN_STAGES = frozenset(("megatron", "none", "ddp"))


def experts_of(reader: Reader, architecture: Architecture, sharding: Sharding) -> int:
    """Among how many ranks of Megatron the experts are shared out; 1 where they are not, or where nobody knows how."""
    ranks = reader.number("plan.expert_parallel") or 1
    fits = architecture.experts % ranks == 0 and (reader.number("gpu.count") or 1) % ranks == 0
    return ranks if sharding == "megatron" and architecture.experts and fits else 1


def context_of(reader: Reader, sharding: Sharding) -> tuple[int, bool]:
    """Among how many ranks the tokens of a row are shared out, and whether each gathers the keys and values of all of them."""
    ranks = reader.number("plan.context_parallel") or 1
    if (reader.number("gpu.count") or ranks) % ranks:
        return 1, False
    return ranks, ranks > 1 and not (sharding in _EXCHANGES or reader.text("plan.trainer") in _EXCHANGING)


def spread_of(reader: Reader, architecture: Architecture) -> bool:
    """Whether the ranks of Megatron that share a layer share out its tokens too, which it asks of experts
    (core/transformer/moe/moe_layer.py, megatron-core 0.16.1)."""
    several = (reader.number("plan.tensor_parallel") or 1) > 1 and reader.text("plan.distributed") == "megatron"
    return several and (reader.flag("plan.sequence_parallel") is True or bool(architecture.experts))


def stages_of(reader: Reader, architecture: Architecture) -> int:
    """Among how many ranks the layers are shared out; 1 where they are not, or where nobody knows how."""
    stages = reader.number("plan.pipeline_parallel") or 1
    plain = not architecture.variants and not architecture.encoder_decoder and not architecture.beside
    fits = 1 < stages <= architecture.layers and (reader.number("gpu.count") or stages) % stages == 0
    return stages if fits and plain and (reader.text("plan.distributed") or "none") in _IN_STAGES else 1


def of_stage(architecture: Architecture, plan: Plan) -> Architecture:
    """The layers of one stage; the first has no output layer."""
    if plan.pipeline < 2 or not plan.stage:
        return architecture
    layers = -(-architecture.layers // plan.pipeline)
    dense = architecture.dense_layers
    dense = min(dense, layers) if plan.stage == "first" else max(0, dense - (architecture.layers - layers))
    return replace(architecture, layers=layers, dense_layers=dense, head="none" if plan.stage == "first" else architecture.head)


def parameters_of_stage(counted: Parameters, architecture: Architecture, plan: Plan) -> Parameters:
    """Those of one stage: the last has no embedding, unless it is the output layer too."""
    return replace(counted, embedding=0) if plan.stage == "last" and not architecture.tied else counted


def thinned(architecture: Architecture, plan: Plan) -> Architecture:
    """The model with one rank's part of the weights of each layer, and of embeddings and output layer. Experts are whole, as many ranks as
    there are having others (``expert_tensor_parallel_size`` is 1 in ms-swift, swift/megatron/arguments/megatron_args.py at 3602360a),
    unless nothing else shares them out."""
    ranks, whole = plan.tensor, plan.experts_over > 1

    def cut(linears: tuple[Linear, ...]) -> tuple[Linear, ...]:
        kept = [one.role == "router" or (one.count > 1 and whole) for one in linears]
        return tuple(one if same else replace(one, outputs=one.outputs // ranks) for one, same in zip(linears, kept, strict=True))

    return replace(
        architecture,
        vocab=architecture.vocab // ranks,
        linears=cut(architecture.linears),
        dense_linears=cut(architecture.dense_linears),
        variants=tuple(thinned(one, plan) for one in architecture.variants),
    )


def named_by_transformers(targets: tuple[str, ...]) -> tuple[str, ...]:
    """Names of Megatron's modules as those of transformers; what is none of them stays."""
    return tuple(dict.fromkeys(name for one in targets for name in _OF_MEGATRON.get(one, (one,))))


def with_experts_shared(architecture: Architecture, ranks: int) -> Architecture:
    """The model with one rank's experts, each of which is given the tokens of all ranks: as many in all as without."""

    def cut(linears: tuple[Linear, ...]) -> tuple[Linear, ...]:
        return tuple(replace(one, count=one.count // ranks, share=one.share * ranks) if one.count > 1 else one for one in linears)

    return replace(
        architecture,
        linears=cut(architecture.linears),
        variants=tuple(with_experts_shared(one, ranks) for one in architecture.variants),
    )
