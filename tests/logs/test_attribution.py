"""Whose an error is: words that many packages' errors share are no rule's alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

SITE = "/srv/env/lib/python3.10/site-packages"


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = "") -> list[tuple[str, str]]:
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(log, encoding="utf-8")
    stated.write_text(f'os = "linux"\n{facts}', encoding="utf-8")
    report: dict[str, Any] = json.loads(
        run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--format", "json", every_rule=True).out
    )
    return [(finding["rule"], finding["status"]) for finding in report["findings"]]


def trace(importer: str, code: str, error: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/srv/job/finetune.py", line 9, in <module>\n    import {importer}\n'
        f'  File "{SITE}/{importer}/__init__.py", line 31, in <module>\n    {code}\n{error}\n'
    )


SIX = "ModuleNotFoundError: No module named 'torch._six'"
FLOAT = "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead."


@pytest.mark.parametrize("facts", ["", '[packages]\ntorch = "2.1.2"\n'])
def test_a_module_that_another_package_asks_for_is_computed_before_a_rule_of_its_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, facts: str
) -> None:
    found = told(capsys, tmp_path, trace("apex", "from torch._six import string_classes", SIX), facts)
    assert found[0] == ("error-module-missing", "matched")
    assert ("deepspeed-before-0-8-2-torch-six", "possible") in found[1:]


def test_of_rules_with_the_same_words_that_one_counts_whose_package_is_in_the_frames(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = dict(told(capsys, tmp_path, trace("wandb", "FLOATS = (np.float_,)", FLOAT)))
    assert next(iter(found)) == "wandb-before-0-17-2-numpy-2"
    assert found["wandb-before-0-17-2-numpy-2"] == "matched"
    assert found["chromadb-before-0-5-7-numpy-2"] == "possible"


def test_a_module_that_python_dropped_is_not_laid_on_a_package_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = "ModuleNotFoundError: No module named 'distutils'"
    found = told(capsys, tmp_path, f'Traceback (most recent call last):\n  File "/srv/job/finetune.py", line 9, in <module>\n{words}\n')
    assert found[0][0] == "requirement-refuses-python"
    assert ("deepspeed-python-3-12-distutils", "matched") not in found


@pytest.mark.parametrize(
    ("importer", "facts"), [("deepspeed", ""), ("apex", '[packages]\ntorch = "2.1.2"\ndeepspeed = "0.8.0"\n')], ids=["frames", "versions"]
)
def test_a_rule_whose_own_package_is_there_stays_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, importer: str, facts: str
) -> None:
    found = told(capsys, tmp_path, trace(importer, "from torch._six import inf", SIX), facts)
    assert found[0] == ("deepspeed-before-0-8-2-torch-six", "matched")


def test_what_a_stated_version_refutes_is_not_even_possible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = told(capsys, tmp_path, trace("apex", "from torch._six import inf", SIX), '[packages]\ndeepspeed = "0.14.0"\ntorch = "2.1.2"\n')
    assert "deepspeed-before-0-8-2-torch-six" not in dict(found)


def test_what_a_release_says_of_itself_is_told_before_a_rule_whose_package_is_nowhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = told(capsys, tmp_path, f"{FLOAT}\n")
    assert found[0] == ("error-demands-another-release", "matched")
    assert ("chromadb-before-0-5-7-numpy-2", "possible") in found[1:]


def test_a_module_that_one_rule_knows_is_told_by_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert told(capsys, tmp_path, "ModuleNotFoundError: No module named 'triton.ops'\n")[0] == ("bitsandbytes-triton-ops", "matched")


def test_a_compiled_file_names_its_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = told(capsys, tmp_path, "AttributeError: /srv/env/libbitsandbytes_cpu.so: undefined symbol: cget_col_row_stats\n")
    assert found[0][0] == "bitsandbytes-cpu-library-for-gpu-work"


def test_the_frames_of_a_package_speak_for_the_one_that_it_comes_with(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = f'  File "{SITE}/gradio_client/utils.py", line 880, in get_type\n    if "const" in schema:\n'
    found = told(capsys, tmp_path, f"{frame}TypeError: argument of type 'bool' is not iterable\n")
    assert found[0][0] == "gradio-before-5-22-pydantic-2-11"


ROWS = "copying a param with shape torch.Size([{}, 4096]) from checkpoint, the shape in current model is torch.Size([{}, 4096])."


@pytest.mark.parametrize(
    ("weight", "rule"),
    [
        ("model.embed_tokens.weight", "error-tensors-disagree"),
        ("lm_head.weight", "error-tensors-disagree"),
        ("model.layers.0.self_attn.q_proj.lora_B.default.weight", "snapshot-adapter-other-base"),
    ],
)
def test_an_adapter_with_more_words_is_not_called_one_of_another_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, weight: str, rule: str
) -> None:
    error = "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n"
    line = f"\tsize mismatch for base_model.model.{weight}: {ROWS.format(32003, 32000)}\n"
    frame = f'  File "{SITE}/peft/utils/save_and_load.py", line 158, in set_peft_model_state_dict\n    load()\n'
    found = told(capsys, tmp_path, f"Traceback (most recent call last):\n{frame}{error}{line}")
    assert found[0] == (rule, "matched")


ASSERTED = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [212,0,0], thread: [62,0,0] "
    "Assertion `srcIndex < srcSelectDimSize` failed.\n"
)
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n"


@pytest.mark.parametrize(("log", "rule"), [(CUBLAS, "cublas-handle-on-a-full-gpu"), (ASSERTED + CUBLAS, "error-of-the-run")])
def test_what_fails_after_an_assertion_of_the_device_is_its_consequence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, rule: str
) -> None:
    found = [one for one, _ in told(capsys, tmp_path, log)]
    assert found[0] == rule
    assert ("cublas-handle-on-a-full-gpu" in found) is (rule == "cublas-handle-on-a-full-gpu")


FRAMES = (
    'Traceback (most recent call last):\n  File "/srv/job/train.py", line 50, in <module>\n    reference(ids)\n'
    f'  File "{SITE}/torch/nn/functional.py", line 2233, in embedding\n    return torch.embedding(weight, input)\n'
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("RuntimeError: 'weight' must be 2-D\n", "zero3-weight-must-be-2-d"),
        ("NotImplementedError: Cannot copy out of meta tensor; no data!\n", "weights-left-on-the-meta-device"),
    ],
)
def test_what_torch_says_of_another_packages_tensors_needs_no_frame_of_that_package(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, rule: str
) -> None:
    assert (rule, "matched") in told(capsys, tmp_path, FRAMES + text)


@pytest.mark.parametrize(("where", "first"), [("/srv/job/finetune.py", "possible"), (f"{SITE}/unsloth/models/_utils.py", "matched")])
def test_what_python_says_of_its_own_types_is_nobodys_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, where: str, first: str
) -> None:
    error = "AttributeError: 'int' object has no attribute 'mean'"
    log = f'Traceback (most recent call last):\n  File "{where}", line 9, in step\n    loss = loss.mean()\n{error}\n'
    assert dict(told(capsys, tmp_path, log))["unsloth-before-2026-10-3-data-parallel-loss-int"] == first
