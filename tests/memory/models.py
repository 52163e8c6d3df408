"""Configurations of models that the stories are about, as their config.json has them (without the rest)."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value

LLAMA_2_13B: Mapping[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_hidden_layers": 40,
    "num_attention_heads": 40,
    "num_key_value_heads": 40,
    "vocab_size": 32000,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-05,
}
GLM_4_9B: Mapping[str, object] = {
    "architectures": ["GlmForCausalLM"],
    "model_type": "glm",
    "hidden_size": 4096,
    "intermediate_size": 13696,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 151552,
    "attention_bias": True,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QWEN_HALF_B: Mapping[str, object] = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
CHATGLM3_6B: Mapping[str, object] = {
    "architectures": ["ChatGLMModel"],
    "model_type": "chatglm",
    "auto_map": {"AutoModel": "modeling_chatglm.ChatGLMForConditionalGeneration"},
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_layers": 28,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "padded_vocab_size": 65024,
    "add_qkv_bias": True,
    "add_bias_linear": False,
    "rmsnorm": True,
    "seq_length": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
}


def stated(values: Mapping[str, object], source: str = "facts.toml") -> Facts:
    """Facts as a facts file states them."""
    return Facts({name: Fact(name, parse_value(name, value), Origin(source)) for name, value in values.items()})
