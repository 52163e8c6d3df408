"""Decoders of the generation of GPT-2: layer norms, no gate, query, key and value mostly in one product."""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble, layer_normed, ungated
from envdoctor.memory.fields import Fields
from envdoctor.memory.parts import MOST_WIDTH, Core, attention, core, feedforward, fused_attention, plain
from envdoctor.records import replace

_POSITIONS = ("n_positions", "max_position_embeddings", "n_ctx")


def _positions(fields: Fields, more: int = 0) -> int:
    return fields.size(*_POSITIONS, most=2**28) + more


def _sizes(fields: Fields) -> Core:
    return core(fields, kv_heads=(), head_dim=())


def gpt2(fields: Fields) -> Architecture:
    """GPT-2, and with ``multi_query`` the models of BigCode: all heads share one key and value."""
    sizes = _sizes(fields)
    ffn = feedforward(fields, "n_inner", "intermediate_size", default=4 * sizes.hidden)
    # SantaCoder was first published as a GPT-2 with code of its own, which keeps the queries in a product of their own.
    apart = fields.config.get("attention_head_type") == "multiquery"
    if apart or (fields.kind == "gpt_bigcode" and fields.flag("multi_query", default=True)):
        sizes = replace(sizes, kv_heads=1)
    if apart:
        linears: tuple[Linear, ...] = (
            Linear("q_attn", sizes.hidden, sizes.attention, "query", True),
            Linear("kv_attn", sizes.hidden, 2 * sizes.keys, "key_value", True),
            Linear("c_proj", sizes.attention, sizes.hidden, "output", True),
        )
    else:
        linears = fused_attention(sizes, ("c_attn", "c_proj"), bias=True, output_bias=True)
    linears += plain(sizes.hidden, ffn, ("c_fc", "c_proj"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu_new", tied=True), 2))
    return replace(architecture, positions=_positions(fields))


def gpt_neo(fields: Fields) -> Architecture:
    sizes = _sizes(fields)
    ffn = feedforward(fields, "intermediate_size", default=4 * sizes.hidden)
    linears = attention(sizes, output_bias=True, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    linears += plain(sizes.hidden, ffn, ("c_fc", "c_proj"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu_new", tied=True), 2))
    return replace(architecture, positions=_positions(fields))


def gpt_neox(fields: Fields) -> Architecture:
    sizes = _sizes(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias", default=True)
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=bias, output_bias=bias)
    linears += plain(sizes.hidden, ffn, ("dense_h_to_4h", "dense_4h_to_h"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu"), 2))
    return replace(architecture, parallel=fields.flag("use_parallel_residual", default=True))


def gptj(fields: Fields) -> Architecture:
    """GPT-J and CodeGen: one norm before both branches."""
    sizes = _sizes(fields)
    ffn = feedforward(fields, "n_inner", default=4 * sizes.hidden)
    if fields.kind == "codegen":
        linears = fused_attention(sizes, ("qkv_proj", "out_proj"))
    else:
        linears = attention(sizes, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    linears += plain(sizes.hidden, ffn, ("fc_in", "fc_out"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu_new"), 1))
    return replace(architecture, parallel=True, head_bias=True)


def bloom(fields: Fields) -> Architecture:
    hidden = fields.size("hidden_size", "n_embed", most=MOST_WIDTH)
    sizes = _sizes(_renamed(fields, "hidden_size", hidden))
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=True, output_bias=True)
    linears += plain(hidden, 4 * hidden, ("dense_h_to_4h", "dense_4h_to_h"))
    architecture = assemble(fields, sizes, 4 * hidden, linears, tied=True)
    return replace(ungated(layer_normed(architecture, 2)), activation="bloom_gelu", extra=2 * hidden)


def _renamed(fields: Fields, name: str, value: int) -> Fields:
    """The same configuration with one more name for a number in it."""
    other = Fields({**fields.config, name: value}, fields.kind)
    other.assumed = fields.assumed
    return other


def opt(fields: Fields) -> Architecture:
    sizes = _sizes(fields)
    hidden = sizes.hidden
    ffn = feedforward(fields, "ffn_dim", "intermediate_size")
    bias = fields.flag("enable_bias", default=True)
    linears = attention(sizes, bias=bias, output_bias=bias, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    linears += plain(hidden, ffn, ("fc1", "fc2"), bias=bias)
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="relu", tied=True), 2))
    if not fields.flag("layer_norm_elementwise_affine", default=True):
        architecture = replace(architecture, norm_width=0, final_norm_width=0)
    if not fields.flag("do_layer_norm_before", default=True) or fields.flag("_remove_final_layer_norm"):
        architecture = replace(architecture, final_norm_width=0)
    width = fields.optional("word_embed_proj_dim", most=MOST_WIDTH) or hidden
    once = (Linear("project_in", width, hidden, "other"), Linear("project_out", hidden, width, "other")) if width != hidden else ()
    # The positions have the width of the layers, and two rows before the first.
    return replace(architecture, positions=_positions(fields, 2), embedding_width=0 if width == hidden else width, once=once)


def falcon(fields: Fields) -> Architecture:
    """Falcon, which was first called RefinedWeb; new ones share keys among groups of heads, old ones among all of them."""
    new = fields.flag("new_decoder_architecture", default=fields.kind == "RefinedWeb")
    several = fields.flag("multi_query", default=fields.kind == "RefinedWebModel")
    sizes = core(fields, kv_heads=("num_kv_heads", "n_head_kv") if new else (), head_dim=())
    if not new and several:
        sizes = replace(sizes, kv_heads=1)
    ffn = feedforward(fields, "ffn_hidden_size", default=4 * sizes.hidden)
    bias = fields.flag("bias")
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=bias, output_bias=bias)
    linears += plain(sizes.hidden, ffn, ("dense_h_to_4h", "dense_4h_to_h"), bias=bias)
    parallel = new or fields.flag("parallel_attn", default=True)
    norms = (fields.optional("num_ln_in_parallel_attn", most=2) or 2) if new else (1 if parallel else 2)
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu", tied=True), norms))
    return replace(architecture, parallel=parallel)


def mpt(fields: Fields) -> Architecture:
    """No biases, not in the norms either."""
    sizes = _sizes(fields)
    ffn = fields.size("expansion_ratio", default=4, most=2**10) * sizes.hidden
    linears = fused_attention(sizes, ("Wqkv", "out_proj")) + plain(sizes.hidden, ffn, ("up_proj", "down_proj"), bias=False)
    architecture = layer_normed(assemble(fields, sizes, ffn, linears, act="gelu", tied=True), 2, bias=False)
    return ungated(architecture)
