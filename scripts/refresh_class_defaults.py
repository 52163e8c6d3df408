"""Write envdoctor/data/class_defaults.json anew: what configuration classes take for a field that config.json does not state.

    python scripts/refresh_class_defaults.py

with an interpreter that has transformers; the release that it has is written beside the table. Classes are only looked at, none is made.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

TABLE = Path(__file__).parents[1] / "envdoctor" / "data" / "class_defaults.json"
KINDS = """
llama mistral ministral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 gemma3_text phi phi3 phimoe gpt2 gpt_neo gpt_neox gptj
gpt_bigcode codegen bloom opt falcon mpt starcoder2 stablelm persimmon granite granitemoe granitemoeshared glm glm4 glm4_moe deepseek_v2
deepseek_v3 olmo olmo2 olmo3 olmoe cohere cohere2 bert roberta xlm-roberta camembert distilbert electra deberta-v2 modernbert t5 mt5 umt5
bart mbart smollm3 gpt_oss seed_oss arcee helium nemotron exaone4 ernie4_5 hunyuan_v1_dense
"""
# The language models inside of others, which no auto class knows by their kind.
INNER = {
    "qwen2_vl_text": ("qwen2_vl", "Qwen2VLTextConfig"),
    "qwen2_5_vl_text": ("qwen2_5_vl", "Qwen2_5_VLTextConfig"),
    "qwen3_vl_text": ("qwen3_vl", "Qwen3VLTextConfig"),
    "qwen3_vl_moe_text": ("qwen3_vl_moe", "Qwen3VLMoeTextConfig"),
    "glm4v_text": ("glm4v", "Glm4vTextConfig"),
    "glm4v_moe_text": ("glm4v_moe", "Glm4vMoeTextConfig"),
}
FIELDS = """
vocab_size hidden_size n_embd d_model dim num_hidden_layers n_layer n_layers num_layers num_decoder_layers num_attention_heads n_head
n_heads num_heads num_key_value_heads num_kv_heads head_dim d_kv intermediate_size n_inner ffn_dim ffn_hidden_size d_ff hidden_dim
shared_intermediate_size attention_bias mlp_bias qkv_bias use_qkv_bias use_bias bias enable_bias lm_head_bias use_qk_norm qk_layernorm
use_parallel_residual parallel_attn new_decoder_architecture multi_query num_ln_in_parallel_attn tie_word_embeddings
max_position_embeddings n_positions hidden_act hidden_activation activation_function activation feed_forward_proj attention_dropout
attn_pdrop resid_pdrop hidden_dropout hidden_dropout_prob attention_probs_dropout_prob dropout residual_dropout resid_dropout dropout_rate
num_experts num_local_experts n_routed_experts n_shared_experts num_experts_per_tok moe_intermediate_size shared_expert_intermediate_size
decoder_sparse_step mlp_only_layers first_k_dense_replace q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim
attn_logit_softcapping final_logit_softcapping do_layer_norm_before word_embed_proj_dim layer_norm_elementwise_affine
_remove_final_layer_norm type_vocab_size embedding_size relative_attention_num_buckets position_buckets relative_attention
position_biased_input max_relative_positions encoder_layers encoder_ffn_dim encoder_attention_heads decoder_layers decoder_ffn_dim
decoder_attention_heads expansion_ratio norm_bias classifier_bias
"""


def defaults(kind: str) -> dict[str, object]:
    """The fields of a class that the size of a model follows from; a class without tie_word_embeddings has True from its base."""
    if kind in INNER:
        module, name = INNER[kind]
        made_by = getattr(importlib.import_module(f"transformers.models.{module}.configuration_{module}"), name)
    else:
        made_by = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING[kind]
    signature = inspect.signature(made_by.__init__).parameters
    if len(signature) <= 3:
        signature = inspect.signature(made_by.__mro__[1].__init__).parameters
    wanted = FIELDS.split()
    stated = {name: one.default for name, one in signature.items() if name in wanted and isinstance(one.default, (bool, int, float, str))}
    return dict(sorted({"tie_word_embeddings": True, **stated}.items()))


if __name__ == "__main__":
    rows = [f"{json.dumps(kind)}: {json.dumps(defaults(kind))}" for kind in sorted([*KINDS.split(), *INNER])]
    release = importlib.import_module("transformers").__version__
    table = "{\n" + ",\n".join(rows) + "\n}"
    TABLE.write_text(f'{{"transformers": "{release}", "defaults": {table}}}\n')
