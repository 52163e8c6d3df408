"""What is advised where torch's own libraries ask for a symbol that another package's library lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.cli import main


def test_a_torch_whose_nccl_is_older_is_installed_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    error = "ImportError: /x/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"
    log.write_text(f'torch==2.3.1\nTraceback (most recent call last):\n  File "t.py", line 1, in <module>\n    import torch\n{error}\n')
    main(["diagnose", str(log), "--format", "json"])
    first = json.loads(capsys.readouterr().out)["findings"][0]
    assert (first["rule"], first["status"]) == ("nccl-older-than-torch-2-2-needs", "matched")
    assert first["fixes"][0]["note"].startswith("pip install --force-reinstall torch")


def test_a_package_that_was_built_is_not_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "Collecting openai-whisper==20240930\n  Using cached openai-whisper-20240930.tar.gz (800 kB)\n"
        'Successfully installed openai-whisper-20240930\nTraceback (most recent call last):\n  File "t.py", line 1, in <module>\n'
        "    1/0\nZeroDivisionError: division by zero\n"
    )
    main(["diagnose", str(log), "--format", "json"])
    assert "openai-whisper-before-2025-setup-py" not in capsys.readouterr().out
