"""Stored quantization against libraries, releases and training."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.coherence.quantization import CHECKS
from envdoctor.facts.fact import Defect
from tests.coherence.situations import run, situation, snapshot


def found(path: Path, quantization: object, closed: bool = True, /, **stated: object) -> list[Defect | Hit]:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "quantization_config": quantization}
    read = snapshot(path, {"config.json": config})
    return run(CHECKS, read, situation(read, closed, **stated))


@pytest.mark.parametrize(
    ("method", "release", "package", "wanted"),
    [
        ("awq", "4.57.1", "autoawq", "autoawq"),
        ("bitsandbytes", "4.57.1", "bitsandbytes", "bitsandbytes"),
        ("compressed-tensors", "5.0.0", "compressed-tensors", "compressed-tensors"),
        ("gptq", "4.48.0", "auto-gptq", "auto-gptq"),
        ("gptq", "4.57.1", "gptqmodel", "gptqmodel or auto-gptq"),
        ("hqq", "5.0.0", "hqq", "hqq"),
        ("quanto", "4.57.1", "optimum-quanto", "optimum-quanto"),
        ("torchao", "4.57.1", "torchao", "torchao"),
        ("eetq", "5.0.0", "kernels", "kernels"),
    ],
)
def test_a_library_that_is_not_installed(tmp_path: Path, method: str, release: str, package: str, wanted: str) -> None:
    (one,) = found(tmp_path, {"quant_method": method}, transformers=release)
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.packages) == ("snapshot-quantization-library-missing", True, (package,))
    assert f"needs {wanted} " in one.detail
    assert one.line == 6
    assert found(tmp_path, {"quant_method": method}, transformers=release, **{package.replace("-", "_"): "99"}) == []
    # A requirements file does not say what else is installed.
    assert found(tmp_path, {"quant_method": method}, False, transformers=release) == []


@pytest.mark.parametrize("named", [{"load_in_4bit": True}, {"quant_method": "bitsandbytes", "load_in_8bit": True}])
def test_bitsandbytes_by_its_switches(tmp_path: Path, named: dict[str, object]) -> None:
    (one,) = found(tmp_path, named, transformers="4.57.1")
    assert one.rule == "snapshot-quantization-library-missing"


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_what_rules_say_of_transformers_5_is_not_repeated(tmp_path: Path, method: str) -> None:
    assert found(tmp_path, {"quant_method": method}, transformers="5.0.0") == []


@pytest.mark.parametrize(("method", "older", "first"), [("compressed-tensors", "4.44.2", "4.45.0"), ("mxfp4", "4.54.1", "4.55.0")])
def test_a_method_of_a_later_release(tmp_path: Path, method: str, older: str, first: str) -> None:
    (one,) = found(tmp_path, {"quant_method": method}, False, transformers=older)
    assert isinstance(one, Hit)
    assert (one.rule, one.pins) == ("snapshot-quantization-unknown", (("transformers", f">={first}"),))
    assert found(tmp_path, {"quant_method": method}, False, transformers=first) == []
    # Servers read the weights with code of their own.
    assert found(tmp_path, {"quant_method": method}, False, transformers=older, vllm="0.6.0", plan_method="inference") == []
    (trained,) = found(tmp_path, {"quant_method": method}, False, transformers=older, vllm="0.6.0", plan_method="lora")
    assert trained.rule == "snapshot-quantization-unknown"


@pytest.mark.parametrize("release", ["4.46.3", "4.47.0"])
def test_weights_that_are_for_inference_only(tmp_path: Path, release: str) -> None:
    stated = {"transformers": release, "compressed_tensors": "0.9.0"}
    trained = found(tmp_path, {"quant_method": "compressed-tensors"}, plan_method="lora", **stated)
    assert [one.rule for one in trained] == (["snapshot-quantized-base-not-trainable"] if release == "4.46.3" else [])
    assert found(tmp_path, {"quant_method": "compressed-tensors"}, plan_method="inference", **stated) == []
    dequantized = found(tmp_path, {"quant_method": "compressed-tensors"}, plan_method="lora", plan_quantization_config=True, **stated)
    assert dequantized == []


@pytest.mark.parametrize(
    ("release", "mode", "refused"), [("4.51.3", "online", True), ("4.52.0", "online", False), ("5.23.0", "offline", True)]
)
def test_bitnet_is_trained_from_its_master_weights_alone(tmp_path: Path, release: str, mode: str, refused: bool) -> None:
    quantization = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": mode}
    rules = [one.rule for one in found(tmp_path, quantization, transformers=release, plan_method="lora")]
    assert rules == (["snapshot-quantized-base-not-trainable"] if refused else [])
    (packed,) = found(tmp_path, {"quant_method": "bitnet"}, transformers=release, plan_method="lora")
    assert packed.rule == "snapshot-quantized-base-not-trainable"


@pytest.mark.parametrize(
    "quantization", [None, {}, [], 4, {"quant_method": None}, {"quant_method": 3}, {"quant_method": "exl2"}, {"load_in_4bit": "yes"}]
)
def test_what_is_not_known_is_not_judged(tmp_path: Path, quantization: object) -> None:
    assert found(tmp_path, quantization, transformers="4.57.1", plan_method="lora") == []


def test_an_unknown_release_decides_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, {"quant_method": "hqq"}) == []
    assert found(tmp_path, {"quant_method": "hqq"}, transformers=">=4.30") == []
