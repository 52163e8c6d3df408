"""Types of models that vLLM reads with configurations of its own, whatever transformers knows: in which of its releases.

Read in ``vllm/transformers_utils/config.py`` of 36 releases from 0.1.7 to 0.27.0. A bound lies at the next release that was read and lacks
the type, so that a release in between counts as one that has it.
"""

from __future__ import annotations

from collections.abc import Mapping

READ_BY_VLLM: Mapping[str, str] = {
    "afmoe": ">0.11.0",
    "axk1": ">0.24.0",
    "chameleon": ">0.5.0,<0.5.5",
    "cohere2": ">0.6.6.post1,<0.10.2",
    "colmodernvbert": ">0.16.0,<0.20.0",
    "colpali": ">0.17.0",
    "cosmos3_edge": ">0.24.0",
    "cosmos3_omni": ">0.22.0",
    "dbrx": ">0.3.3,<0.10.2",
    "deepseek_v3": ">0.10.2,<0.11.2",
    "deepseek_v32": ">0.10.2",
    "deepseek_v4": ">0.19.0",
    "diffusion_gemma": ">0.22.0",
    "exaone4": ">0.9.2,<0.10.2",
    "flex_olmo": ">0.11.0",
    "granite": ">0.6.0,<0.6.3",
    "granite4_vision": ">0.19.0",
    "hunyuan_vl": ">0.11.2",
    "hy_v3": ">0.19.0",
    "hyperclovax": ">0.22.0",
    "inkling_mm_model": ">0.24.0",
    "kimi_k25": ">0.14.0",
    "kimi_linear": ">0.11.0",
    "laguna": ">0.20.0",
    "lfm2_moe": ">0.11.0",
    "mellum": ">0.22.0",
    "minimax_m3_vl": ">0.22.0",
    "mllama": ">0.6.1.post2,<0.10.2",
    "modernvbert": ">0.19.0",
    "moss_transcribe_diarize": ">0.24.0",
    "mpt": "<0.10.2",
    "nemotron": ">0.5.3.post1",
    "olmo2": ">0.6.4.post1,<0.8.5",
    "olmo3": ">0.10.2,<0.19.0",
    "olmo_hybrid": ">0.17.0",
    "qianfan_ocr": ">0.20.0",
    "qwen2_vl": ">0.6.1.post2,<0.6.4.post1",
    "qwen3_5": ">0.16.0",
    "qwen3_5_moe": ">0.16.0",
    "qwen3_5_moe_text": ">0.26.0",
    "qwen3_5_text": ">0.26.0",
    "qwen3_asr": ">0.15.0",
    "qwen3_next": ">0.10.0",
    "starcoder2": "<0.4.0",
    "step3p5": ">0.15.0",
}
