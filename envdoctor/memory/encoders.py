"""Encoders (BERT and its relatives), and models of an encoder and a decoder (T5, BART)."""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble, layer_normed, ungated
from envdoctor.memory.fields import ArchitectureError, Fields
from envdoctor.memory.parts import (
    MOST_LAYERS,
    MOST_WIDTH,
    Core,
    attention,
    core,
    feedforward,
    fused_attention,
    fused_gated,
    gated,
    hidden_size,
    plain,
)
from envdoctor.records import replace

_BERT = ("query", "key", "value", "dense")


def _positions(fields: Fields) -> int:
    return fields.size("max_position_embeddings", most=2**28)


def _encoder(fields: Fields, names: tuple[str, str, str, str], network: tuple[str, str], ffn: int) -> Architecture:
    """Layers of biased products with a layer norm after each of two branches; a norm after the embedding, none at the end."""
    sizes = core(fields, kv_heads=(), head_dim=())
    linears = attention(sizes, bias=True, output_bias=True, names=names) + plain(sizes.hidden, ffn, network)
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu", tied=True), 2))
    return replace(
        architecture, final_norm_width=0, positions=_positions(fields), extra=2 * sizes.hidden, head="classification", head_bias=True
    )


def bert(fields: Fields) -> Architecture:
    """BERT: a pooler before its classification head."""
    architecture = _encoder(fields, _BERT, ("dense", "dense"), feedforward(fields, "intermediate_size"))
    hidden = architecture.hidden
    kinds = fields.size("type_vocab_size", default=2, least=0, most=2**20)
    return replace(architecture, extra=architecture.extra + kinds * hidden, once=(Linear("dense", hidden, hidden, "other", True),))


def roberta(fields: Fields) -> Architecture:
    """RoBERTa, XLM-RoBERTa and CamemBERT: no pooler, but a head with a product of its own, which is trained with it."""
    architecture = bert(fields)
    hidden = architecture.hidden
    return replace(architecture, extra=architecture.extra + hidden * (hidden + 1), once=())


def distilbert(fields: Fields) -> Architecture:
    hidden = fields.size("dim", "hidden_size", most=MOST_WIDTH)
    other = Fields({**fields.config, "hidden_size": hidden}, fields.kind)
    other.assumed = fields.assumed
    architecture = _encoder(other, ("q_lin", "k_lin", "v_lin", "out_lin"), ("lin1", "lin2"), feedforward(fields, "hidden_dim"))
    return replace(architecture, once=(Linear("pre_classifier", hidden, hidden, "other", True),))


def electra(fields: Fields) -> Architecture:
    """ELECTRA: a head as in RoBERTa; embeddings may be narrower than the layers."""
    architecture = roberta(fields)
    hidden = architecture.hidden
    width = fields.size("embedding_size", default=hidden, most=MOST_WIDTH)
    if width == hidden:
        return architecture
    # Types, positions and the norm of the embedding are as narrow as it is.
    rows = fields.size("type_vocab_size", default=2, least=0, most=2**20) + 2 + architecture.positions
    projection = Linear("embeddings_project", width, hidden, "other", True)
    return replace(architecture, embedding_width=width, positions=0, extra=rows * width + hidden * (hidden + 1), once=(projection,))


def deberta_v2(fields: Fields) -> Architecture:
    """DeBERTa V2 and V3: positions are relative, and their one table is shared by all layers.

    Raises ArchitectureError for variants with a convolution, or with projections of positions of their own.
    """
    if not fields.flag("share_att_key") or (fields.optional("conv_kernel_size", least=0) or 0) > 0:
        raise ArchitectureError(
            "share_att_key", found="another variant of DeBERTa", expected="the one that shares keys, without a convolution"
        )
    names = ("query_proj", "key_proj", "value_proj", "dense")
    architecture = _encoder(fields, names, ("dense", "dense"), feedforward(fields, "intermediate_size"))
    hidden = architecture.hidden
    rows = fields.size("type_vocab_size", default=0, least=0, most=2**20)
    if fields.flag("relative_attention"):
        buckets = fields.optional("position_buckets", least=-1, most=2**20) or 0
        reach = fields.optional("max_relative_positions", least=-1, most=2**20) or 0
        rows += 2 * (buckets if buckets > 0 else reach if reach > 0 else architecture.positions)
        normed = fields.raw("norm_rel_ebd")
        rows += 2 if isinstance(normed, str) and "layer_norm" in normed else 0
    return replace(
        architecture,
        positions=architecture.positions if fields.flag("position_biased_input", default=True) else 0,
        extra=architecture.extra + rows * hidden,
        once=(Linear("dense", hidden, hidden, "other", True),),
    )


