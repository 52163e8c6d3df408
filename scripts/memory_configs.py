"""The config.json of a model whose measured runs are known: by the family that its name tells, with the sizes of a row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def configuration(row: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """config.json as the model's authors publish it, with the sizes of the row and the dtype that it is loaded in; {} without sizes."""
    sizes = row.get("arch")
    if not sizes:
        return {}
    name = str(row.get("model") or "").lower()
    config = _family(name, sizes)
    config.setdefault("torch_dtype", dtype if dtype in ("float16", "bfloat16") else "float32")
    if str(row.get("quant") or "").startswith("gptq"):
        config["quantization_config"] = {
            "quant_method": "gptq", "bits": 4, "group_size": -1 if "mixtral" in name else 128,
            "damp_percent": 0.01 if "qwen" in name else 0.1, "desc_act": "thebloke" in name, "sym": True, "true_sequential": True,
        }  # fmt: skip
    return config


def _family(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    for pattern, build in _FAMILIES:
        if re.search(pattern, name):
            return build(name, sizes)
    return _llama(name, sizes)


def _sized(sizes: Mapping[str, Any], kind: str, architecture: str, **more: Any) -> dict[str, Any]:
    config = {
        "architectures": [architecture], "model_type": kind, "hidden_size": sizes["hidden"], "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"], "num_key_value_heads": sizes["kv_heads"], "intermediate_size": sizes["ffn"],
        "vocab_size": sizes["vocab"], "tie_word_embeddings": bool(sizes.get("tied")),
    }  # fmt: skip
    return {**config, **more}


