"""Decoders whose layers are those of Llama: attention, a gated network, a norm before each, and what each kind changes of that.

Names, shapes and biases are those of the modules that transformers 4.57.1 builds, and of the modeling files that came with the models
for ChatGLM, Qwen, Baichuan, InternLM and MiniCPM.
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.fields import Fields
from envdoctor.memory.parts import MOST_WIDTH, Core, attention, core, feedforward, fused_attention, fused_gated, gated, plain
from envdoctor.records import replace

_ACTIVATION = ("hidden_act", "hidden_activation", "activation_function", "activation")
_HIDDEN_DROPOUT = ("resid_pdrop", "hidden_dropout", "residual_dropout", "resid_dropout", "hidden_dropout_prob", "dropout")
_ATTENTION_DROPOUT = ("attention_dropout", "attn_pdrop", "attention_probs_dropout_prob", "attn_dropout_prob")


def assemble(fields: Fields, sizes: Core, ffn: int, linears: tuple[Linear, ...], *, act: str = "silu", tied: bool = False) -> Architecture:
    """A decoder of RMS norms before attention and before the network, without anything that a family adds to it."""
    hidden = sizes.hidden
    return Architecture(
        fields.kind,
        hidden,
        sizes.layers,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim,
        ffn,
        sizes.vocab,
        fields.flag("tie_word_embeddings", default=tied),
        linears,
        norm_width=2 * hidden,
        final_norm_width=hidden,
        activation=fields.word(*_ACTIVATION, default=act),
        hidden_dropout=fields.probability(*_HIDDEN_DROPOUT),
        attention_dropout=fields.probability(*_ATTENTION_DROPOUT),
    )


def head_normed(architecture: Architecture, width: int) -> Architecture:
    """The same with normalised queries and keys; ``width`` counts the elements of their norms in a layer."""
    return replace(architecture, head_norms=True, norm_width=architecture.norm_width + width)


def layer_normed(architecture: Architecture, norms: int, *, bias: bool = True) -> Architecture:
    """The same with ``norms`` layer norms instead of RMS norms, each with a weight and perhaps a bias."""
    width = architecture.hidden * (2 if bias else 1)
    return replace(architecture, norm="layer", norms=norms, norm_width=norms * width, final_norm_width=width)


def ungated(architecture: Architecture) -> Architecture:
    return replace(architecture, gated=False)


def llama(fields: Fields) -> Architecture:
    """Llama and everything that took its layers as they are: Yi, DeepSeek's first coder, Granite, SmolLM3."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias")
    linears = attention(sizes, bias=bias, output_bias=bias) + gated(sizes.hidden, ffn, bias=fields.flag("mlp_bias"))
    return assemble(fields, sizes, ffn, linears)


def mistral(fields: Fields) -> Architecture:
    """No biases at all, whatever the configuration says."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    return assemble(fields, sizes, ffn, attention(sizes) + gated(sizes.hidden, ffn))


def qwen2(fields: Fields) -> Architecture:
    """Biases on query, key and value only."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    return assemble(fields, sizes, ffn, attention(sizes, bias=True) + gated(sizes.hidden, ffn))


