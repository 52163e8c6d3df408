"""The vocabulary and the tokenizer of a published model, by its name."""

from __future__ import annotations

import pytest

from envdoctor.facts.published_models import published_model, published_type
from envdoctor.facts.published_tokens import list_token_facts


@pytest.mark.parametrize(
    ("name", "words", "tokenizer", "is_fast"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 152064, None, None),
        ("NousResearch/Meta-Llama-3-8B", 128256, None, None),
        ("meta-llama/Llama-2-7b-hf", 32000, "LlamaTokenizer", None),
        ("codellama/CodeLlama-7b-hf", 32016, "CodeLlamaTokenizer", None),
        ("google/gemma-2-2b-it", 256000, "GemmaTokenizer", None),
        ("mistralai/Mistral-Nemo-Instruct-2407", None, None, None),
        ("microsoft/deberta-v3-base", None, "DebertaV2Tokenizer", False),
        ("Helsinki-NLP/opus-mt-en-de", None, "MarianTokenizer", False),
        ("HuggingFaceTB/SmolLM2-1.7B", 49152, None, None),
    ],
)
def test_what_a_name_says(name: str, words: int | None, tokenizer: str | None, is_fast: bool | None) -> None:
    found = dict(list_token_facts(name, published_type(name) or ""))
    assert (found.get("model.vocab_size"), found.get("model.tokenizer_class"), found.get("model.has_tokenizer_json")) == (
        words,
        tokenizer,
        is_fast,
    )


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("Qwen/Qwen3-8B-FP8", "fp8"),
        ("deepseek-ai/DeepSeek-V3", "fp8"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None),
        ("meta-llama/Llama-3.1-405B-Instruct-FP8", None),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "awq"),
    ],
)
def test_how_the_weights_of_a_name_are_stored(name: str, stored: str | None) -> None:
    published = published_model(name)
    assert published is not None
    assert published.quant_method == stored