def _llama(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    config = _sized(sizes, "llama", "LlamaForCausalLM", hidden_act="silu", rms_norm_eps=1e-5)
    if "llama-3.2" in name:
        config["head_dim"] = sizes["hidden"] // sizes["heads"]
    if "granite" in name:  # Granite Code has the shape of Llama with biases
        config |= {"attention_bias": True, "mlp_bias": True}
    return config


def _mistral(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "mistral", "MistralForCausalLM", hidden_act="silu", sliding_window=4096, max_position_embeddings=32768)


def _mixtral(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "mixtral", "MixtralForCausalLM", hidden_act="silu", num_local_experts=8, num_experts_per_tok=2)


def _granite(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "granite", "GraniteForCausalLM", hidden_act="silu", attention_dropout=0.1 if "power" in name else 0.0)


def _qwen(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The first Qwen, whose code comes with the weights; its ``intermediate_size`` is that of both halves together."""
    config = _sized(
        sizes, "qwen", "QWenLMHeadModel", kv_channels=128, no_bias=True, use_flash_attn="auto", attn_dropout_prob=0.0,
        emb_dropout_prob=0.0, fp32=False, bf16=False, fp16=False,
        auto_map={"AutoConfig": "configuration_qwen.QWenConfig", "AutoModelForCausalLM": "modeling_qwen.QWenLMHeadModel"},
    )  # fmt: skip
    del config["num_key_value_heads"]
    config["intermediate_size"] = 2 * sizes["ffn"]
    return config


def _qwen2(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "qwen2", "Qwen2ForCausalLM", hidden_act="silu", use_sliding_window=False)


def _bigcode(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode", "n_embd": sizes["hidden"], "n_layer": sizes["layers"],
        "n_head": sizes["heads"], "n_inner": sizes["ffn"], "n_positions": 8192 if "granite" in name or "star" in name else 2048,
        "vocab_size": sizes["vocab"], "multi_query": sizes.get("kv_heads", 1) == 1, "activation_function": "gelu_pytorch_tanh",
        "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1, "scale_attn_weights": True,
        "tie_word_embeddings": sizes.get("tied") is not False,
    }  # fmt: skip


def _neox(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(
        sizes, "gpt_neox", "GPTNeoXForCausalLM", hidden_act="gelu", rotary_pct=0.25, use_parallel_residual=True,
        max_position_embeddings=4096 if "stablelm" in name else 2048,
    )  # fmt: skip


def _stablelm(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "stablelm", "StableLmForCausalLM", hidden_act="silu", partial_rotary_factor=0.25, use_qkv_bias=False)


def _falcon(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    new = sizes["kv_heads"] not in (1, sizes["heads"])
    return {
        "architectures": ["FalconForCausalLM"], "model_type": "falcon", "hidden_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"], "num_attention_heads": sizes["heads"], "num_kv_heads": sizes["kv_heads"],
        "vocab_size": sizes["vocab"], "ffn_hidden_size": sizes["ffn"], "new_decoder_architecture": new,
        "multi_query": sizes["kv_heads"] == 1, "parallel_attn": True, "bias": False, "alibi": False,
        "tie_word_embeddings": sizes.get("tied") is not False,
    }  # fmt: skip


def _bloom(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["BloomForCausalLM"], "model_type": "bloom", "hidden_size": sizes["hidden"], "n_layer": sizes["layers"],
        "n_head": sizes["heads"], "vocab_size": sizes["vocab"], "tie_word_embeddings": sizes.get("tied") is not False,
        "attention_dropout": 0.0, "hidden_dropout": 0.0,
    }  # fmt: skip


def _gptj(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["GPTJForCausalLM"], "model_type": "gptj", "n_embd": sizes["hidden"], "n_layer": sizes["layers"],
        "n_head": sizes["heads"], "n_inner": sizes["ffn"], "vocab_size": sizes["vocab"], "tie_word_embeddings": False,
        "n_positions": 2048, "rotary_dim": 64,
    }  # fmt: skip


def _opt(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["OPTForCausalLM"], "model_type": "opt", "hidden_size": sizes["hidden"], "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"], "ffn_dim": sizes["ffn"], "vocab_size": sizes["vocab"],
        "word_embed_proj_dim": sizes["hidden"], "max_position_embeddings": 2048, "tie_word_embeddings": sizes.get("tied") is not False,
        "dropout": 0.1, "activation_function": "relu",
    }  # fmt: skip


def _gpt2(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": sizes["hidden"], "n_layer": sizes["layers"],
        "n_head": sizes["heads"], "n_inner": sizes["ffn"], "n_positions": 1024, "vocab_size": sizes["vocab"], "tie_word_embeddings": True,
    }  # fmt: skip


def _t5(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """``layers`` of a row are those of encoder and decoder together."""
    return {
        "architectures": ["MT5ForConditionalGeneration" if "mt" in name else "T5ForConditionalGeneration"],
        "model_type": "mt5" if "mt" in name else "t5", "d_model": sizes["hidden"], "num_layers": sizes["layers"] // 2,
        "num_decoder_layers": sizes["layers"] // 2, "num_heads": sizes["heads"], "d_kv": 64, "d_ff": sizes["ffn"],
        "vocab_size": sizes["vocab"], "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "dropout_rate": 0.1,
        "is_encoder_decoder": True,
    }  # fmt: skip


def _bert(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    config = _sized(
        sizes, "bert", "BertForSequenceClassification", hidden_act="gelu", max_position_embeddings=512, type_vocab_size=2,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
    )  # fmt: skip
    del config["num_key_value_heads"], config["tie_word_embeddings"]
    return config


def _chatglm(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["ChatGLMModel"], "model_type": "chatglm", "hidden_size": sizes["hidden"], "num_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"], "multi_query_attention": sizes["kv_heads"] != sizes["heads"],
        "multi_query_group_num": sizes["kv_heads"], "ffn_hidden_size": sizes["ffn"], "padded_vocab_size": sizes["vocab"],
        "kv_channels": 128,
        "add_qkv_bias": True, "add_bias_linear": False, "rmsnorm": True, "seq_length": 8192, "attention_dropout": 0.0,
        "hidden_dropout": 0.0,
        "tie_word_embeddings": False, "torch_dtype": "bfloat16" if "glm-4" in name else "float16",
        "auto_map": {"AutoConfig": "configuration_chatglm.ChatGLMConfig",
                     "AutoModelForCausalLM": "modeling_chatglm.ChatGLMForConditionalGeneration"},
    }  # fmt: skip


def _minicpm_llama(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The language model's sizes stand at the top, as in the published file, beside a vision tower of 400 million parameters."""
    return _sized(
        sizes, "minicpmv", "MiniCPMV", hidden_act="silu", query_num=96,
        vision_config={"hidden_size": 1152, "image_size": 980, "intermediate_size": 4304, "model_type": "idefics2",
                       "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14},
        auto_map={"AutoConfig": "configuration_minicpm.MiniCPMVConfig", "AutoModel": "modeling_minicpmv.MiniCPMV"},
    )  # fmt: skip


def _minicpm(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """MiniCPM-V 1 and 2: a timm SigLIP beside MiniCPM-2B."""
    return _sized(
        sizes, "minicpmv", "MiniCPMV", hidden_act="silu", query_num=64, vision_encoder="vit_so400m_patch14_siglip_384.webli",
        auto_map={"AutoConfig": "configuration_minicpm.MiniCPMVConfig", "AutoModel": "modeling_minicpmv.MiniCPMV"},
    )  # fmt: skip


def _gemma(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    second = re.search(r"gemma-?2-", name) is not None
    head = 256 if not re.search(r"27b", name) else 128
    return _sized(
        sizes, "gemma2" if second else "gemma", "Gemma2ForCausalLM" if second else "GemmaForCausalLM", head_dim=head,
        hidden_activation="gelu_pytorch_tanh", tie_word_embeddings=True,
    )  # fmt: skip


def _phi(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    return _sized(sizes, "phi", "PhiForCausalLM", hidden_act="gelu_new", partial_rotary_factor=0.4)


_FAMILIES = (
    (r"minicpm-llama3-v|minicpm-v-?2[._]5", _minicpm_llama),
    (r"minicpm-v", _minicpm),
    (r"mixtral", _mixtral),
    (r"mistral|zephyr", _mistral),
    (r"powerlm|granite-3|granite-guardian", _granite),
    (r"qwen-?(1[._]8b|7b|14b|72b)|qwen/qwen-", _qwen),
    (r"qwen", _qwen2),
    (r"santacoder|starcoder(?!2)|gpt_bigcode|granite-(20b|34b)", _bigcode),
    (r"stablelm-base-alpha|stablelm-tuned-alpha|pythia|redpajama|dolly|neox", _neox),
    (r"stablelm", _stablelm),
    (r"falcon", _falcon),
    (r"bloom", _bloom),
    (r"gpt-?j", _gptj),
    (r"\bopt-", _opt),
    (r"gpt-?2", _gpt2),
    (r"mt0|mt5|(^|/)t0|t5", _t5),
    (r"bert", _bert),
    (r"chatglm|glm-4", _chatglm),
    (r"gemma", _gemma),
    (r"phi-?[12]", _phi),
)
