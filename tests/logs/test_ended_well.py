"""Lines of a run, or of an installation, that went on to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

TRAINED = "{'train_runtime': 123.4, 'train_samples_per_second': 2.0, 'train_loss': 1.2, 'epoch': 1.0}\n"
MEMORY = "Retrying after CUDA out of memory with batch size 4\n"
FAILED = "  ERROR: Failed building wheel for fairscale\n  Running setup.py install for fairscale ... done\n"


@pytest.mark.parametrize(
    ("text", "rule", "told"),
    [
        (MEMORY + TRAINED, "gpu-memory-exhausted", False),
        (MEMORY, "gpu-memory-exhausted", True),
        (f"No module named 'flash_attn', falling back to sdpa\n{TRAINED}", "error-package-not-installed", False),
        ("No module named 'flash_attn'\n", "error-package-not-installed", True),
        ("{'loss': 0.5, 'rewards/nan_guard': 0.0, 'epoch': 0.1}\n", "loss-is-no-number", False),
        (f"{FAILED}Successfully installed fairscale-0.4.0 numpy-1.26.4\n", "error-build-failed", False),
        (f"{FAILED}Successfully installed numpy-1.26.4\n", "error-build-failed", True),
        (FAILED, "error-build-failed", True),
    ],
)
def test_what_did_not_stop_a_run_is_no_error(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, rule: str, told: bool) -> None:
    (tmp_path / "log").write_text(text)
    found = json.loads(run(capsys, "diagnose", str(tmp_path / "log"), "-f", "json", every_rule=True).out)["findings"]
    assert any(one["rule"] == rule and one["status"] == "matched" for one in found) is told
