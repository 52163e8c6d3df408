"""A rule's own words without a release, and what only looks like them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

TTS = "AttributeError: 'GPT2InferenceModel' object has no attribute 'generate'"


def _trace(file: str, code: str, error: str) -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "/home/u/train.py", line 10, in <module>\n    run()\n  File "{file}", line 237, in load\n    {code}\n{error}\n'
    )


def diagnosed(tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str) -> list[dict[str, Any]]:
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(log, encoding="utf-8")
    stated.write_text(f'os = "{"windows" if "WinError" in log else "linux"}"\n', encoding="utf-8")
    report = json.loads(run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--format", "json", every_rule=True).out)
    found: list[dict[str, Any]] = report["findings"]
    return found


PACKAGES = "/opt/venv/lib/python3.10/site-packages"
NCCL = _trace(
    f"{PACKAGES}/torch/__init__.py",
    "from torch._C import *",
    f"ImportError: {PACKAGES}/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
)
FBGEMM = _trace(
    "C:\\venv\\lib\\site-packages\\torch\\__init__.py",
    "raise err",
    "OSError: [WinError 126] The specified module could not be found. "
    'Error loading "C:\\venv\\lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.',
)
WEIGHTS = _trace(
    f"{PACKAGES}/peft/utils/save_and_load.py",
    "raise ValueError(",
    "ValueError: Can't find weights for out in out or in the Hugging Face Hub. "
    "Please check that the file adapter_model.bin or adapter_model.safetensors is present at out.",
)
NVCC = (
    "  mamba_ssm was requested, but nvcc was not found.  Are you sure your environment has nvcc available?\n"
    '  File "/tmp/pip/mamba-ssm/setup.py", line 137, in <module>\n    if bare_metal_version >= Version("11.8"):\n'
    "NameError: name 'bare_metal_version' is not defined\n"
)


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        pytest.param(NCCL, "nccl-older-than-torch-2-2-needs", id="a symbol that one rule has"),
        pytest.param(FBGEMM, "torch-2-4-0-windows-fbgemm", id="a library of torch on Windows"),
        pytest.param(WEIGHTS, "snapshot-adapter-weights-missing", id="peft's own sentence"),
        pytest.param(NVCC, "no-cuda-toolkit-to-build-with", id="a build that only warns of nvcc"),
        pytest.param("ERROR: Could not consume arg: --local_rank=0\n", "launcher-passes-local-rank", id="python-fire"),
        pytest.param(_trace(f"{PACKAGES}/TTS/tts/layers/xtts/gpt.py", "gen()", TTS), "tts-transformers-4-52-generate", id="TTS itself"),
    ],
)
def test_a_rules_own_words_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str, rule: str) -> None:
    first = diagnosed(tmp_path, capsys, log)[0]
    assert (first["rule"], first["status"]) == (rule, "matched")


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        pytest.param(
            "torchrun: error: unrecognized arguments: --local-ranks-filter 0\n", "launcher-passes-local-rank", id="another option"
        ),
        pytest.param(
            _trace(
                "/home/u/peft_helper.py",
                'raise ValueError("Please specify `target_modules`")',
                "ValueError: Please specify `target_modules` in `peft_config`",
            ),
            "error-said-by-package",
            id="the project's own raise",
        ),
        pytest.param("Fixed: loss is no longer nan\n", "loss-is-no-number", id="what was fixed"),
        pytest.param(
            "{'loss': 2.31, 'grad_norm': nan}\n{'loss': 1.8, 'grad_norm': 1.4}\n{'train_runtime': 100.1, 'train_loss': 1.9}\n",
            "loss-is-no-number",
            id="a step that the scaler skipped",
        ),
    ],
)
def test_what_only_looks_like_them_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str, rule: str) -> None:
    assert (rule, "matched") not in [(one["rule"], one["status"]) for one in diagnosed(tmp_path, capsys, log)]


def test_a_loss_that_fell_to_zero_is_told_of_a_run_that_ended_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = "{'loss': 2.31, 'grad_norm': 1.1}\n{'loss': 0.0, 'grad_norm': nan}\n{'train_runtime': 100.1, 'train_loss': 1.9}\n"
    assert diagnosed(tmp_path, capsys, log)[0]["rule"] == "loss-is-no-number"


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("/home/u/transformers.py", True),
        ("/home/u/proj/transformers/__init__.py", True),
        ("/home/u/transformers/src/transformers/__init__.py", False),
        ("/home/u/transformers/transformers/__init__.py", False),
        (f"{PACKAGES}/transformers/__init__.py", False),
    ],
)
def test_the_file_that_the_message_names_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, is_own: bool) -> None:
    first = diagnosed(tmp_path, capsys, f"ImportError: cannot import name 'AutoModel' from 'transformers' ({path})\n")[0]
    assert first["rule"] == "error-name-missing"
    assert ("AutoModel was looked for in transformers" in json.dumps(first)) is is_own


def test_a_distribution_that_was_not_found_is_the_one_that_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = (
        "importlib.metadata.PackageNotFoundError: The 'tqdm>=4.27' distribution was not found and is required by this application.\n"
        "Try: pip install transformers -U or pip install -e '.[dev]' if you're working with git main\n"
    )
    first = diagnosed(tmp_path, capsys, log)[0]
    assert (first["rule"], first["packages"][0]) == ("error-package-not-installed", "tqdm")
