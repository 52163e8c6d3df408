"""What a published model's name says of its size, against configurations that were read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.facts.published_configs import published_config
from envdoctor.facts.published_sizes import least_parameters
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.parameters import parameters

UNSEEN = Path(__file__).resolve().parents[2] / "benchmarks" / "unseen"


def _counted() -> list[tuple[str, int]]:
    """The models of the memory sets and how many parameters their configurations come to."""
    found: dict[str, int] = {}
    for file in sorted(UNSEEN.glob("memory*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        for case in data["cases"]:
            if "/" not in case["model"] or not isinstance(case.get("config"), int):
                continue
            try:
                architecture = read_architecture(data["configs"][case["config"]])
            except ArchitectureError:
                continue
            # Some runs were made with fewer layers.
            found[case["model"]] = max(parameters(architecture).total, found.get(case["model"], 0))
    return sorted(found.items())


def test_no_model_is_smaller_than_its_name_is_taken_to_say() -> None:
    counted = _counted()
    assert len(counted) > 100
    assert [name for name, count in counted if count < (least_parameters(name) or 0)] == []


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("huggyllama/llama-30b", 32.53),
        # a model that somebody uploaded once more
        ("pinkmanlove/llama-7b-hf", 6.74),
        ("baichuan-inc/Baichuan-7B", 7.0),
        ("meta-llama/Llama-2-70b-hf", 68.98),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", 8.03),
        ("meta-llama/Llama-3.2-1B", 1.24),
        ("codellama/CodeLlama-34b-Instruct-hf", 33.74),
        ("01-ai/Yi-34B-Chat", 34.39),
        ("Qwen/Qwen-72B-Chat-Int4", 72.29),
        ("Qwen/Qwen1.5-32B-Chat", 32.51),
        ("Qwen/Qwen2.5-72B-Instruct", 72.71),
        ("Qwen/Qwen3-4B-Instruct-2507", 4.02),
        ("Qwen/Qwen3-32B", 32.76),
        ("mistralai/Mistral-Large-Instruct-2407", 122.61),
        ("microsoft/phi-4", 14.66),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 46.7),
        ("mistralai/Mixtral-8x22B-v0.1", 140.63),
        ("internlm/internlm2-chat-7b", 7.74),
        ("baichuan-inc/Baichuan2-13B-Chat", 13.90),
    ],
)
def test_the_parameters_of_a_published_configuration(name: str, billions: float) -> None:
    config = published_config(name)
    assert config is not None
    architecture = read_architecture(config)
    assert architecture.known
    assert round(parameters(architecture).total / 1e9, 2) == billions
    assert (least_parameters(name) or 0) <= parameters(architecture).total


@pytest.mark.parametrize("name", ["somebody/my-llama-70b", "Qwen/Qwen2.5-VL-72B-Instruct", "llama", ""])
def test_of_other_repositories_nothing_is_known(name: str) -> None:
    assert published_config(name) is None


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", 44.62e9),
        ("Qwen/Qwen3-30B-A3B", 29.1e9),
        ("bigscience/bloom-7b1", 6.58e9),
        ("Qwen/Qwen-1_8B", 1.656e9),
        ("google/gemma-3n-E4B-it", None),
        ("openai-community/gpt2", None),
    ],
)
def test_the_size_in_a_name(name: str, least: float | None) -> None:
    assert least_parameters(name) == (None if least is None else int(least))
