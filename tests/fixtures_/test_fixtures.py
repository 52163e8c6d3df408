"""The committed fixtures are what ``fixtures/make.py`` makes, and are what they claim to be."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors import SafetensorError, deserialize

from envdoctor.facts.fact import NotUnderstood
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import term
from envdoctor.files.toml import read_toml

FIXTURES = Path(__file__).parents[2] / "fixtures"
SNAPSHOTS = {
    "chatglm3-6b": ("F16", 7),
    "chatglm3-6b-2024-02": ("F16", 7),
    "glm-4-9b-chat-hf": ("BF16", 4),
    "llama-2-7b-hf": ("F16", 2),
    "qwen2.5-0.5b-instruct": ("BF16", 1),
}
TORCH_DTYPE = {"F16": "float16", "BF16": "bfloat16"}
ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def document(path: Path) -> Any:
    return json.loads(path.read_bytes())


def tensors(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    stored: list[tuple[str, dict[str, Any]]] = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    return {name: (tensor["dtype"], tuple(tensor["shape"])) for name, tensor in stored}


def test_the_script_makes_the_committed_files_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, FIXTURES / "make.py", tmp_path], check=True)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: (FIXTURES / path).read_bytes() for path in made if (FIXTURES / path).is_file()} == made
    of_the_script = {path for pattern in ("*.safetensors", "*.index.json", "damaged/*/*") for path in FIXTURES.rglob(pattern)}
    assert {path.relative_to(FIXTURES) for path in of_the_script} <= made.keys()


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_a_whole_snapshot_loads_and_agrees_with_itself(snapshot: str) -> None:
    folder = FIXTURES / snapshot
    dtype, count = SNAPSHOTS[snapshot]
    shards = {path.name: tensors(path) for path in folder.glob("*.safetensors")}
    assert len(shards) == count
    assert {stored for shard in shards.values() for stored, _ in shard.values()} == {dtype}
    config = document(folder / "config.json")
    assert config["torch_dtype"] == TORCH_DTYPE[dtype]
    names = {name for shard in shards.values() for name in shard}
    assert any(name.endswith(("lm_head.weight", "output_layer.weight")) for name in names) is not config["tie_word_embeddings"]
    if count > 1:
        index = document(folder / "model.safetensors.index.json")
        assert index["weight_map"] == {name: file for file, shard in shards.items() for name in shard}
        payload = sum(path.stat().st_size - 8 - int.from_bytes(path.read_bytes()[:8], "little") for path in folder.glob("*.safetensors"))
        assert index["metadata"]["total_size"] == payload


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        ("truncated", "incomplete metadata|MetadataIncompleteBuffer"),
        ("huge-header", "header too large|HeaderTooLarge"),
        ("lfs-pointer", "header too large|HeaderTooLarge"),
    ],
)
def test_safetensors_refuses_damaged_weights(snapshot: str, words: str) -> None:
    last = sorted((FIXTURES / "damaged" / snapshot).glob("*.safetensors"))[-1]
    with pytest.raises(SafetensorError, match=words):
        tensors(last)


def test_the_pointer_names_the_shard_that_it_stands_for() -> None:
    pointer = FIXTURES / "damaged/lfs-pointer/model-00002-of-00002.safetensors"
    whole = FIXTURES / "damaged/missing-shard" / pointer.name
    assert f"size {whole.stat().st_size}\n" in pointer.read_text(encoding="utf-8")


def test_the_missing_shard_is_named_and_absent() -> None:
    folder = FIXTURES / "damaged/missing-shard"
    named = set(document(folder / "model.safetensors.index.json")["weight_map"].values())
    assert {name for name in named if not (folder / name).exists()} == {"model-00001-of-00002.safetensors"}


def test_the_damaged_config_is_no_json() -> None:
    with pytest.raises(json.JSONDecodeError):
        document(FIXTURES / "damaged/not-json/config.json")


def test_escapes_lie_in_the_values_and_never_in_the_bytes_or_names_on_disk() -> None:
    config = document(FIXTURES / "damaged/escapes/config.json")
    assert ESCAPE.search(config["model_type"])
    assert ESCAPE.search(config["architectures"][0])
    index = document(FIXTURES / "damaged/escapes-index/model.safetensors.index.json")
    assert all(ESCAPE.search(text) for entry in index["weight_map"].items() for text in entry)
    for path in (FIXTURES / "damaged").glob("escapes*/*"):
        assert not ESCAPE.search(str(path))
        assert path.suffix != ".json" or not ESCAPE.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("stack", sorted(path.name for path in (FIXTURES / "stacks").glob("*.toml")))
def test_every_fact_of_a_stack_is_in_the_vocabulary_and_understood(stack: str) -> None:
    content = read_toml(FIXTURES / "stacks" / stack)
    facts = {name: value for name, value in content.items() if not isinstance(value, dict)}
    facts |= {f"{table}.{name}": value for table, values in content.items() if isinstance(values, dict) for name, value in values.items()}
    assert [name for name in facts if term(name) is None] == []
    assert [name for name, value in facts.items() if isinstance(parse_value(name, value), NotUnderstood)] == []


@pytest.mark.parametrize(
    ("bad", "good", "package"), [("chatglm3-bad", "chatglm3-good", "peft"), ("glm4-torch250", "glm4-torch251", "torch")]
)
def test_a_bad_stack_differs_from_the_good_one_in_one_release(bad: str, good: str, package: str) -> None:
    stacks = [read_toml(FIXTURES / f"stacks/{name}.toml") for name in (bad, good)]
    assert stacks[0]["packages"].pop(package) != stacks[1]["packages"].pop(package)
    assert stacks[0] == stacks[1]


def test_the_yaml_plan_and_the_json_plan_are_one_plan() -> None:
    plan = document(FIXTURES / "plans/chatglm3-lora.json")
    assert yaml.safe_load((FIXTURES / "plans/chatglm3-lora.yaml").read_text(encoding="utf-8")) == plan


def test_the_two_chatglm3_snapshots_differ_in_the_model_file_alone() -> None:
    folders = (FIXTURES / "chatglm3-6b", FIXTURES / "chatglm3-6b-2024-02")
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == ["modeling_chatglm.py"]


def test_the_fixtures_stay_small() -> None:
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) < 4_000_000
