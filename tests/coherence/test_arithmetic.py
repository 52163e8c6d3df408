"""config.json against the shapes and layers of the weights, with from_pretrained of two transformers as the oracle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.coherence import arithmetic, embeddings
from envdoctor.facts.fact import Defect, Facts
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.models import CONFIG, llama, model, packed, sharded, tiny_models
from tests.coherence.situations import rules, write
from tests.examples import examples

KINDS = sorted(tiny_models())
HEALTHY: list[Defect] = []


def found(path: Path) -> list[Defect]:
    return [defect for check in arithmetic.CHECKS for defect in check(read_snapshot(path), Facts())]


def only(path: Path) -> Defect:
    (defect,) = found(path)
    return defect


def tiny(path: Path, kind: str, **changed: object) -> Path:
    told: dict[str, Any] = tiny_models()[kind]
    weights = packed({name: ("BF16", tuple(shape)) for name, shape in told["tensors"].items()})
    return write(path, {"config.json": {**told["config"], **changed}, "model.safetensors": weights})


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_transformers_saved_are_sound(tmp_path: Path, kind: str) -> None:
    assert found(tiny(tmp_path, kind)) == HEALTHY


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_number_is_judged_as_from_pretrained_judges_it(tmp_path: Path, kind: str) -> None:
    """Every number that shapes the model, doubled and halved."""
    expected = {
        "ok": set(),
        "mismatch": {"snapshot-shape-not-of-config", "snapshot-embedding-rows-not-vocab-size"},
        "missing": {"snapshot-tensors-missing"},
        "unexpected": {"snapshot-layers-beyond-config"},
        "refused": {"snapshot-layers-beyond-config", "snapshot-tensors-missing"},
    }
    verdicts: dict[str, Any] = tiny_models()[kind]["verdicts"]
    for number, (change, verdict) in enumerate(verdicts.items()):
        key, _, value = change.partition("=")
        read = read_snapshot(tiny(tmp_path / str(number), kind, **{key: int(value)}))
        checks = (*arithmetic.CHECKS, embeddings.rows)
        told = {defect.rule for check in checks for defect in check(read, Facts())}
        if kind.startswith("deepseek") and verdict == "unexpected":
            # Layers behind the last one predict further tokens there: DeepSeek-V3 is published with one.
            assert told == set(), change
        else:
            assert bool(told) == (verdict != "ok"), change
            assert not told or told & expected[verdict], change


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "base_model.model.", "module._orig_mod."])
def test_names_under_which_transformers_finds_nothing(tmp_path: Path, prefix: str) -> None:
    shapes = {prefix + name: shape for name, shape in llama().items()}
    defect = only(model(tmp_path, {"model.safetensors": packed(shapes)}))
    assert defect.rule == "snapshot-tensors-missing"
    assert defect.detail == f"every tensor is called {prefix}…, and a llama has none of that name: transformers loads none of them"


def test_a_configuration_of_a_sibling_is_named_with_line_and_key(tmp_path: Path) -> None:
    path = model(tmp_path, hidden_size=16, num_key_value_heads=4)
    defect = only(path)
    assert (defect.rule, defect.file) == ("snapshot-shape-not-of-config", str(path / "config.json"))
    assert defect.line is not None
    assert '"hidden_size": 16' in (path / "config.json").read_text().splitlines()[defect.line - 1]
    assert "self_attn.k_proj.weight (2 of them) is [4, 8], config.json makes it [16, 16]" in defect.detail or "more kinds" in defect.detail
    assert defect.detail.startswith("embed_tokens.weight is [16, 8], config.json makes it [?, 16]")


def test_a_head_that_is_not_hidden_size_by_heads_is_no_fault_where_config_says_so(tmp_path: Path) -> None:
    shapes = {name: (dtype, shape) for name, (dtype, shape) in llama().items()}
    for layer in (0, 1):
        at = f"model.layers.{layer}.self_attn."
        shapes |= {f"{at}q_proj.weight": ("BF16", (24, 8)), f"{at}o_proj.weight": ("BF16", (8, 24))}
        shapes |= {f"{at}k_proj.weight": ("BF16", (12, 8)), f"{at}v_proj.weight": ("BF16", (12, 8))}
    assert found(model(tmp_path / "said", {"model.safetensors": packed(shapes)}, head_dim=6)) == HEALTHY
    left_out = only(model(tmp_path / "left-out", {"model.safetensors": packed(shapes)}))
    assert "self_attn.q_proj.weight (2 of them) is [24, 8], config.json makes it [8, 8]" in left_out.detail


@pytest.mark.parametrize("missing", ["num_key_value_heads", "intermediate_size", "hidden_size", "num_attention_heads", "vocab_size"])
def test_what_config_does_not_state_is_not_judged(tmp_path: Path, missing: str) -> None:
    assert found(model(tmp_path, model_type="mistral", **{missing: None})) == HEALTHY


@pytest.mark.parametrize("value", ["8", 8.0, True, None, -8, 0, [8], {}, 2**70])
def test_a_number_that_is_none_is_not_judged(tmp_path: Path, value: object) -> None:
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"):
        path = write(tmp_path / key, {"config.json": {**CONFIG, key: value}, "model.safetensors": packed(llama())})
        assert all(defect.rule != "snapshot-tensors-missing" for defect in found(path))


def test_layers_that_are_not_there(tmp_path: Path) -> None:
    path = model(tmp_path, sharded(llama(layers=2)), num_hidden_layers=5)
    defect = only(path)
    assert defect.rule == "snapshot-tensors-missing"
    assert defect.detail == "config.json counts 5 layers and 3 of them have no weights, layer 2 is the first"
    assert defect.line is not None


def test_a_gap_among_the_layers(tmp_path: Path) -> None:
    shapes = {name: told for name, told in llama(layers=4).items() if ".layers.1." not in name}
    defect = only(model(tmp_path, {"model.safetensors": packed(shapes)}, num_hidden_layers=4))
    assert defect.detail == "config.json counts 4 layers and 1 of them have no weights, layer 1 is the first"


def test_a_tensor_that_is_not_there(tmp_path: Path) -> None:
    shapes = {name: told for name, told in llama().items() if not name.endswith("layers.1.mlp.up_proj.weight")}
    defect = only(model(tmp_path, {"model.safetensors": packed(shapes)}))
    assert defect.rule == "snapshot-tensors-missing"
    assert defect.detail == "a llama has model.layers.1.mlp.up_proj.weight, which no file holds"


def test_nothing_is_missed_while_a_shard_is_missing(tmp_path: Path) -> None:
    files = sharded(llama())
    files.pop("model-00002-of-00002.safetensors")
    assert found(model(tmp_path, files)) == HEALTHY


def test_layers_too_many(tmp_path: Path) -> None:
    defect = only(model(tmp_path, num_hidden_layers=1))
    assert defect.rule == "snapshot-layers-beyond-config"
    assert defect.detail == "config.json counts 1 layers and there are weights for 2: the last 1 are left out"


def test_layers_for_further_tokens_are_normal(tmp_path: Path) -> None:
    assert found(model(tmp_path, num_hidden_layers=1, num_nextn_predict_layers=1)) == HEALTHY


def test_a_base_model_without_a_prefix_is_the_same_model(tmp_path: Path) -> None:
    """How AutoModel.save_pretrained names the tensors."""
    shapes = {name.removeprefix("model."): told for name, told in llama().items() if name != "lm_head.weight"}
    assert found(model(tmp_path / "sound", {"model.safetensors": packed(shapes)})) == HEALTHY
    assert only(model(tmp_path / "wrong", {"model.safetensors": packed(shapes)}, hidden_size=4)).rule == "snapshot-shape-not-of-config"


def test_the_text_model_inside_another(tmp_path: Path) -> None:
    shapes = {f"language_model.{name}": told for name, told in llama().items()}
    shapes["vision_tower.patch.weight"] = ("BF16", (3, 3))
    files: dict[str, object] = {"model.safetensors": packed(shapes)}
    inner = {key: value for key, value in CONFIG.items() if key not in ("architectures", "torch_dtype")}
    outer: dict[str, object] = {"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava"}
    assert found(write(tmp_path / "sound", {"config.json": {**outer, "text_config": inner}, **files})) == HEALTHY
    wrong = write(tmp_path / "wrong", {"config.json": {**outer, "text_config": {**inner, "intermediate_size": 24}}, **files})
    assert only(wrong).rule == "snapshot-shape-not-of-config"
    defaults = write(tmp_path / "defaults", {"config.json": {**outer, "text_config": {"model_type": "llama"}}, **files})
    assert found(defaults) == HEALTHY


def test_packed_weights_are_judged_by_their_norms_and_layers_alone(tmp_path: Path) -> None:
    """GPTQ: the matrices are called otherwise and have other shapes."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (dtype, shape) in llama().items():
        if ".self_attn." in name or ".mlp." in name:
            stem = name.removesuffix("weight")
            shapes |= {f"{stem}qweight": ("I32", (1, shape[0])), f"{stem}scales": ("F16", (1, shape[0]))}
        else:
            shapes[name] = (dtype, shape)
    files = {"model.safetensors": packed(shapes)}
    quantized = {"quant_method": "gptq", "bits": 4}
    assert found(model(tmp_path / "sound", files, quantization_config=quantized)) == HEALTHY
    layers = model(tmp_path / "layers", files, num_hidden_layers=3, quantization_config=quantized)
    assert rules(found(layers)) == ["snapshot-tensors-missing"]
    hidden = model(tmp_path / "hidden", files, hidden_size=16, quantization_config=quantized)
    assert rules(found(hidden)) == ["snapshot-shape-not-of-config"]


