"""Messages that name a bound, an upgrade or a place in words of their own, and errors whose words leave out what is behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

SITE = "/opt/venv/lib/python3.11/site-packages"


def first_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, **stated: str) -> dict[str, Any]:
    facts = NOTHING + "[packages]\n" + "".join(f'{name.replace("_", "-")} = "{release}"\n' for name, release in stated.items())
    return findings(capsys, tmp_path, log, facts if stated else NOTHING)[0]


@pytest.mark.parametrize(
    ("log", "stated", "pins"),
    [
        (
            "Exception: sgl_kernel is installed with version 0.3.8, which is less than the minimum required version 0.3.9. Please do.",
            {"sgl_kernel": "0.3.8"},
            {"sgl-kernel": "==0.3.9"},
        ),
        (
            "ImportError: peft version 0.4.0 is lower than the minimum required version 0.5.0",
            {"peft": "0.4.0"},
            {"peft": "==0.5.0"},
        ),
        ("RuntimeError: The installed version of peft (0.4.0) is below the required 0.5.0", {"peft": "0.4.0"}, {"peft": "==0.5.0"}),
        ("ImportError: Numba needs NumPy 1.26 or less. Got NumPy 2.0.", {}, {"numpy": "==1.26.4"}),
        ("Numba needs NumPy 2.1 or less. Got NumPy 2.2.", {"numpy": "2.2"}, {"numpy": "==2.1.3"}),
    ],
)
def test_a_bound_in_words_is_a_pin_within_it(
    log: str, stated: dict[str, str], pins: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = first_of(capsys, tmp_path, log, **stated)
    assert told["rule"] == "error-demands-another-release"
    assert told["fixes"][0]["pins"] == pins


def test_who_is_too_old_for_what_it_found_may_be_raised_in_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "ImportError: Numba needs NumPy 2.1 or less. Got NumPy 2.2.", numba="0.61.0")
    assert [fix.get("pins") for fix in told["fixes"]][:2] == [{"numpy": "==2.1.3"}, {"numba": "==0.61.2"}]


def test_a_driver_is_no_package_that_is_too_old(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, "RuntimeError: NVIDIA driver version 12.1 is less than the minimum required version 12.4") == []


def test_keys_of_a_later_release_are_told_with_the_release_that_has_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: The config file at /home/u/.cache/huggingface/accelerate/default_config.yaml had unknown keys "
        "(['parallelism_config']), please try upgrading your `accelerate` version or fix (and potentially remove) these keys."
    )
    told = first_of(capsys, tmp_path, log, accelerate="0.34.0")
    assert (told["rule"], told["packages"]) == ("error-demands-another-release", ["accelerate"])
    assert told["fixes"][0]["pins"].keys() == {"accelerate"}
    assert "take parallelism_config out of the file" in str(told["fixes"])


@pytest.mark.parametrize("pair", ["'type' and '_GenericAlias'", "'_SpecialForm' and 'type'", "'EnumMeta' and 'types.GenericAlias'"])
def test_a_stroke_between_types_is_for_a_later_python(pair: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = f"TypeError: unsupported operand type(s) for |: {pair}"
    assert "Python 3.10 or later" in str(findings(capsys, tmp_path, error, 'python = "3.9"\n')[0]["fixes"])
    assert not any("3.10" in str(one) for one in findings(capsys, tmp_path, error, 'python = "3.11"\n'))


def test_a_stroke_between_values_is_of_no_python(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, "TypeError: unsupported operand type(s) for |: 'set' and 'list'")
    assert "3.10" not in str(told)


@pytest.mark.parametrize(
    ("log", "package", "words"),
    [
        ("KeyError: '_orig_mod'", "accelerate", "1.13.0"),
        (
            'RuntimeError: Error(s) in loading state_dict for Net:\n\tUnexpected key(s) in state_dict: "_orig_mod.head.weight".',
            "torch",
            "replace('_orig_mod.', '')",
        ),
        ("AttributeError: 'Net' object has no attribute '_orig_mod'", "torch", "getattr(model, '_orig_mod', model)"),
        ("cuda error: out of memory at /workspace/csrc/cumem_allocator.cpp:62", "vllm", "gpu_memory_utilization"),
        (
            "RuntimeError: Configured CUDA binary not found at /v/bitsandbytes/libbitsandbytes_cuda131.so",
            "bitsandbytes",
            "BNB_CUDA_VERSION=130",
        ),
        (
            "RuntimeError: Configured CUDA binary not found at /v/bitsandbytes/libbitsandbytes_cuda129.so",
            "bitsandbytes",
            "BNB_CUDA_VERSION=128",
        ),
        ("RuntimeError: Unsloth: Quantization failed for /content/m/unsloth.Q8_0.gguf", "unsloth", "llama.cpp/build/bin"),
        ("RuntimeError: Unsloth: The file 'llama.cpp/llama-quantize' or `llama.cpp/quantize` does not exist.", "unsloth", "cmake --build"),
        ("ValueError: Unrecognized image processor in me/some-vlm...", "torchvision", "pip install torchvision"),
        ("ValueError: Unrecognized video processor in me/some-vlm...", "torchvision", "video_preprocessor_config.json"),
    ],
)
def test_what_the_words_leave_out_is_told(log: str, package: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, log)
    assert told["packages"][0] == package
    assert words in str(told)


def test_where_torchvision_is_no_package_hides_a_processor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ValueError: Unrecognized image processor in me/some-vlm..."
    told = findings(capsys, tmp_path, log, NOTHING + '[packages]\ntorchvision = "0.24.0"\ntransformers = "5.12.1"\n')
    assert "torchvision is not installed" not in str(told)


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        (f"{SITE}/vllm/v1/worker/gpu_model_runner.py", "gpu_memory_utilization"),
        (f"{SITE}/sglang/srt/mem_cache/memory_pool.py", "--mem-fraction-static"),
        (f"{SITE}/trl/trainer/sft_trainer.py", "gradient_checkpointing"),
    ],
)
def test_memory_is_cured_by_the_settings_of_who_asked_for_it(
    path: str, setting: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = f'Traceback (most recent call last):\n  File "{path}", line 20, in load\n    t = torch.zeros(n)\n'
    told = first_of(capsys, tmp_path, f"{log}torch.OutOfMemoryError: CUDA out of memory.")
    assert setting in str(told["fixes"][0])


def test_ranks_of_several_nodes_are_told_by_the_release_that_counts_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "AssertionError: local_world_size ({}) must be less than or equal to the number of visible devices ({})."
    assert first_of(capsys, tmp_path, log.format(16, 8))["fixes"][0]["pins"] == {"vllm": "==0.11.2"}
    assert "at most 2 on one node" in str(first_of(capsys, tmp_path, log.format(4, 2))["fixes"][0])
    assert not any(fix.get("pins") for fix in first_of(capsys, tmp_path, log.format(16, 8), vllm="0.11.2")["fixes"])
