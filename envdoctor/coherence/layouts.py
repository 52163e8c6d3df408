"""The tables of ``families``: the names of the tensors of each kind of model, and their shapes in names of dimensions.

Names and shapes are those of the modules that transformers builds (modeling_*.py of 4.57.1, 4.57.6 and 5.23.0) and of the published
modeling files of ChatGLM2, ChatGLM3, GLM-4, Baichuan and InternLM2.
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.records import dataclass

# One tensor a line: its name, with ? where not every layer or model of the kind has it, and its shape in names of dimensions.
_ATTENTION = """
self_attn.q_proj.weight attention hidden
self_attn.k_proj.weight keys hidden
self_attn.v_proj.weight keys hidden
self_attn.o_proj.weight hidden attention
self_attn.q_proj.bias? attention
self_attn.k_proj.bias? keys
self_attn.v_proj.bias? keys
"""
_GATED = """
mlp.gate_proj.weight mlp hidden
mlp.up_proj.weight mlp hidden
mlp.down_proj.weight hidden mlp
"""
_GATE_UP = """
mlp.gate_up_proj.weight twice_mlp hidden
mlp.down_proj.weight hidden mlp
"""
_NORMS = """
input_layernorm.weight hidden
post_attention_layernorm.weight hidden
"""
_HEAD_NORMS = """
self_attn.q_norm.weight head
self_attn.k_norm.weight head
"""
_FEEDFORWARD_NORMS = """
pre_feedforward_layernorm.weight hidden
post_feedforward_layernorm.weight hidden
"""
_OLMO2_NORMS = """
post_attention_layernorm.weight hidden
post_feedforward_layernorm.weight hidden
self_attn.q_norm.weight attention
self_attn.k_norm.weight keys
"""
_GLM4_NORMS = """
post_self_attn_layernorm.weight hidden
post_mlp_layernorm.weight hidden
"""
_PHI3 = """
self_attn.qkv_proj.weight query_key_value hidden
self_attn.o_proj.weight hidden attention
"""
_BAICHUAN = """
self_attn.W_pack.weight thrice_hidden hidden
self_attn.o_proj.weight hidden hidden
"""
_INTERNLM2 = """
attention.wqkv.weight query_key_value hidden
attention.wo.weight hidden attention
feed_forward.w1.weight mlp hidden
feed_forward.w2.weight hidden mlp
feed_forward.w3.weight mlp hidden
attention_norm.weight hidden
ffn_norm.weight hidden
"""
_CHATGLM = """
self_attention.query_key_value.weight query_key_value hidden
self_attention.query_key_value.bias? query_key_value
self_attention.dense.weight hidden attention
mlp.dense_h_to_4h.weight twice_mlp hidden
mlp.dense_4h_to_h.weight hidden mlp
"""
_LATENT = """
self_attn.q_proj.weight? latent_query hidden
self_attn.q_a_proj.weight? query_rank hidden
self_attn.q_b_proj.weight? latent_query query_rank
self_attn.kv_a_proj_with_mqa.weight key_rank_rope hidden
self_attn.kv_a_layernorm.weight key_rank
self_attn.kv_b_proj.weight latent_key key_rank
self_attn.o_proj.weight hidden latent_value
mlp.shared_experts.gate_proj.weight? shared hidden
mlp.shared_experts.up_proj.weight? shared hidden
mlp.shared_experts.down_proj.weight? hidden shared
"""
_SHARED = """
mlp.shared_expert.gate_proj.weight? shared hidden
mlp.shared_expert.up_proj.weight? shared hidden
mlp.shared_expert.down_proj.weight? hidden shared
"""
_GPT2 = """
attn.c_attn.weight hidden thrice_hidden
attn.c_attn.bias thrice_hidden
attn.c_proj.weight hidden hidden
attn.c_proj.bias hidden
mlp.c_fc.weight hidden mlp
mlp.c_fc.bias mlp
mlp.c_proj.weight mlp hidden
mlp.c_proj.bias hidden
ln_1.weight hidden
ln_1.bias hidden
ln_2.weight hidden
ln_2.bias hidden
"""
_OPT = """
self_attn.q_proj.weight hidden hidden
self_attn.k_proj.weight hidden hidden
self_attn.v_proj.weight hidden hidden
self_attn.out_proj.weight hidden hidden
self_attn.q_proj.bias? hidden
self_attn.k_proj.bias? hidden
self_attn.v_proj.bias? hidden
self_attn.out_proj.bias? hidden
self_attn_layer_norm.weight? hidden
final_layer_norm.weight? hidden
fc1.weight mlp hidden
fc2.weight hidden mlp
"""
_FUSED = """
{}.query_key_value.weight thrice_hidden hidden
{}.query_key_value.bias? thrice_hidden
{}.dense.weight hidden hidden
{}.dense.bias? hidden
mlp.dense_h_to_4h.weight mlp hidden
mlp.dense_h_to_4h.bias mlp
mlp.dense_4h_to_h.weight hidden mlp
mlp.dense_4h_to_h.bias hidden
input_layernorm.bias hidden
post_attention_layernorm.bias hidden
"""
_PHI = """
self_attn.q_proj.weight attention hidden
self_attn.k_proj.weight keys hidden
self_attn.v_proj.weight keys hidden
self_attn.dense.weight hidden attention
mlp.fc1.weight mlp hidden
mlp.fc2.weight hidden mlp
input_layernorm.weight hidden
"""
_STARCODER2 = """
mlp.c_fc.weight mlp hidden
mlp.c_proj.weight hidden mlp
"""
_SPARSE = _GATED.replace(".weight", ".weight?") + "mlp.gate.weight? experts hidden\n"
_EXPERT = """
mlp.experts.{}.gate_proj.weight expert hidden
mlp.experts.{}.up_proj.weight expert hidden
mlp.experts.{}.down_proj.weight hidden expert
"""
_MIXTRAL_EXPERT = """
block_sparse_moe.experts.{}.w1.weight mlp hidden
block_sparse_moe.experts.{}.w2.weight hidden mlp
block_sparse_moe.experts.{}.w3.weight mlp hidden
"""


@dataclass(frozen=True, slots=True)
class Family:
    """The tensors of one kind of model.

    ``layer`` and ``expert`` are tables as above, {} stands for the number of the expert. ``tied`` is the default of
    tie_word_embeddings. ``divides`` says that head_dim is hidden_size / num_attention_heads where config.json does not
    give it, ``beyond`` that layers after the last are normal: they predict further tokens. ``width`` is the dimension of a
    row of the embedding; no ``norm`` says that not every model of the kind has one after its last layer.
    """

    layer: str
    expert: str = ""
    tied: bool = False
    divides: bool = False
    beyond: bool = False
    embedding: str = "embed_tokens.weight"
    layers: str = "layers."
    norm: str = "norm.weight"
    width: str = "hidden"
    head: str = "lm_head.weight"
    vocabulary: str = "vocab_size"
    count: str = "num_hidden_layers"
    roots: tuple[str, ...] = ("model.", "", "language_model.model.", "model.language_model.")


_LLAMA = Family(_ATTENTION + _GATED + _NORMS, divides=True)
_GLM = Family(_ATTENTION + _GATE_UP + _NORMS)
_GEMMA = Family(_ATTENTION + _GATED + _NORMS, tied=True)
_GEMMA2 = Family(_GEMMA.layer + _FEEDFORWARD_NORMS, tied=True)
_DEEPSEEK = Family(_LATENT + _SPARSE + _NORMS, _EXPERT, beyond=True)
_INTERNLM2_FAMILY = Family(_INTERNLM2, divides=True, embedding="tok_embeddings.weight", head="output.weight")
_CHATGLM_FAMILY = Family(
    _CHATGLM + _NORMS,
    embedding="embedding.word_embeddings.weight",
    layers="encoder.layers.",
    norm="encoder.final_layernorm.weight",
    head="transformer.output_layer.weight",
    vocabulary="padded_vocab_size",
    count="num_layers",
    roots=("transformer.",),
)

FAMILIES: Mapping[str, Family] = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "granite": _LLAMA,
    "qwen3": Family(_ATTENTION + _GATED + _NORMS + _HEAD_NORMS),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": Family(_GEMMA2.layer + _HEAD_NORMS, tied=True),
    "olmo2": Family(_ATTENTION + _GATED + _OLMO2_NORMS, divides=True),
    "phi3": Family(_PHI3 + _GATE_UP + _NORMS, divides=True),
    "glm": _GLM,
    "glm4": Family(_GLM.layer + _GLM4_NORMS),
    "mixtral": Family(_ATTENTION + _NORMS + "block_sparse_moe.gate.weight? experts hidden\n", _MIXTRAL_EXPERT, divides=True),
    "qwen2_moe": Family(_ATTENTION + _SPARSE + _SHARED + _NORMS, _EXPERT, divides=True),
    "qwen3_moe": Family(_ATTENTION + _SPARSE + _NORMS + _HEAD_NORMS, _EXPERT),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "baichuan": Family(_BAICHUAN + _GATED + _NORMS),
    "internlm2": _INTERNLM2_FAMILY,
    "chatglm": _CHATGLM_FAMILY,
    "starcoder2": Family(_ATTENTION + _STARCODER2 + _NORMS, tied=True, divides=True),
    "phi": Family(_PHI, divides=True, norm="final_layernorm.weight"),
    "gpt2": Family(_GPT2, tied=True, embedding="wte.weight", layers="h.", norm="ln_f.weight", count="n_layer", roots=("transformer.", "")),
    "opt": Family(_OPT, tied=True, norm="", width="embedded", roots=("model.decoder.", "decoder.", "language_model.model.decoder.")),
    "bloom": Family(
        _FUSED.replace("{}", "self_attention") + _NORMS,
        tied=True,
        embedding="word_embeddings.weight",
        layers="h.",
        norm="ln_f.weight",
        count="n_layer",
        roots=("transformer.", ""),
    ),
    "gpt_neox": Family(
        _FUSED.replace("{}", "attention") + _NORMS,
        embedding="embed_in.weight",
        norm="final_layer_norm.weight",
        head="embed_out.weight",
        roots=("gpt_neox.", ""),
    ),
}

KEYS: Mapping[str, tuple[str, ...]] = {
    "hidden": ("hidden_size", "n_embd", "n_embed"),
    "embedded": ("word_embed_proj_dim",),
    "thrice_hidden": ("hidden_size", "n_embd", "n_embed"),
    "head": ("head_dim",),
    "mlp": ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner"),
    "twice_mlp": ("intermediate_size", "ffn_hidden_size"),
    "attention": ("num_attention_heads",),
    "keys": ("num_key_value_heads",),
    "query_key_value": ("num_key_value_heads", "multi_query_group_num"),
    "expert": ("moe_intermediate_size",),
    "shared": ("shared_expert_intermediate_size", "n_shared_experts"),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "query_rank": ("q_lora_rank",),
    "key_rank": ("kv_lora_rank",),
    "key_rank_rope": ("kv_lora_rank",),
    "latent_query": ("qk_nope_head_dim",),
    "latent_key": ("qk_nope_head_dim",),
    "latent_value": ("v_head_dim",),
}
"""The keys of config.json to look at where a dimension is not as they say."""
