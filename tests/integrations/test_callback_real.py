"""The callback in a real Trainer run of a tiny model on the CPU: float16 LoRA of peft 0.11.1, which turns NaN, and of 0.12.0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.probes.test_lora_step_real import BAD, GOOD, STACK, build

pytestmark = pytest.mark.probe

RUN = Path(__file__).parent / "tiny_run.py"
ROOT = RUN.parent.parent.parent
DOCTOR = Path(sys.executable).parent / ("envdoctor.exe" if os.name == "nt" else "envdoctor")


def watched(peft: str, directory: Path, *pairs: str) -> list[dict[str, Any]]:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    environments = Path(kept).expanduser().absolute() if kept else directory / "environments"
    interpreter = build((*STACK, f"peft=={peft}"), environments)
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": ""}
    command = [str(interpreter), str(RUN), str(directory / "run"), str(DOCTOR), *pairs]
    done = subprocess.run(command, env=environ, cwd=directory, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_a_run_that_turns_nan_is_caught_before_and_during(tmp_path: Path) -> None:
    before, during = watched(BAD, tmp_path, "stop,stop", "off,stop")
    assert (before["unfit"], before["steps"], before["logged"]) == (["peft-fp16-adapter-nan"], 0, [])
    assert during["unfit"] is None
    assert (during["steps"], during["diagnoses"]) == (2, [["loss-zero", 2, ["peft-fp16-adapter-nan"]]])
    assert during["logged"][1] == {"loss": "0.0", "grad_norm": "nan"}
    expected = {"plan.method": "lora", "plan.load_dtype": "float16", "plan.optimizer": "adamw_torch", "plan.optimizer_eps": 1e-8}
    assert {name: during["facts"].get(name) for name in expected} == expected
    assert during["facts"]["model.type"] == "llama"


def test_a_healthy_run_is_left_alone(tmp_path: Path) -> None:
    (run,) = watched(GOOD, tmp_path, "stop,stop")
    assert (run["unfit"], run["steps"], run["diagnoses"]) == (None, 6, [])
    assert all(float(log["loss"]) > 0 for log in run["logged"] if "loss" in log)
