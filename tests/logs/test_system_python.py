"""What pip does not do to a Python of the operating system, and objects that another release saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

MANAGED = """error: externally-managed-environment

× This environment is externally managed
╰─> To install Python packages system-wide, try apt install
    python3-xyz, where xyz is the package you are trying to
    install."""
KEPT = """error: uninstall-distutils-installed-package

× Cannot uninstall blinker 1.4
╰─> It is a distutils installed project and thus we cannot accurately determine which files belong to it."""
UNKNOWN = """error: uninstall-no-record-file

× Cannot uninstall packaging 24.0
╰─> The package's contents are unknown: no RECORD file was found for packaging."""
LOCKED = """  - Installing torch (2.5.1): Failed

  RuntimeError

  Unable to find installation candidates for torch (2.5.1)

  at ~/.local/pipx/venvs/poetry/lib/python3.13/site-packages/poetry/installation/chooser.py:74 in choose_for"""


@pytest.mark.parametrize(
    ("log", "packages", "words", "fix"),
    [
        (MANAGED, [], "This Python belongs to the operating system, and pip may not install into it", "python3 -m venv .venv"),
        ("error: This environment is externally managed", [], "pip may not install into it", "python3 -m venv .venv"),
        (KEPT, ["blinker"], "pip cannot replace blinker 1.4, which it did not install", "--ignore-installed blinker"),
        ("ERROR: Cannot uninstall 'PyYAML'. It is a distutils installed project and thus", ["pyyaml"], "pip cannot replace pyyaml", ""),
        (UNKNOWN, ["packaging"], "pip cannot replace packaging 24.0", "--ignore-installed packaging"),
        (
            LOCKED,
            ["torch", "python"],
            "torch 2.5.1 is in the lock, and none of its files is for this Python",
            "poetry env use",
        ),
    ],
)
def test_what_an_installer_refuses_is_told_with_what_to_do(
    log: str, packages: list[str], words: str, fix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"] == packages
    assert words in first["detail"]
    assert fix in first["fixes"][0]["note"]


def test_the_last_torch_for_intel_macs_is_the_cure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "  Unable to find installation candidates for torch (2.4.0)\n\n  at venv/lib/python3.11/site-packages/poetry/chooser.py:74"
    first = findings(capsys, tmp_path, log, 'os = "macos"\npython = "3.11"\n')[0]
    assert "for Intel Macs 2.2.2 is the last" in first["detail"]
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [{"torch": "==2.2.2"}]


def test_poetrys_sentences_are_read_without_their_last_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "Because no versions of vllm match >0.6.4,<0.7.0\n and vllm (0.6.4.post1) depends on tokenizers (>=0.20), vllm requires tokenizers "
        "(>=0.20).\nAnd because langchain-upstage (0.3.0) depends on tokenizers (>=0.19.1,<0.20.0)"
    )
    first = findings(capsys, tmp_path, log)[0]
    assert first["rule"] == "requirements-contradict"
    assert {"vllm", "langchain-upstage"} <= set(first["packages"])


def test_an_estimator_is_loaded_by_the_release_that_saved_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "sklearn/base.py:380: InconsistentVersionWarning: Trying to unpickle estimator DecisionTreeClassifier from version 1.2.2 when "
        "using version 1.6.1. This might lead to breaking code\nValueError: node array from the pickle has an incompatible dtype:"
    )
    first = findings(capsys, tmp_path, log)[0]
    assert "DecisionTreeClassifier was saved by scikit-learn 1.2.2, and 1.6.1 loads it" in first["detail"]
    assert first["fixes"][0]["pins"] == {"scikit-learn": "==1.2.2"}


def test_what_a_message_says_to_write_instead_comes_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "AttributeError: jax.tree_map was removed in JAX v0.6.0: use jax.tree.map (jax v0.4.25 or newer) or jax.tree_util.tree_map."
    first = findings(capsys, tmp_path, log)[0]
    assert first["fixes"][0]["note"] == "write jax.tree.map in its place"
    assert first["fixes"][1]["pins"] == {"jax": "==0.5.3"}


@pytest.mark.parametrize(
    ("log", "package"),
    [
        ("ValueError: LoRA rank 32 is greater than max_lora_rank 16.", "vllm"),
        ("ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).", "vllm"),
        ("ValueError: There is no module or parameter named '_orig_mod' in Qwen2ForCausalLM", "vllm"),
        ("RuntimeError: Triton Error [CUDA]: device kernel image is invalid", "triton"),
        ("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "triton"),
        ("RuntimeError: \"slow_conv2d_cpu\" not implemented for 'Half'", "torch"),
    ],
)
def test_a_sentence_is_told_of_its_package(log: str, package: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["rule"] == "error-of-the-run"
    assert first["packages"] == [package]


REFUSED = (
    "ERROR: Ignored the following versions that require a different python version: 3.0.0 Requires-Python >=3.10; 3.0.1 Requires-Python "
    ">=3.10\nERROR: Could not find a version that satisfies the requirement esm (from versions: none)\n"
    "ERROR: No matching distribution found for esm"
)
OLDER = (
    "ERROR: Could not find a version that satisfies the requirement torch==1.7.1+cu110 (from versions: 2.2.0, 2.2.0+cpu, 2.2.1)\n"
    "ERROR: No matching distribution found for torch==1.7.1+cu110"
)
BETWEEN = (
    "transformers 4.41.1 requires tokenizers<0.20,>=0.19, but you have tokenizers 0.15.2 which is incompatible.\n"
    "faster-whisper 1.0.1 requires tokenizers<0.16,>=0.13, but you have tokenizers 0.19.1 which is incompatible."
)
METADATA = (
    "Requested pytorch_lightning==1.8.3 from https://x.org/x.whl has invalid metadata: .* suffix can only be used with `==`\n"
    "    torch (>=1.9.*)\n           ~~~~~~^\nPlease use pip<24.1 if you need to use this version."
)


@pytest.mark.parametrize(
    ("log", "packages", "words"),
    [
        (REFUSED, ["esm", "python"], "every release of esm that pip saw asks for Python >=3.10"),
        (OLDER, ["torch", "python"], "for this Python there is no torch before 2.2.0"),
        (BETWEEN, ["transformers", "faster-whisper", "tokenizers"], "no release of tokenizers is both"),
        (METADATA, ["pip"], "the message asks for pip<24.1"),
    ],
)
def test_what_an_installers_own_sentences_come_to_is_told_first(
    log: str, packages: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"] == packages
    assert words in first["detail"]
