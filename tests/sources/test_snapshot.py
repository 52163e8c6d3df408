"""Facts, defects and skips of model directories."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Defect, Fact, FactValue, NotUnderstood
from envdoctor.facts.vocabulary import term
from envdoctor.files.toml import read_toml
from envdoctor.rules.rule import parse_rule
from envdoctor.sources.model.snapshot_facts import collect_snapshot
from tests.examples import examples

LLAMA = {"model_type": "llama", "torch_dtype": "float16", "num_hidden_layers": 2}
HASHES = "weights not hashed; judged by size and headers"


def weights(tensors: Mapping[str, tuple[str, list[int], int]]) -> bytes:
    """A safetensors file of zeros: dtype, shape and size in bytes by name."""
    header: dict[str, object] = {}
    position = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + bytes(position)


WEIGHTS = weights({"a": ("F16", [4, 2], 16)})


def snapshot(path: Path, files: Mapping[str, object] | None = None, config: Mapping[str, object] = LLAMA) -> Path:
    """A directory with config.json and files; what is not bytes is written as JSON."""
    path.mkdir(parents=True, exist_ok=True)
    for name, content in {"config.json": config, **(files or {})}.items():
        (path / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=1).encode())
    return path


def collect(path: Path, files: Mapping[str, object] | None = None, config: Mapping[str, object] = LLAMA) -> Collected:
    return collect_snapshot(snapshot(path, files, config))


def value(found: Collected, name: str) -> FactValue | None:
    return next((fact.value for fact in found.facts if fact.name == f"model.{name}"), None)


def fact(found: Collected, name: str) -> Fact:
    return next(fact for fact in found.facts if fact.name == f"model.{name}")


def only_defect(found: Collected) -> Defect:
    (defect,) = found.defects
    return defect


def index(**weight_map: str) -> dict[str, object]:
    return {"metadata": {"total_size": 1}, "weight_map": weight_map}


# --- fixtures


def test_all_that_chatglm3_says(fixtures: Path) -> None:
    path = fixtures / "chatglm3-6b"
    found = collect_snapshot(path)
    told = {fact.name.removeprefix("model."): str(fact.value) for fact in found.facts if "code" not in Path(str(fact.origin.file)).name}
    assert {name: told[name] for name in told if name not in ("path", "parameters")} == {
        "type": "chatglm",
        "family": "chatglm3",
        "architecture": "ChatGLMModel",
        "config_dtype": "float16",
        "dtype": "float16",
        "transformers_version": "4.30.2",
        "vocab_size": "65024",
        "hidden_size": "2",
        "num_hidden_layers": "28",
        "has_num_hidden_layers": "False",
        "tied_embeddings": "False",
        "rope_type": "default",
        "rope_type_key": "none",
        "eos_ids": "('2',)",
        "role_stop_ids": "missing",
        "remote_code": "True",
        "own_config": "True",
        "tokenizer_class": "ChatGLMTokenizer",
        "tokenizer_class_misspelled": "False",
        "tokenizer_remote_code": "True",
        "has_tokenizer_json": "False",
        "has_chat_template": "True",
        "weights_format": "safetensors",
        "tokenizer_init": "before-super",
        "tokenizer_pad_signature": "without-padding-side",
        "gc_support": "set-hook",
        "uses_cache_format_hook": "True",
        "cache_hook_gated": "False",
        "cache_hook_call": "format-value",
        "loss_kwargs": "False",
        "code_uses": "('BaseModelOutputWithPast', 'CausalLMOutputWithPast', 'PreTrainedModel', 'SequenceClassifierOutputWithPast')",
    }
    assert found.defects == ()
    assert [(skip.what, skip.why) for skip in found.skips] == [("weights", HASHES)]


def test_lines_are_those_of_the_keys(fixtures: Path) -> None:
    path = fixtures / "glm-4-9b-chat-hf"
    keys = {"type": "model_type", "config_dtype": "torch_dtype", "vocab_size": "vocab_size"}
    found = collect_snapshot(path)
    lines = (path / "config.json").read_text().splitlines()
    for name, key in keys.items():
        told = fact(found, name)
        assert told.origin.file == str(path / "config.json")
        assert told.origin.line is not None
        assert f'"{key}"' in lines[told.origin.line - 1]


@pytest.mark.parametrize("name", ["chatglm3-6b", "chatglm3-6b-2024-02", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_parameters_are_those_that_the_headers_list(fixtures: Path, name: str) -> None:
    from safetensors import deserialize

    elements = 0
    for file in (fixtures / name).glob("*.safetensors"):
        for _, tensor in deserialize(file.read_bytes()):  # type: ignore[no-untyped-call]
            size = 1
            for length in tensor["shape"]:
                size *= length
            elements += size
    assert value(collect_snapshot(fixtures / name), "parameters") == elements


def test_facts_are_of_the_vocabulary_and_sources_are_as_given(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fixtures)
    for path in (Path("chatglm3-6b"), Path("./damaged/escapes")):
        for told in collect_snapshot(path).facts:
            assert term(told.name) is not None
            assert told.origin.source.startswith(str(path))


@pytest.mark.parametrize(
    ("name", "rule", "file", "line", "detail"),
    [
        ("lfs-pointer", "snapshot-lfs-pointer", "model-00002-of-00002.safetensors", None, "for a file of 368 bytes"),
        ("truncated", "snapshot-safetensors-truncated", "model.safetensors", None, "64 are missing"),
        ("huge-header", "snapshot-safetensors-header-invalid", "model.safetensors", None, "header of 9223372036854775808 bytes"),
        ("missing-shard", "snapshot-shard-missing", "model.safetensors.index.json", 7, "model-00001-of-00002.safetensors"),
        ("escapes-index", "snapshot-shard-missing", "model.safetensors.index.json", None, "model-\\x1b[2J\\x1b[1;1H\\u202e00001"),
    ],
)
def test_damaged_snapshots(fixtures: Path, name: str, rule: str, file: str, line: int | None, detail: str) -> None:
    path = fixtures / "damaged" / name
    found = collect_snapshot(path)
    defect = only_defect(found)
    assert (defect.rule, defect.file, defect.line) == (rule, str(path / file), line)
    assert detail in defect.detail
    assert value(found, "type") == "llama"
    assert value(found, "parameters") is None


def test_a_config_that_is_cut_off_names_file_place_and_next_step(fixtures: Path) -> None:
    path = fixtures / "damaged" / "not-json"
    with pytest.raises(EnvdoctorError) as caught:
        collect_snapshot(path)
    assert caught.value.place == f"{path / 'config.json'}, line 3, column 3"
    assert caught.value.found == "a string that does not end"
    assert caught.value.next_step == "correct the file, or download it again"


def test_control_characters_are_made_visible(fixtures: Path) -> None:
    found = collect_snapshot(fixtures / "damaged" / "escapes")
    assert value(found, "type") == "llama\\x1b]0;pwned\\x07"
    assert value(found, "architecture") == "Llama\\x1b[31mForCausalLM\\r\\n::error::forged\\x9b2K"
    assert value(found, "config_dtype") == NotUnderstood("float16\\x1b[8m")


def test_every_rule_that_is_named_has_a_page(fixtures: Path) -> None:
    source = fixtures.parent / "envdoctor" / "sources"
    named = {name for file in source.glob("*.py") for name in re.findall(r'"(snapshot-[a-z-]+)"', file.read_text())}
    pages = {file.stem: file for file in (fixtures.parent / "rules" / "snapshot").glob("*.toml")}
    assert named <= set(pages)
    for name in named:
        rule = parse_rule(read_toml(pages[name]), name)
        assert rule.check == rule.id == name


@pytest.mark.large
def test_a_hundred_thousand_tensors_in_sixty_shards(tmp_path: Path) -> None:
    weight_map = {}
    for shard in range(60):
        name = f"model-{shard + 1:05}-of-00060.safetensors"
        names = [f"model.layers.{shard}.mlp.experts.{expert}.down_proj.weight" for expert in range(1667)]
        weight_map.update(dict.fromkeys(names, name))
        raw = weights(dict.fromkeys(names, ("BF16", [2, 2], 8)))
        (tmp_path / name).write_bytes(raw)
    snapshot(tmp_path, {"model.safetensors.index.json": index(**weight_map)})
    found = collect_snapshot(tmp_path)
    assert value(found, "parameters") == 60 * 1667 * 4
    assert found.defects == ()


# --- which directory


def test_a_directory_without_a_config_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(WEIGHTS)
    with pytest.raises(EnvdoctorError, match=r"a directory that is no model: it has no config\.json") as caught:
        collect_snapshot(tmp_path)
    assert caught.value.place == str(tmp_path)


def test_no_directory_at_all(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="No such file or directory"):
        collect_snapshot(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvdoctorError, match="Not a directory"):
        collect_snapshot(tmp_path / "file")


@pytest.mark.parametrize(
    ("content", "place", "found"),
    [
        (b"", "line 1, column 1", "an empty file"),
        (b"<!DOCTYPE html>", "line 1, column 1", "a page of HTML or XML"),
        (b'{\n "a": 1,\n}', r"line \d, column \d", r"'}'|a comma after the last item"),
        (b'{"a": true.\n}', "line 1, column 11", r"'\.'"),
        (b'{"a": 1} x', "line 1, column 10", "more text after the end of the value"),
        (b'{"a": "\xff"}', "line 1, column 8", "the byte 0xff, which is no UTF-8"),
        (b"[" * 100_000, "line 1, column 1", "nested too deeply"),
        (b'{"a": ' * 100_000, "line 1, column 1", "nested too deeply"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "line 1, column 1", "a git-lfs pointer"),
        (b"[1, 2]", "config.json", "a JSON list"),
        (b"null", "config.json", "a JSON null"),
        (b"3", "config.json", "a JSON number"),
    ],
)
def test_a_config_that_is_no_json_object(tmp_path: Path, content: bytes, place: str, found: str) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(EnvdoctorError) as caught:
        collect_snapshot(tmp_path)
    assert re.search(place, caught.value.place)
    assert re.search(found, caught.value.found)


def test_a_config_of_more_than_16_mib_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as stream:
        stream.truncate(2**24 + 1)
    with pytest.raises(EnvdoctorError, match="16777217 bytes, more than the 16777216 that are read"):
        collect_snapshot(tmp_path)


def test_a_config_with_a_byte_order_mark_is_read_and_reported(tmp_path: Path) -> None:
    found = collect(tmp_path, {"config.json": b"\xef\xbb\xbf" + json.dumps(LLAMA).encode()})
    assert value(found, "type") == "llama"
    assert only_defect(found).rule == "snapshot-json-invalid"
    assert "byte order mark" in only_defect(found).detail


def test_a_number_of_many_digits_is_no_crash(tmp_path: Path) -> None:
    content = b'{"model_type": "llama", "vocab_size": ' + b"9" * 4000 + b', "hidden_size": 1e999, "num_hidden_layers": NaN}'
    found = collect(tmp_path, {"config.json": content})
    assert value(found, "type") == "llama"
    assert all(isinstance(value(found, name), NotUnderstood) for name in ("vocab_size", "hidden_size", "num_hidden_layers"))


def test_the_last_of_equal_keys_counts_and_a_lone_surrogate_is_spelled_out(tmp_path: Path) -> None:
    found = collect(tmp_path, {"config.json": b'{\n"model_type": "a",\n"model_type": "\\ud800b"\n}'})
    assert (value(found, "type"), fact(found, "type").origin.line) == ("\\ud800b", 3)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
keys = st.sampled_from(
    [
        "model_type", "architectures", "torch_dtype", "dtype", "auto_map", "eos_token_id", "vocab_size", "padded_vocab_size", "hidden_size",
        "num_hidden_layers", "rope_scaling", "rope_parameters", "quantization_config", "quantization_bit", "text_config", "_name_or_path",
        "tie_word_embeddings", "transformers_version", "chat_template", "tokenizer_class", "added_tokens_decoder", "name_or_path",
    ]
)  # fmt: skip
known_values = st.sampled_from(["chatglm", "llama", "glm", 65024, 151552])
odd_values = json_values | known_values | st.dictionaries(keys | st.text(max_size=3), json_values)
objects = st.dictionaries(keys, odd_values)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects, objects, objects)
def test_any_json_object_is_read(
    tmp_path: Path, config: dict[str, object], tokenizer: dict[str, object], generation: dict[str, object]
) -> None:
    found = collect(tmp_path, {"tokenizer_config.json": tokenizer, "generation_config.json": generation}, config)
    assert value(found, "path") == str(tmp_path)
    for told in found.facts:
        assert str(told.value).isprintable() or isinstance(told.value, tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60).filter(lambda content: not content.startswith(b"version https:")))
def test_any_bytes_in_optional_files_leave_the_rest(tmp_path: Path, content: bytes) -> None:
    names = ("tokenizer_config.json", "generation_config.json", "model.safetensors.index.json")
    found = collect(tmp_path, dict.fromkeys(names, content))
    assert value(found, "type") == "llama"
    # Whatever is no JSON object is named, each file once.
    named = {Path(defect.file).name for defect in found.defects if defect.file}
    try:
        sound = isinstance(json.loads(content.decode()), dict)
    except (ValueError, RecursionError):
        sound = False
    assert named == ({"model.safetensors.index.json"} if sound else set(names))


# --- facts


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        ({"dtype": "bfloat16", "torch_dtype": "float16"}, "config_dtype", "bfloat16"),
        ({"torch_dtype": None}, "config_dtype", None),
        ({"text_config": {"torch_dtype": "bfloat16", "hidden_size": 8}}, "config_dtype", "bfloat16"),
        ({"text_config": {"hidden_size": 8}}, "hidden_size", 8),
        ({"torch_dtype": "float12"}, "config_dtype", NotUnderstood("float12")),
        ({"n_layer": 12}, "num_hidden_layers", 12),
        ({"rope_scaling": {"type": "dynamic"}}, "rope_type", "dynamic"),
        ({"rope_scaling": {"rope_type": "llama3", "type": "x"}}, "rope_type", "llama3"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type", "yarn"),
        ({"rope_scaling": None}, "rope_type", "default"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "rope_type_key", "rope_type"),
        ({"rope_scaling": {"rope_type": "llama3", "type": "llama3"}}, "rope_type_key", "both"),
        ({"rope_scaling": {"type": "dynamic"}}, "rope_type_key", "type"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type_key", "none"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quant_method", "gptq"),
        ({"quantization_config": {"load_in_4bit": True}}, "quant_method", "bitsandbytes"),
        ({"quantization_bit": 4}, "quant_method", "chatglm-int4"),
        ({"quantization_bit": 0}, "quant_method", None),
        ({"tie_word_embeddings": True}, "tied_embeddings", True),
        ({"eos_token_id": None}, "eos_ids", None),
        ({"eos_token_id": [2, "3", 4.5, True, 2, 7]}, "eos_ids", ("2", "7")),
        ({"auto_map": {}}, "remote_code", False),
        ({}, "own_config", False),
        ({"auto_map": {"AutoConfig": "configuration_x.X"}}, "own_config", True),
        ({"auto_map": {"AutoModelForCausalLM": "modeling_x.X"}}, "own_config", False),
    ],
)
def test_facts_of_the_configuration(tmp_path: Path, config: dict[str, object], name: str, expected: FactValue | None) -> None:
    assert value(collect(tmp_path, config=config), name) == expected


@pytest.mark.parametrize(
    ("generation", "config", "ids", "file"),
    [
        ({"eos_token_id": [5, 2]}, {"eos_token_id": 2}, ("5", "2"), "generation_config.json"),
        ({"eos_token_id": 5}, {"eos_token_id": [2, 5, 7]}, ("5",), "generation_config.json"),
        ({"eos_token_id": 5}, {}, ("5",), "generation_config.json"),
        ({"top_p": 0.9}, {"eos_token_id": 2}, ("2",), "config.json"),
    ],
)
def test_generation_stops_at_the_ids_of_its_own_file(
    tmp_path: Path, generation: dict[str, object], config: dict[str, object], ids: tuple[str, ...], file: str
) -> None:
    """``generate`` goes by generation_config.json, whatever config.json says beside it."""
    told = fact(collect(tmp_path, {"generation_config.json": generation}, config), "eos_ids")
    assert (told.value, told.origin.file) == (ids, str(tmp_path / file))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"tokenizer_config.json": {}}, False),
        ({"tokenizer_config.json": {"chat_template": ""}}, False),
        ({"tokenizer_config.json": {"chat_template": "{{ x }}"}}, True),
        ({"tokenizer_config.json": {"chat_template": [{"name": "default", "template": "x"}]}}, True),
        ({"tokenizer_config.json": {}, "chat_template.jinja": b"{{ x }}"}, True),
        ({"chat_template.json": {"chat_template": "x"}}, True),
        ({"tokenizer_config.json": b"{"}, None),
    ],
)
def test_whether_there_is_a_chat_template(tmp_path: Path, files: dict[str, object], expected: bool | None) -> None:
    assert value(collect(tmp_path, files), "has_chat_template") is expected


ROLES = b'ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")\nclass ChatGLMTokenizer: pass\n'
PLAIN = b"class ChatGLMTokenizer: pass\n"
REMOTE = {"auto_map": {"AutoTokenizer": ["tokenization_chatglm.ChatGLMTokenizer", None]}}
CHATGLM = {"model_type": "chatglm", "padded_vocab_size": 65024, "eos_token_id": 2}
INTERNVL = {"model_type": "internvl_chat", "llm_config": {"architectures": ["InternLM2ForCausalLM"]}}
GLM4 = {"model_type": "chatglm", "padded_vocab_size": 151552, "eos_token_id": [151329, 151336, 151338]}


@pytest.mark.parametrize(
    ("config", "files", "family", "stops"),
    [
        ({"model_type": "chatglm", "position_encoding_2d": True, "vocab_size": 130528}, {}, "chatglm", None),
        (CHATGLM, {"tokenizer_config.json": REMOTE, "tokenization_chatglm.py": ROLES}, "chatglm3", "missing"),
        (CHATGLM, {"tokenizer_config.json": REMOTE, "tokenization_chatglm.py": PLAIN}, "chatglm2", None),
        # A tokenizer tells better than a name that was left over from the model it began with.
        (
            {**CHATGLM, "_name_or_path": "chatglm2-6b"},
            {"tokenizer_config.json": REMOTE, "tokenization_chatglm.py": ROLES},
            "chatglm3",
            "missing",
        ),
        ({**CHATGLM, "_name_or_path": "THUDM/chatglm3-6b"}, {}, "chatglm3", "missing"),
        ({**CHATGLM, "_name_or_path": "THUDM/chatglm3-6b-base"}, {}, "chatglm3", None),
        ({**CHATGLM, "_name_or_path": "./output/checkpoint-500"}, {}, None, None),
        (CHATGLM, {"tokenizer_config.json": {"added_tokens_decoder": {"64795": {"content": "<|user|>"}}}}, "chatglm3", "missing"),
        ({**CHATGLM, "_name_or_path": "chatglm3-6b"}, {"generation_config.json": {"eos_token_id": [64795, 64797]}}, "chatglm3", "present"),
        ({**CHATGLM, "_name_or_path": "chatglm3-6b"}, {"generation_config.json": {"eos_token_id": [2, 64795]}}, "chatglm3", "missing"),
        (GLM4, {}, "glm-4", "present"),
        ({**GLM4, "eos_token_id": 151329}, {}, "glm-4", "missing"),
        ({**GLM4, "vision_config": {}}, {}, "glm-4v", None),
        ({"model_type": "glm", "vocab_size": 151552, "eos_token_id": [151329]}, {}, "glm-4-hf", "missing"),
        ({"model_type": "glm", "vocab_size": 59264}, {}, None, None),
        ({"model_type": "llama", "_name_or_path": "meta-llama/Llama-2-7b-hf"}, {}, "llama-2", None),
        ({"model_type": "llama", "vocab_size": 128256}, {}, "llama-3", None),
        ({"model_type": "llama", "vocab_size": 32000}, {}, None, None),
        ({"model_type": "qwen2"}, {"tokenizer_config.json": {"added_tokens_decoder": {"151657": {}}}}, "qwen2.5", None),
        ({"model_type": "qwen2"}, {}, None, None),
        ({"model_type": "qwen", "visual": {"image_size": 448}}, {}, "qwen-vl", None),
        ({"model_type": "qwen"}, {}, "qwen", None),
        ({"model_type": "gemma4", "text_config": {"num_kv_shared_layers": 20}}, {}, "gemma4-e", None),
        ({"model_type": "gemma4", "text_config": {"num_kv_shared_layers": 0}}, {}, "gemma4", None),
        (INTERNVL, {}, "internvl-internlm2", None),
        (INTERNVL, {"modeling_internlm2.py": "class InternLM2ForCausalLM(PreTrainedModel, GenerationMixin): ..."}, "internvl", None),
        ({"model_type": "internvl_chat", "llm_config": {"architectures": ["Qwen2ForCausalLM"]}}, {}, "internvl", None),
        ({"model_type": "internvl_chat"}, {}, None, None),
        ({"model_type": ["llama"]}, {}, None, None),
    ],
)
def test_families_are_told_only_where_the_files_tell(
    tmp_path: Path, config: dict[str, object], files: dict[str, object], family: str | None, stops: str | None
) -> None:
    found = collect(tmp_path, files, config)
    assert (value(found, "family"), value(found, "role_stop_ids")) == (family, stops)


# --- weights


@pytest.mark.parametrize(
    ("tensors", "dtype", "parameters"),
    [
        ({"a": ("F16", [90], 180), "b": ("F32", [10], 40)}, "float16", 100),
        ({"a": ("F16", [89], 178), "b": ("F32", [11], 44)}, "mixed", 100),
        ({"a": ("F8_E4M3", [45], 45), "b": ("F8_E5M2", [45], 45), "c": ("BF16", [10], 20)}, "float8", 100),
        ({"a": ("BF16", [], 2)}, "bfloat16", 1),
        ({"a": ("BF16", [0], 0)}, None, None),
        ({}, None, None),
    ],
)
def test_the_dtype_of_nine_tenths_of_the_parameters(
    tmp_path: Path, tensors: dict[str, tuple[str, list[int], int]], dtype: str | None, parameters: int | None
) -> None:
    found = collect(tmp_path, {"model.safetensors": weights(tensors)})
    assert (value(found, "dtype"), value(found, "parameters")) == (dtype, parameters)
    assert found.defects == ()


def test_packed_weights_are_not_counted_as_parameters(tmp_path: Path) -> None:
    config = {"model_type": "llama", "quantization_config": {"quant_method": "gptq"}}
    found = collect(tmp_path, {"model.safetensors": weights({"a": ("I32", [90], 360), "b": ("F16", [10], 20)})}, config)
    assert value(found, "dtype") is None
    assert value(found, "parameters") is None
    said = "most weights are stored as I32, packed or not numbers of a model: no dtype is said of them"
    assert said in [skip.why for skip in found.skips]


@pytest.mark.parametrize(
    ("files", "form"),
    [
        ({}, "none"),
        ({"model.safetensors": WEIGHTS}, "safetensors"),
        ({"pytorch_model.bin": b"PK"}, "pickle"),
        ({"model.safetensors": WEIGHTS, "pytorch_model.bin": b"PK"}, "safetensors"),
        ({"model-q4_k_m.gguf": b"GGUF"}, "gguf"),
        ({"model.fp16.safetensors": WEIGHTS}, "safetensors"),
    ],
)
def test_how_weights_are_stored(tmp_path: Path, files: dict[str, object], form: str) -> None:
    found = collect(tmp_path, files)
    assert value(found, "weights_format") == form
    assert (HASHES in [skip.why for skip in found.skips]) == (form != "none")


def test_all_files_that_the_index_names_are_read(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        {
            "one.safetensors": weights({"a": ("F16", [4], 8)}),
            "two.safetensors": weights({"b": ("F16", [6], 12)}),
            "stray.safetensors": weights({"c": ("F16", [100], 200)}),
            "model.safetensors.index.json": index(a="one.safetensors", b="two.safetensors"),
        },
    )
    assert value(found, "parameters") == 10
    assert found.defects == ()


def test_a_tensor_that_its_shard_does_not_hold(tmp_path: Path) -> None:
    weight_map = {"a": "one.safetensors", "lm_head.weight": "one.safetensors"}
    defect = only_defect(collect(tmp_path, {"one.safetensors": WEIGHTS, "model.safetensors.index.json": index(**weight_map)}))
    assert defect.rule == "snapshot-tensor-not-in-shard"
    assert defect.detail == "one.safetensors does not hold lm_head.weight, which the index places there"
    assert (defect.file, defect.line) == (str(tmp_path / "model.safetensors.index.json"), 7)


def test_a_head_that_is_tied_to_the_embedding_may_be_missing(tmp_path: Path) -> None:
    weight_map = {"a": "one.safetensors", "lm_head.weight": "one.safetensors"}
    files = {"one.safetensors": WEIGHTS, "model.safetensors.index.json": index(**weight_map)}
    assert collect(tmp_path, files, {**LLAMA, "tie_word_embeddings": True}).defects == ()


def test_a_tensor_that_stands_in_another_shard_is_loaded_from_there(tmp_path: Path) -> None:
    files = {
        "one.safetensors": weights({"a": ("F16", [4], 8)}),
        "two.safetensors": weights({"b": ("F16", [6], 12)}),
        "model.safetensors.index.json": index(a="two.safetensors", b="one.safetensors"),
    }
    assert collect(tmp_path, files).defects == ()


def test_a_layer_that_is_not_built_may_be_in_no_shard(tmp_path: Path) -> None:
    # https://github.com/huggingface/huggingface_hub/issues/4725
    weight_map = {"a": "one.safetensors", "mtp.fc.weight": "one.safetensors", "layers.0.rotary_emb.inv_freq": "one.safetensors"}
    assert collect(tmp_path, {"one.safetensors": WEIGHTS, "model.safetensors.index.json": index(**weight_map)}).defects == ()


@pytest.mark.parametrize(
    ("content", "detail", "line"),
    [
        (b"{", "found the end of the file in column 2; expected property name enclosed in double quotes", 1),
        (b"[]", "no weight_map", None),
        ({"metadata": {}}, "no weight_map", None),
        ({"weight_map": []}, "no weight_map", 2),
        ({"weight_map": {"a": 3}}, "no weight_map", 2),
        ({"weight_map": {"a": "../../etc/passwd"}}, "names a file outside the directory: ../../etc/passwd", 3),
        ({"weight_map": {"a": "/etc/passwd"}}, "names a file outside the directory: /etc/passwd", 3),
        ({"weight_map": {"a": "C:\\x"}}, "names a file outside the directory", None),
        ({"weight_map": {"a": ""}}, "names a file outside the directory", 3),
    ],
)
def test_an_index_that_cannot_be_used(tmp_path: Path, content: object, detail: str, line: int | None) -> None:
    found = collect(tmp_path, {"model.safetensors.index.json": content})
    defect = only_defect(found)
    assert (defect.rule, defect.line) == ("snapshot-index-invalid", line)
    assert detail in defect.detail
    assert value(found, "weights_format") == "safetensors"


def test_shards_without_an_index(tmp_path: Path) -> None:
    defect = only_defect(collect(tmp_path, {f"model-0000{n}-of-00002.safetensors": WEIGHTS for n in (1, 2)}))
    assert defect.rule == "snapshot-index-invalid"
    assert "no model.safetensors.index.json" in defect.detail


def test_shards_beside_pickles_that_are_loaded_instead(tmp_path: Path) -> None:
    files = {f"model-0000{n}-of-00002.safetensors": WEIGHTS for n in (1, 2)}
    found = collect(tmp_path, {**files, "pytorch_model.bin": b"PK"})
    assert [one.rule for one in found.defects if one.rule == "snapshot-index-invalid"] == []
    assert value(found, "weights_format") == "pickle"


def test_pointers_are_named_together(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 4096\n"
    files = {f"pytorch_model-{n}.bin": pointer for n in range(3)}
    found = collect(
        tmp_path,
        {**files, "tokenizer.model": pointer, "pytorch_model.bin.index.json": index(**{name[:-4]: name for name in files})},
    )
    assert [(defect.rule, Path(str(defect.file)).name) for defect in found.defects] == [
        ("snapshot-lfs-pointer", "pytorch_model-0.bin"),
        ("snapshot-lfs-pointer", "tokenizer.model"),
    ]
    assert "for a file of 4096 bytes; so are pytorch_model-1.bin, pytorch_model-2.bin" in found.defects[0].detail


def test_a_pointer_among_weights_that_nobody_loads_is_no_defect(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\nsize 4096\n"
    others = {"pytorch_model.bin": pointer, "trainer_state.json": pointer, "all_results.json": pointer, "requirements.txt": pointer}
    assert collect(tmp_path, {"model.safetensors": WEIGHTS, **others}).defects == ()


def test_optional_files_that_are_pointers_are_named_once(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\nsize 4096\n"
    found = collect(tmp_path, {"tokenizer_config.json": pointer})
    assert [defect.rule for defect in found.defects] == ["snapshot-lfs-pointer"]


# --- files that are not what they seem


def skipped(found: Collected) -> dict[str, str]:
    return {Path(skip.what).name: skip.why for skip in found.skips if skip.what != "weights"}


def test_a_directory_in_the_place_of_a_file(tmp_path: Path) -> None:
    for name in ("tokenizer_config.json", "generation_config.json", "model.safetensors"):
        (tmp_path / name).mkdir()
    found = collect(tmp_path)
    assert skipped(found) == dict.fromkeys(
        ("tokenizer_config.json", "generation_config.json", "model.safetensors"), "a directory in the place of a file"
    )
    assert found.defects == ()


def test_a_config_that_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    with pytest.raises(EnvdoctorError, match="a directory in the place of a file"):
        collect_snapshot(tmp_path)


def test_links_are_followed_inside_the_directory_only(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"tokenizer_class": "Outside"}')
    path = snapshot(tmp_path / "model", {"inner.json": {"eos_token_id": 7}})
    (path / "tokenizer_config.json").symlink_to(outside)
    (path / "generation_config.json").symlink_to("inner.json")
    found = collect_snapshot(path)
    assert value(found, "tokenizer_class") is None
    assert value(found, "eos_ids") == ("7",)
    assert skipped(found) == {"tokenizer_config.json": f"a link that leaves the directory, to {outside}"}


def test_a_sibling_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    other = snapshot(tmp_path / "model-2", {"t.json": {"tokenizer_class": "Other"}})
    path = snapshot(tmp_path / "model")
    (path / "tokenizer_config.json").symlink_to(other / "t.json")
    assert "leaves the directory" in skipped(collect_snapshot(path))["tokenizer_config.json"]


def test_links_in_a_circle(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "model")
    (path / "tokenizer_config.json").symlink_to("generation_config.json")
    (path / "generation_config.json").symlink_to("tokenizer_config.json")
    assert set(skipped(collect_snapshot(path))) == {"tokenizer_config.json", "generation_config.json"}


def test_a_config_that_links_out(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "elsewhere.json").write_text("{}")
    (tmp_path / "model" / "config.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(EnvdoctorError, match="a link that leaves the directory"):
        collect_snapshot(tmp_path / "model")


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "model")
    for name in ("tokenizer_config.json", "model.safetensors"):
        os.mkfifo(path / name)
    assert set(skipped(collect_snapshot(path)).values()) == {"not a regular file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "model", {"tokenizer_config.json": {}, "model.safetensors": WEIGHTS})
    (path / "tokenizer_config.json").chmod(0)
    (path / "model.safetensors").chmod(0)
    assert skipped(collect_snapshot(path)) == dict.fromkeys(("tokenizer_config.json", "model.safetensors"), "Permission denied")


def hub_cache(root: Path, files: Mapping[str, bytes]) -> Path:
    """A snapshot as huggingface_hub lays it out: links to blobs."""
    repository = root / "models--zai-org--chatglm3-6b"
    path = repository / "snapshots" / "103caa40027ebfd8450289ca2f278eac4ff26405"
    path.mkdir(parents=True)
    (repository / "blobs").mkdir()
    for number, (name, content) in enumerate(files.items()):
        (repository / "blobs" / f"{number:040}").write_bytes(content)
        (path / name).symlink_to(f"../../blobs/{number:040}")
    return path


def test_a_snapshot_of_the_hub_cache(tmp_path: Path) -> None:
    found = collect_snapshot(hub_cache(tmp_path, {"config.json": json.dumps(CHATGLM).encode(), "model.safetensors": WEIGHTS}))
    assert value(found, "id") == "zai-org/chatglm3-6b"
    assert value(found, "revision") == "103caa40027ebfd8450289ca2f278eac4ff26405"
    assert value(found, "family") == "chatglm3"
    assert value(found, "parameters") == 8
    assert skipped(found) == {}


def test_a_blob_that_was_not_downloaded(tmp_path: Path) -> None:
    path = hub_cache(tmp_path, {"config.json": json.dumps(LLAMA).encode(), "model.safetensors": WEIGHTS})
    os.unlink(path / os.readlink(path / "model.safetensors"))
    defect = only_defect(collect_snapshot(path))
    assert (defect.rule, defect.file) == ("snapshot-shard-missing", str(path / "model.safetensors"))
    assert "a link to nothing" in defect.detail


def test_a_name_of_undecodable_bytes_can_be_printed(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "model")
    try:
        (path / os.fsdecode(b"tokenizer\xff.model")).write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    defect = only_defect(collect_snapshot(path))
    defect.detail.encode()
    assert defect.file is not None
    assert defect.file.endswith("tokenizer\\udcff.model")


@pytest.mark.parametrize(
    ("rows", "begin", "family"),
    [
        (128256, None, "llama-3"),
        (128256, "<|begin_of_text|>", "llama-3"),
        (128256, {"content": "<|begin_of_text|>"}, "llama-3"),
        (128256, {"content": "<｜begin▁of▁sentence｜>"}, "llama"),
        (49152, None, "llama"),
        (32000, None, None),
    ],
)
def test_rows_of_llama_3_with_tokens_of_its_own_are_another_family(tmp_path: Path, rows: int, begin: object, family: str | None) -> None:
    """As DeepSeek-R1-Distill-Llama is published: it never writes <|eot_id|>, and need not stop at it."""
    files = {"tokenizer_config.json": {} if begin is None else {"bos_token": begin}}
    found = {fact.name: fact.value for fact in collect(tmp_path, files, {"model_type": "llama", "vocab_size": rows}).facts}
    assert found.get("model.family") == family


def test_config_json_is_not_asked_for_a_tokenizer_that_its_own_file_names(tmp_path: Path) -> None:
    """As in Phi-4-mini, whose config.json names a tokenizer of another repository beside GPT2Tokenizer."""
    config = {"model_type": "phi3", "auto_map": {"AutoModelForCausalLM": "modeling_x.X", "AutoTokenizer": "Xenova/gpt-4o"}}
    found = collect(tmp_path, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}, "modeling_x.py": b"class X: pass\n"}, config)
    told = {fact.name: fact.value for fact in found.facts}
    assert (told["model.tokenizer_remote_code"], told["model.tokenizer_pad_signature"]) == (False, "inherited")


def test_the_part_of_a_head_that_rotates(tmp_path: Path) -> None:
    old = collect(tmp_path / "old", {}, {"model_type": "phi3", "partial_rotary_factor": 0.75, "rope_scaling": {"type": "longrope"}})
    new = collect(tmp_path / "new", {}, {"model_type": "phi3", "rope_parameters": {"rope_type": "longrope", "partial_rotary_factor": 0.75}})
    assert [(value(one, "partial_rotary_factor"), value(one, "rope_type")) for one in (old, new)] == [(0.75, "longrope")] * 2
