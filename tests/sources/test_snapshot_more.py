"""Facts that single rules wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.facts.vocabulary import term
from envdoctor.files.json_file import Document
from envdoctor.sources.model.generation_flags import flags_unused
from envdoctor.sources.model.snapshot import read_snapshot
from envdoctor.sources.model.snapshot_more import more_facts
from tests.coherence.situations import safetensors, write

CONFIG = {"model_type": "llava"}


def facts(path: Path, **files: object) -> dict[str, FactValue]:
    read = read_snapshot(write(path, {"config.json": CONFIG, **{f"{name}.json": content for name, content in files.items()}}))
    told = list(more_facts(read))
    assert all(term(fact.name) is not None for fact in told)
    return {fact.name.removeprefix("model."): fact.value for fact in told}


def test_a_model_without_these_files_says_nothing(tmp_path: Path) -> None:
    assert facts(tmp_path) == {}


@pytest.mark.parametrize(
    ("table", "unused"),
    [
        # The generation_config.json of the first Llama-2-7b-hf.
        ({"bos_token_id": 1, "pad_token_id": 0, "temperature": 0.9, "max_length": 4096, "top_p": 0.6}, ("temperature", "top_p")),
        ({"do_sample": False, "top_k": 20}, ("top_k",)),
        ({"typical_p": 0.9, "epsilon_cutoff": 0.1, "eta_cutoff": 0.1}, ("typical_p", "epsilon_cutoff", "eta_cutoff")),
        ({"do_sample": False, "temperature": 0.0, "top_p": 1.0}, ("temperature",)),
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9}, ()),
        ({"temperature": 1.0, "top_p": 1, "top_k": 50, "epsilon_cutoff": 0}, ()),
        ({"temperature": None, "top_p": None}, ()),
        ({"penalty_alpha": 0.6, "top_k": 4}, ()),
        ({"temperature": "hot", "top_p": True, "top_k": [3]}, ()),
        ({"temperature": float("nan")}, ()),
        # Refused by some releases only.
        ({"min_p": 0.1}, ()),
        ({"do_sample": None, "temperature": 0.9}, ()),
        ({}, ()),
    ],
)
def test_sampling_flags_without_sampling(tmp_path: Path, table: dict[str, object], unused: tuple[str, ...]) -> None:
    assert flags_unused(Document(table, "")) == unused
    assert facts(tmp_path, generation_config=table) == {"generation_flags_unused": bool(unused)}


def test_no_generation_config_has_no_flags() -> None:
    assert flags_unused(None) == ()


def test_the_line_of_the_first_flag(tmp_path: Path) -> None:
    write(tmp_path, {"config.json": CONFIG, "generation_config.json": {"bos_token_id": 1, "top_p": 0.6}})
    (fact,) = more_facts(read_snapshot(tmp_path))
    assert (fact.origin.file, fact.origin.line) == (str(tmp_path / "generation_config.json"), 3)


@pytest.mark.parametrize(
    ("spelling", "misspelled"),
    [
        ("LLaMATokenizer", True),
        ("llamaTokenizer", True),
        ("LlamaTokenizer", False),
        ("LlamaTokenizerFast", False),
        ("Qwen2Tokenizer", False),
    ],
)
def test_the_spelling_of_the_tokenizer_class(tmp_path: Path, spelling: str, misspelled: bool) -> None:
    assert facts(tmp_path, tokenizer_config={"tokenizer_class": spelling}) == {
        "tokenizer_class_misspelled": misspelled,
        "has_tokenizer_json": False,
    }


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ({"type": "BPE", "vocab": {"merges": 0, "a": 1}, "merges": ["a b", "ab c"]}, "strings"),
        ({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}, "pairs"),
        ({"type": "BPE", "vocab": {"a": 0}, "merges": []}, "none"),
        ({"type": "WordPiece", "vocab": {"a": 0}}, "none"),
    ],
)
def test_the_form_of_the_merges(tmp_path: Path, model: dict[str, object], form: str) -> None:
    assert facts(tmp_path, tokenizer={"added_tokens": [], "model": model}) == {"tokenizer_merges": form}


def test_a_tokenizer_that_was_not_fetched_has_no_merges_to_tell(tmp_path: Path) -> None:
    write(tmp_path, {"config.json": CONFIG})
    (tmp_path / "tokenizer.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert list(more_facts(read_snapshot(tmp_path))) == []


@pytest.mark.parametrize("spelling", [None, 3, ["LlamaTokenizer"]])
def test_no_tokenizer_class(tmp_path: Path, spelling: object) -> None:
    assert facts(tmp_path, tokenizer_config={"tokenizer_class": spelling}) == {}


def test_processors(tmp_path: Path) -> None:
    image = {"image_processor_type": "Qwen2_5_VLImageProcessor"}
    told = {"image_processor_type": "Qwen2_5_VLImageProcessor", "processor_patch_size": False}
    assert facts(tmp_path / "a", preprocessor_config=image) == told
    assert facts(tmp_path / "b", preprocessor_config={**image, "patch_size": 14}) == {**told, "processor_patch_size": True}
    assert facts(tmp_path / "c", preprocessor_config=image, processor_config={"patch_size": 14}) == {**told, "processor_patch_size": True}
    assert facts(tmp_path / "d", processor_config={"patch_size": None}) == {"processor_patch_size": False}


def test_an_adapter_in_the_directory(tmp_path: Path) -> None:
    name = "base_model.model.language_model.model.layers.0.q_proj.lora_A.weight"
    write(tmp_path, {"adapter_model.safetensors": safetensors({name: ("F32", [8, 4])})})
    assert facts(tmp_path, adapter_config={"peft_type": "LORA", "r": 8}) == {
        "adapter_fields": ("peft_type", "r"),
        "adapter_vlm_layout": "before-4.52",
    }


@pytest.mark.parametrize("name", ["chatglm3-6b", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_the_fixtures(fixtures: Path, name: str) -> None:
    told = {fact.name: fact.value for fact in more_facts(read_snapshot(fixtures / name))}
    assert told.get("model.generation_flags_unused", False) is False
    assert told["model.tokenizer_class_misspelled"] is False
