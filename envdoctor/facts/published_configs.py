"""The sizes that config.json of some published models states, by the name of the repository.

Read in litgpt/config.py of Lightning-AI/litgpt at 26857050 (Llama, Code Llama, Mistral, Mixtral, Qwen2.5, Qwen3, Phi-4), in
GenZ/Models/Model_sets/alibaba.py of abhibambhaniya/GenZ-LLM-Analyzer at 091bdd0a (Qwen, Qwen1.5), in Huawei's configuration of
Baichuan2-13B in inclusionAI/Ling, in README_EN.md of baichuan-inc/Baichuan-7B at 067d9d0c, and in the configurations of
benchmarks/unseen/memory*.json (the first Llama, Yi, InternLM2, SmolLM2). A test counts the parameters of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.published_models import model_of_folder, published_model

# By model_type: names, hidden_size, num_hidden_layers, intermediate_size, heads, heads of keys and values, vocab_size, tied embeddings.
_Row = tuple[str, int, int, int, int, int, int, bool]
_LLAMA: tuple[_Row, ...] = (
    (r"llama-7b(-hf)?|llama-2-7b(-chat)?(-hf)?|vicuna-7b-v1\.5(-16k)?|open_llama_7b(_v2)?", 4096, 32, 11008, 32, 32, 32000, False),
    (r"llama-13b(-hf)?|llama-2-13b(-chat)?(-hf)?|vicuna-13b-v1\.5(-16k)?|open_llama_13b", 5120, 40, 13824, 40, 40, 32000, False),
    (r"llama-30b(-hf)?", 6656, 60, 17920, 52, 52, 32000, False),
    (r"llama-2-70b(-chat)?(-hf)?", 8192, 80, 28672, 64, 8, 32000, False),
    (r"codellama-7b(-instruct)?-hf", 4096, 32, 11008, 32, 32, 32016, False),
    (r"codellama-13b(-instruct)?-hf", 5120, 40, 13824, 40, 40, 32016, False),
    (r"codellama-34b(-\w+)?-hf", 8192, 48, 22016, 64, 8, 32000, False),
    (r"(meta-)?llama-3(\.1)?-8b(-instruct)?|deepseek-r1-distill-llama-8b", 4096, 32, 14336, 32, 8, 128256, False),
    (r"(meta-)?llama-3(\.[13])?-70b(-instruct)?|deepseek-r1-distill-llama-70b", 8192, 80, 28672, 64, 8, 128256, False),
    (r"(meta-)?llama-3\.1-405b(-instruct)?", 16384, 126, 53248, 128, 8, 128256, False),
    (r"llama-3\.2-1b(-instruct)?", 2048, 16, 8192, 32, 8, 128256, True),
    (r"llama-3\.2-3b(-instruct)?", 3072, 28, 8192, 24, 8, 128256, True),
    (r"tinyllama-1\.1b-.*", 2048, 22, 5632, 32, 4, 32000, False),
    (r"yi-34b(-chat)?", 7168, 60, 20480, 56, 8, 64000, False),
    (r"yi-6b(-chat)?", 4096, 32, 11008, 32, 4, 64000, False),
    (r"smollm2-1\.7b(-instruct)?", 2048, 24, 8192, 32, 32, 49152, True),
)
_QWEN2: tuple[_Row, ...] = (
    (r"qwen1\.5-0\.5b(-chat)?", 1024, 24, 2816, 16, 16, 151936, True),
    (r"qwen1\.5-1\.8b(-chat)?", 2048, 24, 5504, 16, 16, 151936, False),
    (r"qwen1\.5-4b(-chat)?", 2560, 40, 6912, 20, 20, 151936, False),
    (r"qwen1\.5-7b(-chat)?", 4096, 32, 11008, 32, 32, 151936, False),
    (r"qwen1\.5-14b(-chat)?", 5120, 40, 13696, 40, 40, 152064, False),
    (r"qwen1\.5-32b(-chat)?", 5120, 64, 27392, 40, 8, 152064, False),
    (r"qwen1\.5-72b(-chat)?", 8192, 80, 24576, 64, 64, 152064, False),
    (r"qwen1\.5-110b(-chat)?", 8192, 80, 49152, 64, 8, 152064, False),
    (r"qwen2\.5(-coder)?-0\.5b(-instruct)?", 896, 24, 4864, 14, 2, 151936, True),
    (r"qwen2\.5(-coder|-math)?-1\.5b(-instruct)?|deepseek-r1-distill-qwen-1\.5b", 1536, 28, 8960, 12, 2, 151936, True),
    (r"qwen2\.5(-coder)?-3b(-instruct)?", 2048, 36, 11008, 16, 2, 151936, True),
    (r"qwen2\.5(-coder|-math)?-7b(-instruct)?(-1m)?|deepseek-r1-distill-qwen-7b", 3584, 28, 18944, 28, 4, 152064, False),
    (r"qwen2\.5(-coder)?-14b(-instruct)?(-1m)?|deepseek-r1-distill-qwen-14b", 5120, 48, 13824, 40, 8, 152064, False),
    (r"qwen2\.5(-coder)?-32b(-instruct)?|qwq-32b(-preview)?|deepseek-r1-distill-qwen-32b", 5120, 64, 27648, 40, 8, 152064, False),
    (r"qwen2\.5(-math)?-72b(-instruct)?", 8192, 80, 29568, 64, 8, 152064, False),
)
_QWEN3: tuple[_Row, ...] = (
    (r"qwen3-0\.6b(-base)?", 1024, 28, 3072, 16, 8, 151936, True),
    (r"qwen3-1\.7b(-base)?", 2048, 28, 6144, 16, 8, 151936, True),
    (r"qwen3-4b(-base|-instruct-2507|-thinking-2507)?", 2560, 36, 9728, 32, 8, 151936, True),
    (r"qwen3-8b(-base)?|deepseek-r1-0528-qwen3-8b", 4096, 36, 12288, 32, 8, 151936, False),
    (r"qwen3-14b(-base)?", 5120, 40, 17408, 40, 8, 151936, False),
    (r"qwen3-32b", 5120, 64, 25600, 64, 8, 151936, False),
)
_QWEN: tuple[_Row, ...] = (
    (r"qwen-1_8b(-chat)?", 2048, 24, 11008, 16, 16, 151936, False),
    (r"qwen-7b(-chat)?", 4096, 32, 22016, 32, 32, 151936, False),
    (r"qwen-14b(-chat)?", 5120, 40, 27392, 40, 40, 152064, False),
    (r"qwen-72b(-chat)?", 8192, 80, 49152, 64, 64, 152064, False),
)
_MISTRAL: tuple[_Row, ...] = (
    (r"mistral-7b(-instruct)?-v0\.[12]|zephyr-7b-(alpha|beta)", 4096, 32, 14336, 32, 8, 32000, False),
    (r"mistral-7b(-instruct)?-v0\.3|mathstral-7b-v0\.1", 4096, 32, 14336, 32, 8, 32768, False),
    (r"mistral-large-instruct-24(07|11)", 12288, 88, 28672, 96, 8, 32768, False),
)
_MIXTRAL: tuple[_Row, ...] = (
    (r"mixtral-8x7b(-instruct)?-v0\.1", 4096, 32, 14336, 32, 8, 32000, False),
    (r"mixtral-8x22b(-instruct)?-v0\.1", 6144, 56, 16384, 48, 8, 32768, False),
)
_BY_TYPE = {
    "mixtral": _MIXTRAL,
    "llama": _LLAMA,
    "qwen2": _QWEN2,
    "qwen3": _QWEN3,
    "qwen": _QWEN,
    "mistral": _MISTRAL,
    "phi3": ((r"phi-4(-reasoning(-plus)?)?", 5120, 40, 17920, 40, 10, 100352, False),),
    "internlm2": ((r"internlm2-(chat-)?7b", 4096, 32, 14336, 32, 8, 92544, False),),
    "baichuan": (
        (r"baichuan-7b", 4096, 32, 11008, 32, 32, 64000, False),
        (r"baichuan2-7b-(base|chat)", 4096, 32, 11008, 32, 32, 125696, False),
        (r"baichuan2-13b-(base|chat)", 5120, 40, 13696, 40, 40, 125696, False),
    ),
}
# What a type has beside: heads of another width than hidden_size over heads, and experts.
_BESIDE: dict[str, dict[str, object]] = {"qwen3": {"head_dim": 128}, "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2}}
_COPIED = re.compile(r"(-unsloth)?(-dynamic)?-bnb-4bit$|-bf16$|-awq$|-gptq(-int[48])?$|-int[48]$")


def published_config(name: str) -> Mapping[str, object] | None:
    """The sizes of a published model as its config.json has them; None where its repository is not known here."""
    last = _COPIED.sub("", name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower())
    # Who uploads a model once more leaves it the name that says its size.
    found = published_model(name) or model_of_folder(last)
    rows = _BY_TYPE.get(found.type, ()) if found is not None else ()
    for pattern, hidden, layers, intermediate, heads, shared, vocabulary, tied in rows:
        if found is not None and re.fullmatch(pattern, last):
            table: dict[str, object] = {
                "model_type": found.type,
                "hidden_size": hidden,
                "num_hidden_layers": layers,
                "intermediate_size": intermediate,
                "num_attention_heads": heads,
                "num_key_value_heads": shared,
                "vocab_size": vocabulary,
                "tie_word_embeddings": tied,
            }
            return {**table, **_BESIDE.get(found.type, {})}
    return None
