"""The vocabulary and the tokenizer of a published model, by the name of the repository.

Sizes are those of published_configs.py, and where a family has one vocabulary the default of its class in transformers 4.57.1
(data/class_defaults.json); of the text models of Gemma 3 the one that their config.json has. Which repositories have a SentencePiece model
and no tokenizer.json: huggingface/transformers#42583 (DeBERTa v3), gsarti/ik-nlp-tutorials#2 (Marian), mlfoundations/open_clip#246 (mT5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import FactValue
from envdoctor.facts.published_configs import published_config

_WORDS = {
    "cohere": 256000,
    "cohere2": 256000,
    "gemma": 256000,
    "gemma2": 256000,
    "gemma3_text": 262144,
    "glm4": 151552,
    "glm4_moe": 151552,
    "gpt_oss": 201088,
    "qwen2_moe": 151936,
    "qwen3_moe": 151936,
    "smollm3": 128256,
}
# By model_type: patterns of names, the slow class, and whether the repository has a tokenizer.json.
_TOKENIZERS: dict[str, tuple[tuple[str, str, bool | None], ...]] = {
    "llama": (
        (r"codellama-\d+b(-\w+)?-hf", "CodeLlamaTokenizer", None),
        (r"llama-2-.*|llama-\d+b(-hf)?|open_llama_.*|vicuna-.*|tinyllama.*|yi-\d.*", "LlamaTokenizer", None),
    ),
    "mistral": ((r"mistral-7b-.*|zephyr-7b-.*", "LlamaTokenizer", None),),
    "mixtral": ((r"mixtral-8x7b-.*", "LlamaTokenizer", None),),
    "gemma": (("", "GemmaTokenizer", None),),
    "gemma2": (("", "GemmaTokenizer", None),),
    "t5": (("", "T5Tokenizer", None),),
    "mt5": (("", "T5Tokenizer", False),),
    "xlm-roberta": (("", "XLMRobertaTokenizer", None),),
    "deberta-v2": (("", "DebertaV2Tokenizer", False),),
    "marian": (("", "MarianTokenizer", False),),
}


def list_token_facts(name: str, kind: str) -> Iterator[tuple[str, FactValue]]:
    """The facts of a repository or folder whose ``model_type`` its name has told."""
    config = published_config(name)
    words = config.get("vocab_size") if config is not None and config["model_type"] == kind else _WORDS.get(kind)
    if isinstance(words, int):
        yield "model.vocab_size", words
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    for pattern, tokenizer, is_fast in _TOKENIZERS.get(kind, ()):
        if not pattern or re.fullmatch(pattern, last):
            yield "model.tokenizer_class", tokenizer
            if is_fast is not None:
                yield "model.has_tokenizer_json", is_fast
            return
