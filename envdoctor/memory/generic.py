"""Decoders of kinds that are not listed, read by what their fields are called.

Of those in ``_COUNTED`` the parameters were counted with the modules of transformers 5.23.0; the others are said not to be known.
"""

from __future__ import annotations

from envdoctor.memory import decoders, experts
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.fields import ArchitectureError, Fields, shown
from envdoctor.memory.parts import core, feedforward, gated
from envdoctor.records import replace

_COUNTED = frozenset(("dots1", "ernie4_5_moe", "glm4_moe_lite", "minimax_m2", "solar_open", "ministral3", "granite_swa"))
# Queries and keys are normalised, which no field says: for each head, or all heads together.
_EACH_HEAD = frozenset(("dots1", "afmoe", "exaone_moe", "hy_v3", "hunyuan_v1_moe"))
_ALL_HEADS = frozenset(("minimax_m2",))
_MIXED = frozenset(("linear_attention", "mamba", "mamba2", "conv", "recurrent", "moe", "mlp"))


def generic(fields: Fields) -> Architecture:
    """A decoder whose fields are called as those of Llama, with latent attention or a mixture of experts where fields tell of it.

    Raises ArchitectureError where its fields tell of layers of another sort.
    """
    _refuse_mixed(fields)
    chosen = experts.has_experts(fields)
    stated = dict(fields.config)
    if chosen and "intermediate_size" not in stated and "moe_intermediate_size" in stated:
        stated["intermediate_size"] = stated["moe_intermediate_size"]
    named = Fields(stated, fields.kind)
    base = _base(named)
    fields.assumed += [one for one in named.assumed if one not in fields.assumed]
    if chosen:
        sizes = decoders.latent_sizes(named) if _is_latent(named) else core(named)
        bias = named.flag("use_bias") if fields.kind == "ernie4_5_moe" else False
        base = experts.by_its_fields(named, base, sizes, bias=bias)
    return replace(base, known=fields.kind in _COUNTED)


def _refuse_mixed(fields: Fields) -> None:
    for name in ("layer_types", "layers_block_type"):
        listed = fields.raw(name)
        strange = next((one for one in listed if one in _MIXED), None) if isinstance(listed, list) else None
        if strange is not None:
            raise ArchitectureError(name, found=shown(strange), expected="layers with attention, in a kind of model that is not known")


def _is_latent(fields: Fields) -> bool:
    return "kv_lora_rank" in fields.config and "qk_nope_head_dim" in fields.config


def _base(fields: Fields) -> Architecture:
    if _is_latent(fields):
        sizes = decoders.latent_sizes(fields)
        linears, norms = decoders.latent_attention(fields, sizes, bias=fields.flag("attention_bias"))
        ffn = feedforward(fields, "intermediate_size")
        architecture = decoders.assemble(fields, sizes, ffn, linears + gated(sizes.hidden, ffn))
        return replace(architecture, norm_width=architecture.norm_width + norms)
    if fields.kind == "ernie4_5_moe":
        return decoders.ernie(fields)
    architecture = decoders.llama(fields)
    if fields.kind in _EACH_HEAD or fields.flag("use_qk_norm", "qk_norm"):
        width = 2 * architecture.head_dim
        if fields.kind in _ALL_HEADS:
            width = architecture.query_width + architecture.key_width
        return decoders.head_normed(architecture, width)
    if fields.kind in _ALL_HEADS:
        return decoders.head_normed(architecture, architecture.query_width + architecture.key_width)
    return architecture