def test_weights_that_were_packed_before_config_said_so(tmp_path: Path) -> None:
    """GPTQ of 2023: the method stands in quantize_config.json or only in the names."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (dtype, shape) in llama().items():
        stem = name.removesuffix("weight")
        shapes |= {f"{stem}qweight": ("I32", (1, 16)), f"{stem}scales": ("F16", (1, 16))} if "_proj" in name else {name: (dtype, shape)}
    assert found(model(tmp_path / "names", {"model.safetensors": packed(shapes)})) == HEALTHY
    renamed = {name.replace("qweight", "packed"): told for name, told in shapes.items() if not name.endswith("scales")}
    files = {"model.safetensors": packed(renamed), "quantize_config.json": {"bits": 4}}
    assert found(model(tmp_path / "file", files)) == HEALTHY


@pytest.mark.parametrize("changed", [{"architectures": ["LlamaForCausalLMEagle3"]}, {"auto_map": {"AutoModel": "modeling_x.X"}}])
def test_a_model_of_other_code_is_not_judged(tmp_path: Path, changed: dict[str, object]) -> None:
    assert found(model(tmp_path, None, hidden_size=16, **changed)) == HEALTHY


def test_bitsandbytes_matrices_stored_in_a_float_dtype_are_not_judged(tmp_path: Path) -> None:
    shapes = {name: (dtype, (1, 16) if "_proj" in name else shape) for name, (dtype, shape) in llama().items()}
    files = {"model.safetensors": packed(shapes)}
    assert found(model(tmp_path, files, quantization_config={"load_in_4bit": True})) == HEALTHY


def test_chatglm3(tmp_path: Path) -> None:
    """The published names and the keys of configuration_chatglm.py, with small numbers."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "transformer.embedding.word_embeddings.weight": ("F16", (64, 16)),
        "transformer.rotary_pos_emb.inv_freq": ("F16", (2,)),
        "transformer.encoder.final_layernorm.weight": ("F16", (16,)),
        "transformer.output_layer.weight": ("F16", (64, 16)),
    }
    for layer in range(2):
        at = f"transformer.encoder.layers.{layer}."
        shapes |= {
            f"{at}input_layernorm.weight": ("F16", (16,)),
            f"{at}self_attention.query_key_value.weight": ("F16", (32, 16)),
            f"{at}self_attention.query_key_value.bias": ("F16", (32,)),
            f"{at}self_attention.dense.weight": ("F16", (16, 16)),
            f"{at}post_attention_layernorm.weight": ("F16", (16,)),
            f"{at}mlp.dense_h_to_4h.weight": ("F16", (40, 16)),
            f"{at}mlp.dense_4h_to_h.weight": ("F16", (16, 20)),
        }
    config = {
        "model_type": "chatglm", "architectures": ["ChatGLMModel"], "hidden_size": 16, "ffn_hidden_size": 20, "num_layers": 2,
        "num_attention_heads": 4, "kv_channels": 4, "multi_query_attention": True, "multi_query_group_num": 2,
        "padded_vocab_size": 64,
    }  # fmt: skip
    files = {"model.safetensors": packed(shapes)}
    assert found(write(tmp_path / "sound", {"config.json": config, **files})) == HEALTHY
    changes: list[dict[str, object]] = [{"multi_query_group_num": 1}, {"ffn_hidden_size": 24}, {"multi_query_attention": False}]
    for number, change in enumerate(changes):
        path = write(tmp_path / str(number), {"config.json": {**config, **change}, **files})
        assert rules(found(path)) == ["snapshot-shape-not-of-config"], change
    more = write(tmp_path / "layers", {"config.json": {**config, "num_layers": 28}, **files})
    assert rules(found(more)) == ["snapshot-tensors-missing"]


