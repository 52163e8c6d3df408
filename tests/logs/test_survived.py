"""What a run went on after is no error of it, though its text is that of one elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

BEFORE = "loading the data\n" * 6
WARNED = (
    "/env/lib/python3.10/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: "
    "'/env/lib/python3.10/site-packages/torchvision/image.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev'\n  warn(\n"
)
FLASH = (
    "Flash Attention 2.0 only supports torch.float16 and torch.bfloat16 dtypes, but the current dype in MistralModel is torch.float32. "
    "You should run training or inference using Automatic Mixed-Precision\n"
)
ABSENT = "The package flash_attn seems to be not installed. Please refer to the documentation to install Flash Attention 2.\n"
AMD = (
    "/opt/rocm/lib/libamd_smi.so: cannot open shared object file: No such file or directory\n"
    "Unable to find libamd_smi.so library try installing amd-smi-lib from your package manager\n"
)
LOADED = "Loading checkpoint shards: 100%|\u2588\u2588\u2588| 2/2 [00:04<00:00,  2.1s/it]\n"
TRAINED = "{'loss': 1.2, 'epoch': 0.5}\n{'loss': 0.9, 'epoch': 1.0}\n"
FAILED = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    raise ValueError('x')\nValueError: x\n"


@pytest.mark.parametrize("log", [WARNED, FLASH, FLASH + TRAINED, WARNED + TRAINED, AMD, AMD + LOADED])
def test_what_a_run_survived_is_possible(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> None:
    statuses = found(capsys, tmp_path, BEFORE + log + "the run is over\n" * 2)
    assert statuses
    assert set(statuses) == {"possible"}


@pytest.mark.parametrize("log", [WARNED + FAILED, TRAINED + ABSENT])
def test_what_stands_at_the_end_or_before_a_failure_is_told_as_before(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> None:
    assert "matched" in found(capsys, tmp_path, BEFORE + log)


def found(capsys: pytest.CaptureFixture[str], folder: Path, text: str) -> list[str]:
    log = folder / "train.log"
    log.write_text(text)
    findings = run(capsys, "diagnose", str(log), "--format", "json").json["findings"]
    return [one["status"] for one in findings if one["severity"] == "error" and one["status"] != "refuted"]


def test_prose_is_no_word_of_an_installer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prose = (
        "a signal requires the receptor, and the response depends on both the wavelength and the light because vision requires the cones\n"
    )
    assert found(capsys, tmp_path, BEFORE + prose) == []


def test_what_goes_without_an_extension_and_a_page_that_tells_of_it_are_no_failed_build(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = "3. If you see a message like `Failed to build the SAM 2 CUDA extension` during installation, you can ignore it\n"
    assert found(capsys, tmp_path, BEFORE + page + TRAINED) == []
