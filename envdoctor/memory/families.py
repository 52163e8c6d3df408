"""Which kind of model is read by which function, and which kinds are none that memory can be told of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from envdoctor.memory import classics, decoders, encoders, experts, gemma4, llama4, mixed, states
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.fields import Fields

Family: TypeAlias = Callable[[Fields], Architecture]

FAMILIES: Mapping[str, Family] = {
    "llama": decoders.llama,
    "granite": decoders.llama,
    "smollm3": decoders.llama,
    "xverse": decoders.mistral,
    "yi": decoders.mistral,
    "Yi": decoders.mistral,
    "aquila": decoders.mistral,
    "mistral": decoders.mistral,
    "ministral": decoders.mistral,
    "helium": decoders.mistral_with_attention_bias,
    "seed_oss": decoders.seed_oss,
    "exaone": decoders.exaone,
    "exaone4": decoders.exaone4,
    "ernie4_5": decoders.ernie,
    "arcee": decoders.arcee,
    "apertus": decoders.apertus,
    "nemotron": decoders.nemotron,
    "hunyuan_v1_dense": decoders.hunyuan,
    "qwen": decoders.qwen,
    "qwen2": decoders.qwen2,
    "qwen2_vl": decoders.qwen2,
    "qwen2_5_vl": decoders.qwen2,
    "qwen2_vl_text": decoders.qwen2,
    "qwen2_5_vl_text": decoders.qwen2,
    "qwen3": decoders.qwen3,
    "qwen3_vl_text": decoders.qwen3,
    "gemma": decoders.gemma,
    "gemma2": decoders.gemma2,
    "gemma3_text": decoders.gemma3,
    "phi": decoders.phi,
    "phi3": decoders.phi3,
    "glm": decoders.glm,
    "glm4": decoders.glm,
    "glm4v": decoders.glm,
    "glm4v_text": decoders.glm,
    "olmo": decoders.olmo,
    "olmo2": decoders.olmo2,
    "olmo3": decoders.olmo2,
    "cohere": decoders.cohere,
    "cohere2": decoders.cohere,
    "stablelm": decoders.stablelm,
    "starcoder2": decoders.starcoder2,
    "persimmon": decoders.persimmon,
    "baichuan": decoders.baichuan,
    "internlm": decoders.internlm,
    "internlm2": decoders.internlm2,
    "internlm3": decoders.internlm,
    "minicpm": decoders.minicpm,
    "minicpm3": decoders.minicpm3,
    "minicpmv": decoders.minicpmv,
    "minicpmo": decoders.minicpmv,
    "chatglm": decoders.chatglm,
    "mixtral": experts.mixtral,
    "phimoe": experts.phimoe,
    "granitemoe": experts.granitemoe,
    "granitemoeshared": experts.granitemoe,
    "gpt_oss": experts.gpt_oss,
    "qwen2_moe": experts.qwen_moe,
    "qwen3_moe": experts.qwen_moe,
    "qwen3_vl_moe_text": experts.qwen_moe,
    "olmoe": experts.qwen_moe,
    "deepseek": experts.deepseek_1,
    "deepseek_v2": experts.deepseek,
    "deepseek_v3": experts.deepseek,
    "kimi_k2": experts.deepseek,
    "glm4_moe": experts.glm_moe,
    "glm4v_moe_text": experts.glm_moe,
    "qwen3_next": mixed.delta,
    "qwen3_5": mixed.delta,
    "qwen3_5_text": mixed.delta,
    "qwen3_5_moe": mixed.delta,
    "qwen3_5_moe_text": mixed.delta,
    "lfm2": mixed.lfm2,
    "lfm2_moe": mixed.lfm2,
    "granitemoehybrid": mixed.granite_hybrid,
    "bamba": mixed.bamba,
    "falcon_h1": mixed.falcon_h1,
    "nemotron_h": mixed.nemotron_h,
    "jamba": mixed.jamba,
    "olmo_hybrid": mixed.olmo_hybrid,
    "mamba": states.mamba,
    "falcon_mamba": states.mamba,
    "mamba2": states.mamba2,
    "gemma4": gemma4.gemma4,
    "gemma4_text": gemma4.gemma4,
    "llama4": llama4.llama4,
    "llama4_text": llama4.llama4,
    "mllama_text_model": llama4.mllama,
    "gpt2": classics.gpt2,
    "gpt_bigcode": classics.gpt2,
    "gpt_neo": classics.gpt_neo,
    "gpt_neox": classics.gpt_neox,
    "gptj": classics.gptj,
    "codegen": classics.gptj,
    "bloom": classics.bloom,
    "opt": classics.opt,
    "falcon": classics.falcon,
    "RefinedWeb": classics.falcon,
    "RefinedWebModel": classics.falcon,
    "mpt": classics.mpt,
    "bert": encoders.bert,
    "roberta": encoders.roberta,
    "xlm-roberta": encoders.roberta,
    "camembert": encoders.roberta,
    "distilbert": encoders.distilbert,
    "deberta-v2": encoders.deberta_v2,
    "modernbert": encoders.modernbert,
    "electra": encoders.electra,
    "t5": encoders.t5,
    "mt5": encoders.t5,
    "umt5": encoders.t5,
    "bart": encoders.bart,
    "mbart": encoders.bart,
}

_CARRIED = """
rwkv rwkv5 rwkv6 rwkv7 recurrent_gemma xlstm zamba zamba2 minimax kimi_linear retnet hyena striped_hyena
"""
_OTHERWISE = """
albert deberta xlnet reformer longformer big_bird funnel mpnet mobilebert squeezebert fnet nystromformer convbert
roformer rembert xlm xlm-roberta-xl flaubert megatron-bert openai-gpt gptsan-japanese ctrl xglm biogpt imagegpt gemma3n gemma3n_text
dbrx jetmoe diffllama doge switch_transformers longt5 pegasus pegasus_x
marian m2m_100 led blenderbot blenderbot-small prophetnet fsmt nllb-moe plbart whisper vit clip siglip wav2vec2 hubert
gpt_neox_japanese cpmant flex_olmo longcat_flash blt openelm
"""

NO_TRANSFORMER = frozenset(_CARRIED.split())
"""Kinds with layers of another sort: states that are carried along, alone or in turn with attention."""
UNLIKE_LLAMA = frozenset(_OTHERWISE.split())
"""Kinds whose layers are not those of Llama although some of their fields are called so."""
