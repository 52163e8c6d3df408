"""What uv says around a build that failed, cards that refute a page, pins that admit each other, the system of a listing."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.sources.stated.listings import parse_listing
from tests.logs.diagnosed import findings

PATHTOOLS = """\
Using Python 3.12.1 environment at: venv
error: Failed to build `pathtools==0.1.2`
  cause: The build backend returned an error

         [stderr]
         Traceback (most recent call last):
           File "<string>", line 25, in <module>
         ModuleNotFoundError: No module named 'imp'

hint: `pathtools` (v0.1.2) was included because `wandb` (v0.15.12) depends on `pathtools`

hint: This error likely indicates that `pathtools@0.1.2` depends on `imp`, but doesn't declare it as a build dependency."""
CUBLAS = """\
bitsandbytes==0.37.1
Traceback (most recent call last):
  File "/opt/conda/lib/python3.10/site-packages/bitsandbytes/functional.py", line 1698, in igemmlt
    raise Exception('cublasLt ran into an error!')
Exception: cublasLt ran into an error!"""


def test_a_module_that_python_no_longer_has_is_not_installed_but_its_asker_moves(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = {one["rule"]: one for one in findings(capsys, tmp_path, PATHTOOLS)}
    advice = str(found["error-build-failed"]["fixes"])
    assert "take a later release of wandb (0.15.12 asks for pathtools), or Python 3.11" in advice
    assert "install imp" not in advice


@pytest.mark.parametrize(("card", "told"), [("RTX 3090", False), ("NVIDIA A100-SXM4-80GB", False), ("NVIDIA H100 PCIe", True)])
def test_a_card_that_is_stated_by_its_name_refutes_a_page_about_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, card: str, told: bool
) -> None:
    found = findings(capsys, tmp_path, CUBLAS, f'gpu.name = "{card}"\npackages.bitsandbytes = "0.37.1"\n')
    assert ("bitsandbytes-int8-hopper-before-0-45" in [one["rule"] for one in found]) is told


def test_two_pins_of_one_cure_are_what_an_installer_takes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ERROR: Could not build wheels for tokenizers, which is required to install pyproject.toml-based projects"
    (found,) = findings(capsys, tmp_path, log, 'python = "3.12.2"\npackages.tokenizers = "0.13.3"\n')
    # tokenizers 0.14.0 wants a huggingface-hub below 0.17, transformers 4.39.3 one from 0.19.3 on.
    assert {"transformers": "==4.39.3", "tokenizers": "==0.15.0"} in [fix.get("pins") for fix in found["fixes"]]


@pytest.mark.parametrize(
    ("listing", "system"),
    [
        ("pywin32==306\ntransformers==4.37.1\n", "windows"),
        ("# packages in environment at C:\\Users\\me\\x:\n#\n# Name Version Build Channel\nnumpy 1.26.4 py311_0\n", "windows"),
        (
            "# packages in environment at /home/me/x:\n#\n# Name Version Build Channel\nvs2015_runtime 14.38 h1_1\nnumpy 1.26.4 py311_0\n",
            "windows",
        ),
        ("pywin32-ctypes==0.2.2\ntransformers==4.37.1\n", None),
    ],
)
def test_what_is_for_windows_alone_tells_the_system_of_a_listing(listing: str, system: str | None) -> None:
    found = parse_listing(listing, "frozen.txt")
    assert found is not None
    assert next((fact.value for fact in found.facts if fact.name == "os"), None) == system
