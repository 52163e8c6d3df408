"""What files bring into a freeze that is otherwise all there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

FREEZE = "torch==2.8.0\ntransformers==4.57.6\naccelerate==1.12.0\ntrl==0.24.0\ndatasets==4.4.1\npeft==0.18.0\n"
RUN = (
    "from trl import GRPOConfig, GRPOTrainer\n"
    "args = GRPOConfig(output_dir='x', use_vllm=True, report_to='none')\n"
    "GRPOTrainer(model='Qwen/Qwen3-0.6B', args=args, reward_funcs=[], train_dataset=None).train()\n"
)


def missing(capsys: pytest.CaptureFixture[str], folder: Path, *targets: str) -> list[str]:
    (folder / "freeze.txt").write_text(FREEZE)
    told = run(capsys, "check", *(str(folder / one) for one in targets), "--facts", str(folder / "freeze.txt"), "--format", "json").json
    return [one["edge"] for one in told["findings"] if one["rule"] == "plan-package-missing"]


@pytest.mark.parametrize(
    ("install", "lacking"),
    [("trl[vllm]", []), ("-Uq 'trl[vllm]' trackio", []), ("vllm", []), ("trl", ["vllm"]), ("'trl[peft]'", ["vllm"]), ("lm-eval", ["vllm"])],
)
def test_a_notebook_that_installs_an_extra_does_not_lack_what_it_brings(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, install: str, lacking: list[str]
) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": [text]} for text in (f"!pip install {install}\n", RUN)]
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert missing(capsys, tmp_path, "train.ipynb") == lacking


def test_a_requirements_file_brings_what_its_packages_need(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RUN)
    (tmp_path / "requirements.txt").write_text("trl[vllm]\n")
    assert missing(capsys, tmp_path, "train.py", "requirements.txt") == []
    (tmp_path / "requirements.txt").write_text("trl\n")
    assert missing(capsys, tmp_path, "train.py", "requirements.txt") == ["vllm"]