def seed_oss(fields: Fields) -> Architecture:
    """Biases on query, key and value, and on the product that follows, are stated apart."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears = attention(sizes, bias=fields.flag("attention_bias", default=True), output_bias=fields.flag("attention_out_bias"))
    return assemble(fields, sizes, ffn, linears + gated(sizes.hidden, ffn, bias=fields.flag("mlp_bias")))


def qwen3(fields: Fields) -> Architecture:
    architecture = llama(fields)
    return head_normed(architecture, 2 * architecture.head_dim)


def hunyuan(fields: Fields) -> Architecture:
    architecture = mistral_with_attention_bias(fields)
    return head_normed(architecture, 2 * architecture.head_dim)


def mistral_with_attention_bias(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias")
    return assemble(fields, sizes, ffn, attention(sizes, bias=bias, output_bias=bias) + gated(sizes.hidden, ffn))


def gemma(fields: Fields) -> Architecture:
    return replace(
        mistral_with_attention_bias(fields), activation=fields.word("hidden_activation", "hidden_act", default="gelu_pytorch_tanh")
    )


def gemma2(fields: Fields) -> Architecture:
    architecture = gemma(fields)
    capped = fields.raw("attn_logit_softcapping") is not None or fields.raw("final_logit_softcapping") is not None
    return replace(architecture, norms=4, norm_width=4 * architecture.hidden, softcap=capped)


def gemma3(fields: Fields) -> Architecture:
    architecture = gemma2(fields)
    return head_normed(architecture, 2 * architecture.head_dim)


def olmo(fields: Fields) -> Architecture:
    """Layer norms without a weight."""
    return replace(mistral_with_attention_bias(fields), norm="layer", norm_width=0, final_norm_width=0)


def olmo2(fields: Fields) -> Architecture:
    architecture = mistral_with_attention_bias(fields)
    return head_normed(architecture, architecture.query_width + architecture.key_width)


def exaone4(fields: Fields) -> Architecture:
    architecture = mistral(fields)
    return head_normed(architecture, 2 * architecture.head_dim)


def cohere(fields: Fields) -> Architecture:
    """One layer norm before both branches, which are added to the same input."""
    architecture = layer_normed(mistral_with_attention_bias(fields), 1, bias=False)
    architecture = replace(architecture, parallel=True, final_norm_width=architecture.hidden)
    if fields.kind == "cohere" and fields.flag("use_qk_norm"):
        return head_normed(architecture, architecture.query_width + architecture.key_width)
    return architecture


def stablelm(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears = attention(sizes, bias=fields.flag("use_qkv_bias")) + gated(sizes.hidden, ffn)
    parallel = fields.flag("use_parallel_residual")
    architecture = layer_normed(assemble(fields, sizes, ffn, linears), 1 if parallel else 2)
    architecture = replace(architecture, parallel=parallel)
    return head_normed(architecture, sizes.attention + sizes.keys) if fields.flag("qk_layernorm") else architecture


def starcoder2(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("use_bias", default=True)
    linears = attention(sizes, bias=bias, output_bias=bias) + plain(sizes.hidden, ffn, ("c_fc", "c_proj"), bias=bias)
    return ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu_pytorch_tanh"), 2))


def persimmon(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=True, output_bias=True)
    linears += plain(sizes.hidden, ffn, ("dense_h_to_4h", "dense_4h_to_h"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="relu2"), 2))
    return head_normed(architecture, 4 * sizes.head_dim) if fields.flag("qk_layernorm") else architecture


def phi(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size", default=4 * sizes.hidden)
    linears = attention(sizes, bias=True, output_bias=True, names=("q_proj", "k_proj", "v_proj", "dense"))
    linears += plain(sizes.hidden, ffn, ("fc1", "fc2"))
    architecture = ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu_new"), 1))
    architecture = replace(architecture, parallel=True, head_bias=True)
    return head_normed(architecture, 4 * sizes.head_dim) if fields.flag("qk_layernorm") else architecture


def phi3(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    return assemble(fields, sizes, ffn, fused_attention(sizes, ("qkv_proj", "o_proj")) + fused_gated(sizes.hidden, ffn))


def glm(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears = attention(sizes, bias=fields.flag("attention_bias")) + fused_gated(sizes.hidden, ffn)
    architecture = assemble(fields, sizes, ffn, linears)
    if fields.kind == "glm":
        return architecture
    return replace(architecture, norms=4, norm_width=4 * sizes.hidden)


def nemotron(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias")
    linears = attention(sizes, bias=bias, output_bias=bias)
    linears += plain(sizes.hidden, ffn, ("up_proj", "down_proj"), bias=fields.flag("mlp_bias"))
    return ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="relu2"), 2))


def arcee(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias")
    linears = attention(sizes, bias=bias, output_bias=bias)
    linears += plain(sizes.hidden, ffn, ("up_proj", "down_proj"), bias=fields.flag("mlp_bias"))
    return ungated(assemble(fields, sizes, ffn, linears, act="relu2"))


def apertus(fields: Fields) -> Architecture:
    """A network without a gate, whose activation (xIELU) has two numbers of its own, and normalised heads."""
    architecture = replace(arcee(fields), activation="xielu")
    return replace(head_normed(architecture, 2 * architecture.head_dim), extra=2 * architecture.layers)


def ernie(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("use_bias")
    linears = attention(sizes, bias=bias, output_bias=bias) + gated(sizes.hidden, ffn, bias=bias)
    return assemble(fields, sizes, ffn, linears, tied=True)


def baichuan(fields: Fields) -> Architecture:
    """W_pack is query, key and value; no head shares another's keys."""
    sizes = core(fields, kv_heads=(), head_dim=())
    ffn = feedforward(fields, "intermediate_size")
    return assemble(fields, sizes, ffn, fused_attention(sizes, ("W_pack", "o_proj")) + gated(sizes.hidden, ffn))


