"""The ``model_type`` that the config.json of a published model has, by the name of its repository.

Only repositories of those who made the models, whose names their makers keep: what somebody else calls so may be anything.
Where the files of transformers 4.57.1 name such a repository (42 do), they do so below that type.
"""

from __future__ import annotations

import re

# By owner: patterns over the rest of the name, in lower case; the first that fits the whole of it counts.
_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "meta-llama": (
        (r"llama-3\.2-\d+b-vision.*", "mllama"),
        (r"llama-4-.*", "llama4"),
        (r"llama-2-\d+b(-chat)?-hf|(meta-)?llama-3(\.[123])?-\d+b(-instruct)?", "llama"),
    ),
    "qwen": (
        (r"qwen2-vl-.*", "qwen2_vl"),
        (r"qwen2\.5-vl-.*", "qwen2_5_vl"),
        (r"qwen2-audio-.*", "qwen2_audio"),
        (r"qwen1\.5-moe-.*|qwen2-57b-a14b.*", "qwen2_moe"),
        (r"qwen3-next-.*", "qwen3_next"),
        (r"qwen3-(30b-a3b|235b-a22b)[\w.-]*", "qwen3_moe"),
        (r"qwen3-[\d.]+b(-base|-fp8|-awq)?|qwen3-(embedding|reranker)-[\d.]+b", "qwen3"),
        (r"qwen(1\.5|2|2\.5)(-coder|-math)?-[\d.]+b[\w.-]*|qwq-32b", "qwen2"),
    ),
    "mistralai": (
        (r"mistral-small-3\.[12]-24b-.*", "mistral3"),
        (r"mixtral-8x\d+b-.*", "mixtral"),
        (r"mistral-7b-.*|mistral-nemo-.*|mistral-small-24b-.*-2501", "mistral"),
    ),
    "google": (
        (r"gemma-3n-.*", "gemma3n"),
        (r"gemma-3-(270m|1b)(-it|-pt)?", "gemma3_text"),
        (r"gemma-3-(4|12|27)b-(it|pt)", "gemma3"),
        (r"gemma-2-(2|9|27)b(-it)?", "gemma2"),
        (r"gemma-(1\.1-)?(2|7)b(-it)?", "gemma"),
        (r"flan-t5-\w+", "t5"),
        (r"mt5-\w+", "mt5"),
    ),
    "microsoft": (
        (r"phi-(1|1_5|2)", "phi"),
        (r"phi-3-(mini|medium)-\d+k-instruct|phi-3\.5-mini-instruct|phi-4|phi-4-mini-instruct", "phi3"),
    ),
    "deepseek-ai": (
        (r"deepseek-r1-distill-qwen-.*", "qwen2"),
        (r"deepseek-r1-distill-llama-.*|deepseek-llm-\d+b-.*|deepseek-coder-(1\.3|6\.7|33)b-.*", "llama"),
        (r"deepseek-(v3|v3-base|r1|r1-zero)", "deepseek_v3"),
    ),
    "tinyllama": ((r"tinyllama-1\.1b-.*|tinyllama_v1\.1", "llama"),),
    "huggingfacetb": ((r"smollm3-3b(-base)?", "smollm3"), (r"smollm2?-(135m|360m|1\.7b)(-instruct)?", "llama")),
    "huggingfaceh4": ((r"zephyr-7b-(alpha|beta)", "mistral"),),
    "lmsys": ((r"vicuna-\d+b-v1\.5(-16k)?", "llama"),),
    "01-ai": ((r"yi(-1\.5)?-\d+b(-chat)?", "llama"),),
    "tiiuae": ((r"falcon-(7|40)b(-instruct)?", "falcon"),),
    "openai": ((r"gpt-oss-(20|120)b", "gpt_oss"),),
    "openai-community": ((r"gpt2(-medium|-large|-xl)?", "gpt2"),),
    "eleutherai": ((r"pythia-[\w.]+(-deduped)?", "gpt_neox"), (r"gpt-neo-[\d.]+[mb]", "gpt_neo"), (r"gpt-j-6b", "gptj")),
    "facebook": ((r"opt-[\d.]+[mb]", "opt"),),
    "bigscience": ((r"bloom(z)?(-\d+[mb]\d*)?", "bloom"),),
    "google-bert": ((r"bert-(base|large)-(un)?cased", "bert"),),
    "facebookai": ((r"roberta-(base|large)", "roberta"),),
    "google-t5": ((r"t5-(small|base|large|3b|11b)", "t5"),),
}
# Names that the hub had before owners, and still takes.
_BARE = {
    "gpt2": "gpt2",
    "bert-base-uncased": "bert",
    "bert-base-cased": "bert",
    "roberta-base": "roberta",
    "t5-small": "t5",
    "t5-base": "t5",
}


def published_type(name: str) -> str | None:
    """The ``model_type`` of a published repository; None for one that is not known, and for a folder."""
    owner, separator, rest = name.lower().partition("/")
    if not separator:
        return _BARE.get(owner)
    return next((kind for pattern, kind in _NAMES.get(owner, ()) if re.fullmatch(pattern, rest)), None)