def modernbert(fields: Fields) -> Architecture:
    """ModernBERT: gated, norms before both branches (but not before the first), rotary positions."""
    sizes = core(fields, kv_heads=(), head_dim=())
    hidden = sizes.hidden
    ffn = feedforward(fields, "intermediate_size")
    bias, inner = fields.flag("attention_bias"), fields.flag("mlp_bias")
    linears = fused_attention(sizes, ("Wqkv", "Wo"), bias=bias, output_bias=bias) + fused_gated(hidden, ffn, ("Wi", "Wo"), bias=inner)
    norm = hidden * (2 if fields.flag("norm_bias") else 1)
    architecture = layer_normed(assemble(fields, sizes, ffn, linears, act="gelu", tied=True), 2, bias=norm > hidden)
    once = (Linear("dense", hidden, hidden, "other", fields.flag("classifier_bias")),)
    # One norm follows the embedding and one stands in the head; the first layer lacks one.
    return replace(architecture, head="classification", head_bias=True, extra=norm, once=once)


def t5(fields: Fields) -> Architecture:
    """T5, mT5 and UMT5: relative positions, RMS norms, no biases."""
    sizes = core(fields, kv_heads=(), head_dim=("d_kv",))
    hidden = sizes.hidden
    ffn = feedforward(fields, "d_ff")
    decoder_layers = fields.size("num_decoder_layers", default=sizes.layers, most=MOST_LAYERS)
    form = fields.raw("feed_forward_proj")
    form = form if isinstance(form, str) and len(form) < 40 else "relu"
    is_gated = form.startswith("gated-")
    network = gated(hidden, ffn, names=("wi_0", "wi_1", "wo")) if is_gated else plain(hidden, ffn, ("wi", "wo"), bias=False)
    own = attention(sizes, names=("q", "k", "v", "o"))
    buckets = fields.size("relative_attention_num_buckets", default=32, most=2**20)
    # UMT5 has a table of relative positions in each layer, the others one in the encoder and one in the decoder.
    tables = sizes.layers + decoder_layers if fields.kind == "umt5" else 2
    architecture = assemble(fields, replace(sizes, layers=sizes.layers + decoder_layers), ffn, own + own + network, tied=True)
    return replace(
        architecture,
        norms=3,
        norm_width=3 * hidden,
        final_norm_width=2 * hidden,
        dense_layers=sizes.layers,
        dense_linears=own + network,
        dense_norm_width=2 * hidden,
        extra=tables * buckets * sizes.heads,
        encoder_decoder=True,
        gated=is_gated,
        activation={"gated-gelu": "gelu_new"}.get(form, form.removeprefix("gated-")),
        hidden_dropout=fields.probability("dropout_rate"),
        attention_dropout=fields.probability("dropout_rate"),
    )


def bart(fields: Fields) -> Architecture:
    """BART and mBART: both halves have positions, a norm after the embedding, and mBART one at the end."""
    hidden = hidden_size(fields)
    encoder = fields.size("encoder_layers", most=MOST_LAYERS)
    decoder = fields.size("decoder_layers", most=MOST_LAYERS)
    heads = fields.size("decoder_attention_heads", most=min(hidden, 2**14))
    vocab = fields.size("vocab_size", most=2**28)
    sizes = Core(hidden, encoder + decoder, heads, heads, hidden // heads, vocab)
    own = attention(sizes, bias=True, output_bias=True, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    ffn = feedforward(fields, "decoder_ffn_dim")
    network = plain(hidden, ffn, ("fc1", "fc2"))
    architecture = assemble(fields, sizes, ffn, own + own + network, act="gelu", tied=True)
    return replace(
        ungated(layer_normed(architecture, 3)),
        dense_layers=encoder,
        dense_linears=own + plain(hidden, feedforward(fields, "encoder_ffn_dim"), ("fc1", "fc2")),
        dense_norm_width=4 * hidden,
        final_norm_width=4 * hidden if fields.kind == "mbart" else 0,
        positions=2 * (_positions(fields) + 2),
        extra=4 * hidden,
        encoder_decoder=True,
    )