def internlm(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("bias", default=fields.kind == "internlm")
    inner = fields.flag("qkv_bias") if fields.kind == "internlm3" else bias
    mlp = fields.kind == "internlm3" and bias
    return assemble(fields, sizes, ffn, attention(sizes, bias=inner, output_bias=bias) + gated(sizes.hidden, ffn, bias=mlp))


def internlm2(fields: Fields) -> Architecture:
    """w1 is the gate, w3 the way up, w2 the way down."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("bias")
    linears = fused_attention(sizes, ("wqkv", "wo"), bias=bias, output_bias=bias) + gated(sizes.hidden, ffn, names=("w1", "w3", "w2"))
    return assemble(fields, sizes, ffn, linears)


def exaone(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears = attention(sizes, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    return assemble(fields, sizes, ffn, linears + gated(sizes.hidden, ffn, names=("c_fc_0", "c_fc_1", "c_proj")))


def minicpm(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    bias = fields.flag("attention_bias")
    return assemble(fields, sizes, ffn, attention(sizes, bias=bias, output_bias=bias) + gated(sizes.hidden, ffn), tied=True)


def qwen(fields: Fields) -> Architecture:
    """The first Qwen: intermediate_size counts gate and up together, w2 goes through the activation."""
    sizes = core(fields, kv_heads=(), head_dim=("kv_channels",))
    ffn = feedforward(fields, "intermediate_size", "ffn_hidden_size") // 2
    bias = not fields.flag("no_bias", default=True)
    linears = fused_attention(sizes, ("c_attn", "c_proj"), bias=True, output_bias=bias)
    linears += gated(sizes.hidden, ffn, bias=bias, names=("w2", "w1", "c_proj"))
    return replace(assemble(fields, sizes, ffn, linears), activation="silu")


def chatglm(fields: Fields) -> Architecture:
    """ChatGLM2, ChatGLM3 and GLM-4 as published with their own code; the first ChatGLM is another model under the same name."""
    if "inner_hidden_size" in fields.config or "position_encoding_2d" in fields.config:
        return chatglm_1(fields)
    shared = ("multi_query_group_num",) if fields.flag("multi_query_attention") else ()
    sizes = core(fields, kv_heads=shared, head_dim=("kv_channels",), vocab="padded_vocab_size")
    ffn = feedforward(fields, "ffn_hidden_size")
    bias = fields.flag("add_bias_linear")
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=bias or fields.flag("add_qkv_bias"), output_bias=bias)
    linears += fused_gated(sizes.hidden, ffn, ("dense_h_to_4h", "dense_4h_to_h"), bias=bias)
    architecture = assemble(fields, sizes, ffn, linears)
    if not fields.flag("rmsnorm", default=True):
        architecture = layer_normed(architecture, 2)
    return architecture if fields.flag("post_layer_norm", default=True) else replace(architecture, final_norm_width=0)


def chatglm_1(fields: Fields) -> Architecture:
    sizes = core(fields, kv_heads=(), head_dim=())
    ffn = feedforward(fields, "inner_hidden_size", default=4 * sizes.hidden)
    linears = fused_attention(sizes, ("query_key_value", "dense"), bias=True, output_bias=True)
    linears += plain(sizes.hidden, ffn, ("dense_h_to_4h", "dense_4h_to_h"))
    return ungated(layer_normed(assemble(fields, sizes, ffn, linears, act="gelu", tied=True), 2))


def latent_attention(fields: Fields, sizes: Core, *, bias: bool = False) -> tuple[tuple[Linear, ...], int]:
    """Attention through narrow states (DeepSeek V2 and V3, MiniCPM3), and the elements of the norms of those states in a layer."""
    nope = fields.size("qk_nope_head_dim", most=MOST_WIDTH)
    rope = fields.size("qk_rope_head_dim", most=MOST_WIDTH)
    value = fields.size("v_head_dim", default=max(1, sizes.hidden // sizes.heads), most=MOST_WIDTH)
    rank = fields.size("kv_lora_rank", most=MOST_WIDTH)
    queries = fields.optional("q_lora_rank", most=MOST_WIDTH)
    width = sizes.heads * (nope + rope)
    if queries is None:
        query: tuple[Linear, ...] = (Linear("q_proj", sizes.hidden, width, "query"),)
    else:
        query = (Linear("q_a_proj", sizes.hidden, queries, "latent", bias), Linear("q_b_proj", queries, width, "query"))
    return (
        *query,
        Linear("kv_a_proj_with_mqa", sizes.hidden, rank + rope, "latent", bias),
        Linear("kv_b_proj", rank, sizes.heads * (nope + value), "key_value"),
        Linear("o_proj", sizes.heads * value, sizes.hidden, "output", bias),
    ), rank + (queries or 0)


def latent_sizes(fields: Fields) -> Core:
    """Sizes of a model with latent attention: the width of a head is that of its query."""
    sizes = core(fields, kv_heads=(), head_dim=("qk_nope_head_dim",))
    return replace(sizes, head_dim=sizes.head_dim + fields.size("qk_rope_head_dim", most=MOST_WIDTH))


def minicpmv(fields: Fields) -> Architecture:
    """MiniCPM-V and MiniCPM-o put their fields beside those of a Llama (2.5, 4) or a Qwen2 (2.6), which only the vocabulary tells."""
    return qwen2(fields) if fields.size("vocab_size", most=2**28) > 150_000 else llama(fields)


def minicpm3(fields: Fields) -> Architecture:
    sizes = latent_sizes(fields)
    ffn = feedforward(fields, "intermediate_size")
    linears, norms = latent_attention(fields, sizes, bias=fields.flag("attention_bias"))
    architecture = assemble(fields, sizes, ffn, linears + gated(sizes.hidden, ffn), tied=True)
    return replace(architecture, norm_width=architecture.norm_width + norms)
