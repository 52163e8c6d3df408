"""The type of a published model, by the name of its repository."""

from __future__ import annotations

import pytest

from envdoctor.facts.published_models import published_type


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("meta-llama/Llama-3.2-11B-Vision", "mllama"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen/Qwen3-30B-A3B", "qwen3_moe"),
        ("google/gemma-3-1b-it", "gemma3_text"),
        ("google/gemma-3-4b-it", "gemma3"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2"),
        ("bert-base-uncased", "bert"),
        # what others make of a model, what is a folder, and what only begins alike
        ("somebody/Llama-3.1-8B-Instruct", None),
        ("./Qwen/Qwen2.5-7B-Instruct", None),
        ("Qwen/Qwen-7B", None),
        ("meta-llama/Llama-3.1-8B-Instruct-evals", None),
        ("google/gemma-2-9b-it-sae", None),
        ("", None),
    ],
)
def test_the_type_is_known_of_what_its_maker_published_alone(name: str, kind: str | None) -> None:
    assert published_type(name) == kind
