"""Adapter directories: what they say, and what is wrong with their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, FactValue
from envdoctor.facts.vocabulary import term
from envdoctor.sources.model.adapter import collect_adapter, is_adapter, read_adapter
from tests.coherence.situations import safetensors, write
from tests.examples import examples

LORA = {"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-2-7b-hf", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}
LAYER = "base_model.model.model.layers.0.self_attn.q_proj"
PAIR = {f"{LAYER}.lora_A.weight": ("F32", [8, 16]), f"{LAYER}.lora_B.weight": ("F32", [16, 8])}


def adapter(path: Path, config: object = LORA, **files: object) -> Path:
    return write(path, {"adapter_config.json": config, **{name.replace("__", "."): content for name, content in files.items()}})


def value(found: Collected, name: str) -> FactValue | None:
    return next((fact.value for fact in found.facts if fact.name == name), None)


def test_all_that_an_adapter_says(tmp_path: Path) -> None:
    found = collect_adapter(adapter(tmp_path, adapter_model__safetensors=safetensors(PAIR)))
    assert {fact.name: fact.value for fact in found.facts} == {"model.adapter_fields": tuple(LORA), "model.id": "meta-llama/Llama-2-7b-hf"}
    assert [fact.origin.line for fact in found.facts] == [1, 3]
    assert (found.defects, found.skips) == ((), ())
    assert all(term(fact.name) is not None for fact in found.facts)


@pytest.mark.parametrize("base", ["/root/models/llama", "./llama", "llama", "C:\\models\\llama", "", None, 3, "a/b/c", "a b/c"])
def test_a_base_that_is_no_hub_id(tmp_path: Path, base: object) -> None:
    found = collect_adapter(adapter(tmp_path, {**LORA, "base_model_name_or_path": base}))
    assert value(found, "model.id") is None


@pytest.mark.parametrize(
    ("names", "layout"),
    [
        (["base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight"], "since-4.52"),
        (["base_model.model.language_model.model.layers.0.self_attn.q_proj.lora_A.weight"], "before-4.52"),
        (
            ["base_model.model.model.layers.0.q_proj.lora_A.weight", "base_model.model.visual.blocks.0.attn.qkv.lora_A.weight"],
            "before-4.52",
        ),
        (["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"], None),
        ([], None),
    ],
)
def test_the_layout_of_a_vision_language_adapter(tmp_path: Path, names: list[str], layout: str | None) -> None:
    weights = safetensors({name: ("F32", [8, 16]) for name in names})
    assert value(collect_adapter(adapter(tmp_path, adapter_model__safetensors=weights)), "model.adapter_vlm_layout") == layout


def test_safetensors_come_before_a_pickle(tmp_path: Path) -> None:
    path = adapter(tmp_path, adapter_model__safetensors=safetensors(PAIR), adapter_model__bin=b"PK")
    read = read_adapter(path)
    assert read.weights == "adapter_model.safetensors"
    assert read.header is not None
    assert set(read.header.tensors) == set(PAIR)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("adapter_model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "snapshot-lfs-pointer"),
        ("adapter_model.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "snapshot-lfs-pointer"),
        ("adapter_model.safetensors", safetensors(PAIR)[:-4], "snapshot-safetensors-truncated"),
        ("adapter_model.safetensors", b"<!DOCTYPE html><html>", "snapshot-safetensors-header-invalid"),
        ("adapter_model.safetensors", b"", "snapshot-safetensors-truncated"),
        ("adapter_model.bin", b"", "snapshot-adapter-empty"),
    ],
)
def test_damaged_weights(tmp_path: Path, name: str, content: bytes, rule: str) -> None:
    found = collect_adapter(write(tmp_path, {"adapter_config.json": LORA, name: content}))
    (defect,) = found.defects
    assert (defect.rule, defect.file) == (rule, str(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", "adapter_config.json, line 1, column 2: found"),
        (b"[1]", "found a JSON list"),
        (b"[" + b"{}," * 2_000_000 + b"1]", "bytes of JSON that would fill the memory once parsed"),
        (b"version https://git-lfs.github.com/spec/v1\n", "found a git-lfs pointer"),
        (None, "found no adapter_config.json in the directory"),
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path: Path, content: bytes | None, expected: str) -> None:
    write(tmp_path, {} if content is None else {"adapter_config.json": content})
    with pytest.raises(EnvdoctorError, match=expected):
        collect_adapter(tmp_path)


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="No such file or directory"):
        read_adapter(tmp_path / "absent")


def test_an_adapter_is_told_from_a_model(tmp_path: Path) -> None:
    path = adapter(tmp_path)
    assert is_adapter(path)
    # axolotl leaves the configuration of the base there
    (path / "config.json").write_text("{}")
    assert is_adapter(path)
    (path / "model.safetensors").write_bytes(b"")
    assert not is_adapter(path)
    assert not is_adapter(tmp_path / "absent")


def test_a_configuration_beside_an_adapter_is_that_of_its_base(tmp_path: Path) -> None:
    path = adapter(tmp_path)
    (path / "config.json").write_text('{"model_type": "llama", "vocab_size": 100}')
    told = {fact.name: fact.value for fact in collect_adapter(path).facts}
    assert (told["model.type"], told["model.vocab_size"]) == ("llama", 100)
    assert "model.path" not in told
    assert "model.weights_format" not in told


def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(safetensors(PAIR))
    path = adapter(tmp_path / "adapter")
    (path / "adapter_model.safetensors").symlink_to(tmp_path / "elsewhere")
    found = collect_adapter(path)
    assert [skip.why.startswith("a link that leaves the directory") for skip in found.skips] == [True]


keys = st.sampled_from(["peft_type", "base_model_name_or_path", "r", "lora_alpha", "rank_pattern", "\x1b[2J", "target_modules"])
values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(keys, values), st.binary(max_size=40))
def test_any_adapter_is_read(tmp_path: Path, config: dict[str, object], weights: bytes) -> None:
    path = adapter(tmp_path, json.dumps(config).encode(), adapter_model__safetensors=weights)
    for fact in collect_adapter(path).facts:
        assert all(part.isprintable() for part in (fact.value if isinstance(fact.value, tuple) else [str(fact.value)]))