def test_internlm2_and_baichuan(tmp_path: Path) -> None:
    internlm: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.tok_embeddings.weight": ("BF16", (16, 8)), "model.norm.weight": ("BF16", (8,)), "output.weight": ("BF16", (16, 8)),
        "model.layers.0.attention.wqkv.weight": ("BF16", (16, 8)), "model.layers.0.attention.wo.weight": ("BF16", (8, 8)),
        "model.layers.0.feed_forward.w1.weight": ("BF16", (12, 8)), "model.layers.0.feed_forward.w2.weight": ("BF16", (8, 12)),
        "model.layers.0.feed_forward.w3.weight": ("BF16", (12, 8)), "model.layers.0.attention_norm.weight": ("BF16", (8,)),
        "model.layers.0.ffn_norm.weight": ("BF16", (8,)),
    }  # fmt: skip
    baichuan = {
        name: told for name, told in llama(layers=1).items() if not name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))
    }
    baichuan["model.layers.0.self_attn.W_pack.weight"] = ("BF16", (24, 8))
    for kind, shapes in (("internlm2", internlm), ("baichuan", baichuan)):
        files = {"model.safetensors": packed(shapes)}
        assert found(model(tmp_path / kind, files, model_type=kind, num_hidden_layers=1)) == HEALTHY
        wrong = model(tmp_path / f"{kind}-wrong", files, model_type=kind, num_hidden_layers=1, intermediate_size=24)
        assert rules(found(wrong)) == ["snapshot-shape-not-of-config"]


