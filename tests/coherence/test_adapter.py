"""Adapters against peft, their own weights and the model that they are put on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.coherence.adapter import CHECKS, examine_adapter
from envdoctor.facts.fact import Defect
from envdoctor.sources.model.adapter import read_adapter
from envdoctor.sources.model.snapshot import Snapshot
from envdoctor.world.adapter_kinds import is_kind, releases_of
from tests.coherence.situations import Tensors, added, rules, run, safetensors, situation, snapshot, write
from tests.examples import examples

LORA: dict[str, object] = {
    "peft_type": "LORA",
    "base_model_name_or_path": "owner/llama",
    "r": 8,
    "lora_alpha": 16,
    "target_modules": ["q_proj", "down_proj"],
}
Q = "base_model.model.model.layers.0.self_attn.q_proj"
DOWN = "base_model.model.model.layers.1.mlp.down_proj"
PAIRS: Tensors = {
    f"{Q}.lora_A.weight": ("F32", [8, 16]),
    f"{Q}.lora_B.weight": ("F32", [16, 8]),
    f"{DOWN}.lora_A.weight": ("F32", [8, 24]),
    f"{DOWN}.lora_B.weight": ("F32", [16, 8]),
}
BASE: Tensors = {
    f"model.layers.{number}.{name}": ("F16", shape)
    for number in range(2)
    for name, shape in (("self_attn.q_proj.weight", [16, 16]), ("mlp.down_proj.weight", [16, 24]), ("input_layernorm.weight", [16]))
}


def found(
    path: Path, tensors: Tensors | None = PAIRS, base: Snapshot | None = None, /, *, config: object = None, **stated: object
) -> list[Defect | Hit]:
    files: dict[str, object] = {"adapter_config.json": LORA if config is None else config}
    if tensors is not None:
        files["adapter_model.safetensors"] = safetensors(tensors)
    return list(examine_adapter(read_adapter(write(path, files)), base, situation(**stated)))


def model(path: Path, tensors: Tensors = BASE, **config: object) -> Snapshot:
    return snapshot(path, {"config.json": {"model_type": "llama", **config}, "model.safetensors": safetensors(tensors)})


def test_matrices_of_two_dtypes(tmp_path: Path) -> None:
    other = {f"{Q.replace('.0.', '.1.')}.lora_A.weight": ("F16", [8, 16]), f"{Q.replace('.0.', '.1.')}.lora_B.weight": ("F16", [16, 8])}
    assert "snapshot-dtypes-mixed" in rules(found(tmp_path, {**PAIRS, **other}))


@pytest.mark.parametrize("held", [{}, {"base_model.model.model.embed_tokens.weight": ("F32", [33, 16])}])
def test_a_token_that_neither_the_base_nor_the_adapter_has(tmp_path: Path, held: Tensors) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32}
    base = snapshot(tmp_path / "base", {"config.json": config, "model.safetensors": safetensors(BASE)})
    write(tmp_path / "adapter", {"tokenizer_config.json": {"added_tokens_decoder": added((32, "[PAD]"))}})
    told = found(tmp_path / "adapter", {**PAIRS, **held}, base)
    assert rules(told) == ([] if held else ["snapshot-added-token-beyond-embedding"])


def test_a_sound_adapter(tmp_path: Path) -> None:
    for peft in ("0.2.0", "0.13.2", "0.21.2"):
        assert found(tmp_path / peft, peft=peft) == []
    assert found(tmp_path / "a", PAIRS, model(tmp_path / "base")) == []


# --- configuration


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"peft_type": None}, "peft_type is missing: peft cannot tell what kind of adapter this is"),
        ({"r": 0}, "r is 0; it has to be a positive whole number"),
        ({"r": "8"}, "r is 8; it has to be a positive whole number"),
        ({"r": -(10**30)}, "r is a number too large; it has to be a positive whole number"),
        ({"lora_alpha": None}, "lora_alpha is null; it has to be a number"),
    ],
)
def test_values_with_which_no_adapter_is_made(tmp_path: Path, changes: dict[str, object], detail: str) -> None:
    first, *_ = found(tmp_path, None, config={**LORA, **changes})
    assert (first.rule, first.detail, first.file) == ("snapshot-adapter-config-invalid", detail, str(tmp_path / "adapter_config.json"))


@pytest.mark.parametrize("config", [{"peft_type": "LORA"}, {**LORA, "lora_alpha": 16.5}, {"peft_type": "IA3", "r": None}])
def test_values_that_may_be_left_to_their_defaults(tmp_path: Path, config: dict[str, object]) -> None:
    assert "snapshot-adapter-config-invalid" not in rules(found(tmp_path, config=config))


# --- weights


def test_no_weights(tmp_path: Path) -> None:
    assert rules(found(tmp_path, None)) == ["snapshot-adapter-weights-missing"]


@pytest.mark.parametrize(
    ("tensors", "detail"),
    [
        ({}, "holds no tensor of the adapter (0 in all)"),
        ({"base_model.model.lm_head.weight": ("F32", [4, 4])}, "holds no tensor of the adapter (1 in all)"),
        ({f"{Q}.lora_A.weight": ("F32", [0]), f"{Q}.lora_B.weight": ("F32", [16, 8])}, "1 of 2 tensors have no elements"),
    ],
)
def test_empty_weights(tmp_path: Path, tensors: Tensors, detail: str) -> None:
    # The first is what peft 0.15 writes under ZeRO-3 (https://github.com/huggingface/peft/issues/2892).
    (one,) = found(tmp_path, tensors)
    assert one.rule == "snapshot-adapter-empty"
    assert detail in one.detail
    assert one.file == str(tmp_path / "adapter_model.safetensors")


def test_weights_of_another_kind_of_adapter(tmp_path: Path) -> None:
    prompt: Tensors = {"prompt_embeddings": ("F32", [20, 16])}
    config = {"peft_type": "PROMPT_TUNING", "base_model_name_or_path": "owner/llama"}
    assert found(tmp_path / "a", prompt, config=config) == []
    assert rules(found(tmp_path / "b", {}, config=config)) == ["snapshot-adapter-empty"]


def test_a_pickle_is_not_looked_into(tmp_path: Path) -> None:
    write(tmp_path, {"adapter_model.bin": b"PK\x03\x04"})
    assert found(tmp_path, None) == []


# --- rank


def test_matrices_of_another_rank(tmp_path: Path) -> None:
    (one,) = found(tmp_path, config={**LORA, "r": 16})
    assert one == Defect(
        "snapshot-adapter-rank-differs",
        "r is 16, and model.layers.0.self_attn.q_proj has matrices of rank 8",
        str(tmp_path / "adapter_config.json"),
        4,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"r": 16, "rank_pattern": {"q_proj": 8, "down_proj": 8}},
        {"r": 16, "target_parameters": ["mlp.experts.gate_up_proj"]},
        {"r": 16, "enable_lora": [True, False, True]},
        {"r": 16, "peft_type": "ADALORA"},
    ],
)
def test_ranks_that_the_configuration_explains(tmp_path: Path, changes: dict[str, object]) -> None:
    assert found(tmp_path, config={**LORA, **changes}) == []


# --- base


def test_a_base_by_a_path_that_is_not_here(tmp_path: Path) -> None:
    gone = {**LORA, "base_model_name_or_path": "/root/models/llama-2-7b"}
    (one,) = found(tmp_path / "a", config=gone)
    assert (one.rule, one.line) == ("snapshot-adapter-base-missing", 3)
    assert found(tmp_path / "b", PAIRS, model(tmp_path / "base"), config=gone) == []
    assert found(tmp_path / "c", config={**LORA, "base_model_name_or_path": str(tmp_path)}) == []
    for other in ("owner/llama", "llama", None):
        assert found(tmp_path / "d", config={**LORA, "base_model_name_or_path": other}) == []


@pytest.mark.parametrize(
    ("base", "detail"),
    [
        ({**BASE, "model.layers.1.mlp.down_proj.weight": ("F16", [16, 32])}, "lora_A is made for 24, and the model's matrix is 16 x 32"),
        (
            {name: value for name, value in BASE.items() if ".1." not in name},
            "model.layers.1.mlp.down_proj, a layer that the model does not have",
        ),
        ({"transformer.h.0.attn.c_attn.weight": ("F16", [16, 48])}, "modules that the model does not have: down_proj, q_proj"),
    ],
)
def test_another_model_than_the_adapters(tmp_path: Path, base: Tensors, detail: str) -> None:
    (one,) = found(tmp_path / "a", PAIRS, model(tmp_path / "base", base))
    assert (one.rule, one.file) == ("snapshot-adapter-other-base", str(tmp_path / "a" / "adapter_model.safetensors"))
    assert detail in one.detail


@pytest.mark.parametrize(
    "base",
    [
        # Linear layers that are stored the other way round (GPT-2), packed weights, and names that transformers maps.
        {name: (dtype, shape[::-1]) for name, (dtype, shape) in BASE.items()},
        {**BASE, "model.layers.1.mlp.down_proj.weight": ("U8", [192, 1]), "model.layers.1.mlp.down_proj.weight.absmax": ("F32", [6])},
        {f"language_model.{name}": value for name, value in BASE.items()},
    ],
)
def test_a_model_that_may_be_the_adapters(tmp_path: Path, base: Tensors) -> None:
    assert found(tmp_path / "a", PAIRS, model(tmp_path / "base", base)) == []


# --- peft


@pytest.mark.parametrize(
    ("kind", "peft", "pin"), [("ROAD", "0.17.1", ">=0.18.0"), ("VERA", "0.10.0", ">=0.11.0"), ("BONE", "0.19.1", ">=0.14.0,<=0.18.1")]
)
def test_a_type_that_the_release_does_not_have(tmp_path: Path, kind: str, peft: str, pin: str) -> None:
    (one,) = found(tmp_path, config={**LORA, "peft_type": kind}, peft=peft)
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.pins) == ("snapshot-adapter-type-unknown", True, (("peft", pin),))


def test_a_type_of_a_release_to_come_is_not_judged(tmp_path: Path) -> None:
    assert found(tmp_path, config={**LORA, "peft_type": "NEXT_YEARS"}, peft="0.21.2") == []


@pytest.mark.parametrize(
    ("key", "value", "peft", "pin"),
    [
        ("trainable_token_indices", [1, 2], "0.14.0", ">=0.15.0"),
        ("target_parameters", ["experts.down_proj"], "0.16.0", ">=0.17.0"),
        ("alora_invocation_tokens", [5], "0.17.1", ">=0.18.0"),
    ],
)
def test_a_field_in_use_that_the_release_leaves_out(tmp_path: Path, key: str, value: object, peft: str, pin: str) -> None:
    (one,) = found(tmp_path / "used", config={**LORA, key: value}, peft=peft)
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.pins) == ("snapshot-adapter-field-ignored", True, (("peft", pin),))
    assert found(tmp_path / "default", config={**LORA, key: None}, peft=peft) == []
    assert found(tmp_path / "newer", config={**LORA, key: value}, peft=pin.removeprefix(">=")) == []


@pytest.mark.parametrize(
    "changes", [{"eva_config": {"rho": 2.0}}, {"peft_version": "0.18.0"}, {"exclude_modules": ["lm_head"]}, {"unheard_of": 3}]
)
def test_a_field_without_effect_on_a_trained_adapter(tmp_path: Path, changes: dict[str, object]) -> None:
    assert found(tmp_path, config={**LORA, **changes}, peft="0.14.0") == []


@pytest.mark.parametrize(("key", "peft"), [("enable_lora", "0.6.0"), ("merge_weights", "0.13.2"), ("_name_or_path", "0.9.0")])
def test_a_field_that_older_releases_refuse(tmp_path: Path, key: str, peft: str) -> None:
    # https://github.com/hiyouga/LlamaFactory/issues/5348, https://github.com/huggingface/peft/issues/1661
    (one,) = found(tmp_path / "a", config={**LORA, key: None}, peft=peft)
    assert isinstance(one, Hit)
    assert (one.rule, one.pins) == ("snapshot-adapter-config-refused", (("peft", ">=0.14.0"),))
    assert key in one.detail
    assert found(tmp_path / "b", config={**LORA, key: None}, peft="0.14.0") == []
    # 0.5.0 sets what the class has and passes over the rest: peft/config.py of the wheel.
    assert found(tmp_path / "c", config={**LORA, key: None}, peft="0.5.0") == []


def test_newer_fields_are_left_to_their_rule(tmp_path: Path) -> None:
    # adapter-config-unknown-field holds: model.adapter_fields and peft before 0.14.0.
    assert found(tmp_path, config={**LORA, "use_dora": False, "eva_config": None}, peft="0.8.2") == []


def test_the_table_of_fields_is_that_of_the_wheels() -> None:
    assert releases_of("LORA") == ("0.2.0", None)
    assert releases_of("VBLORA") == ("0.13.0", None)
    assert releases_of("BONE") == ("0.14.0", "0.18.1")
    assert not is_kind("lora")


# --- beside a model


def test_an_adapter_beside_merged_weights(tmp_path: Path) -> None:
    # https://github.com/huggingface/peft/issues/1381
    read = model(tmp_path / "a")
    write(tmp_path / "a", {"adapter_config.json": LORA})
    read = snapshot(tmp_path / "a", {"model.safetensors": safetensors(BASE)})
    (one,) = run(CHECKS, read)
    assert (one.rule, one.line) == ("snapshot-adapter-beside-model", 3)
    assert "load owner/llama and not the weights that lie here" in one.detail


@pytest.mark.parametrize("adapter", [{"peft_type": "LORA", "base_model_name_or_path": "."}, {"hidden_size": 8}, {"peft_type": "LORA"}])
def test_an_adapter_that_leads_back_here(tmp_path: Path, adapter: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(CHECKS, snapshot(tmp_path, {"model.safetensors": safetensors(BASE), "adapter_config.json": adapter})) == []


def test_an_adapter_with_the_configuration_of_its_base_alone(tmp_path: Path) -> None:
    assert run(CHECKS, snapshot(tmp_path, {"adapter_config.json": LORA})) == []


# --- hostile files

keys = st.sampled_from([*LORA, "rank_pattern", "use_dora", "trainable_token_indices", "enable_lora", "target_parameters", "unheard_of"])
values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["LORA", "VERA", "/x"]) | st.lists(st.integers(), max_size=2)
)
names = st.sampled_from([f"{Q}.lora_A.weight", f"{Q}.lora_B.weight", f"{Q}.lora_A", "lora_A.weight", "prompt_embeddings"])
shapes = st.lists(st.integers(0, 4), max_size=3)


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(keys, values), st.dictionaries(names, shapes), st.sampled_from(["0.2.0", "0.9.0", "0.14.0", "0.22.0", "1.0.dev1"]))
def test_any_adapter_is_examined(tmp_path: Path, config: dict[str, object], tensors: dict[str, list[int]], peft: str) -> None:
    weights: Tensors = {name: ("F32", shape) for name, shape in tensors.items()}
    for one in found(tmp_path, weights, model(tmp_path / "base"), config=config, peft=peft):
        assert one.detail.isprintable()