def test_experts(tmp_path: Path) -> None:
    config: Any = tiny_models()["mixtral"]["config"]
    tensors: Any = tiny_models()["mixtral"]["tensors"]
    shapes = {name: ("BF16", tuple(shape)) for name, shape in tensors.items() if not name.endswith("experts.3.w2.weight")}
    defect = only(write(tmp_path, {"config.json": config, "model.safetensors": packed(shapes)}))
    assert defect.rule == "snapshot-tensors-missing"
    assert "a mixtral has model.layers.0.block_sparse_moe.experts.3.w2.weight" in defect.detail


def test_experts_in_one_tensor_are_not_judged(tmp_path: Path) -> None:
    config: Any = tiny_models()["qwen3_moe"]["config"]
    tensors: Any = tiny_models()["qwen3_moe"]["tensors"]
    shapes = {name: ("BF16", tuple(shape)) for name, shape in tensors.items() if ".experts." not in name}
    shapes["model.layers.1.mlp.experts.gate_up_proj"] = ("BF16", (4, 48, 32))
    assert found(write(tmp_path, {"config.json": config, "model.safetensors": packed(shapes)})) == HEALTHY


@pytest.mark.parametrize("kind", ["rwkv", "llama\x1b[31m", "", None, 3])
def test_a_kind_that_is_not_known_is_not_judged(tmp_path: Path, kind: object) -> None:
    path = write(tmp_path, {"config.json": {**CONFIG, "model_type": kind, "hidden_size": 999}, "model.safetensors": packed(llama())})
    assert found(path) == HEALTHY


def test_names_of_another_architecture_are_not_judged(tmp_path: Path) -> None:
    assert found(model(tmp_path, {"model.safetensors": packed({"transformer.wte.weight": ("F32", (3, 3))})})) == HEALTHY


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from([*CONFIG, "head_dim", "num_experts", "text_config"]),
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3) | st.just({}) | st.just([1]),
        max_size=5,
    ),
    st.sampled_from(["llama", "mixtral", "qwen3_moe", "deepseek_v3", "chatglm", "gemma3_text"]),
)
def test_any_configuration_is_survived_at_once(tmp_path: Path, changed: dict[str, object], kind: str) -> None:
    path = write(tmp_path, {"config.json": {**CONFIG, "model_type": kind, **changed}, "model.safetensors": packed(llama())})
    for defect in found(path):
        assert defect.rule.startswith("snapshot-")
        assert defect.detail.isprintable()


def test_a_number_of_experts_beyond_all_bounds_takes_no_time(tmp_path: Path) -> None:
    told: Any = tiny_models()["qwen3_moe"]
    changed = {**told["config"], "num_experts": 2**39, "num_hidden_layers": 2**39}
    path = tiny(tmp_path, "qwen3_moe")
    (path / "config.json").write_text(json.dumps(changed))
    missing = next(defect for defect in found(path) if defect.rule == "snapshot-tensors-missing")
    assert f"config.json counts {2**39} layers and {2**39 - 3} of them have no weights" in missing.detail
    assert "and 9997 more, which no file holds" in missing.detail


def test_nor_does_it_in_a_quantized_model_of_which_nothing_is_missed(tmp_path: Path) -> None:
    told: Any = tiny_models()["qwen3_moe"]
    path = tiny(tmp_path, "qwen3_moe")
    (path / "config.json").write_text(json.dumps({**told["config"], "num_experts": 2**39, "quantization_config": {"quant_method": "fp8"}}))
    assert "snapshot-tensors-missing" not in {defect.rule for defect in found(path)}
