"""What the fifth reading of public projects, and the eighth draw of people's own code, found told falsely."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.cli import main

STACK = '[packages]\ntorch = "2.15.0"\ntransformers = "5.23.0"\ntrl = "1.16.0"\npeft = "0.21.2"\n'
CELLS = ("!pip install torch==2.3.0 torchvision==0.18.0 torchaudio==2.3.0", "from transformers import Trainer\nTrainer(None).train()")
CELL: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
NOTEBOOK = json.dumps({"cells": [{**CELL, "source": [text]} for text in CELLS], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
UNSLOTH = (
    "{}from trl import SFTConfig, SFTTrainer\n"
    'args = SFTConfig(output_dir="o", warmup_ratio=0.05)\n'
    "SFTTrainer(model=None, args=args, processing_class=None).train()\n"
)


def status(tmp_path: Path, name: str, text: str) -> int:
    (tmp_path / "stack.toml").write_text(STACK)
    (tmp_path / name).write_text(text)
    return main(["check", str(tmp_path / name), "--facts", str(tmp_path / "stack.toml")])


def test_what_a_notebook_pins_goes_together_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(tmp_path, "nb.ipynb", NOTEBOOK) == 0
    out = capsys.readouterr().out
    assert "Two sources say different things of one fact" in out
    assert "torchvision" not in out
    assert "torchaudio" not in out


def test_unsloth_hands_warmup_ratio_on_for_trl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(tmp_path, "with_unsloth.py", UNSLOTH.format("import unsloth\n")) == 0
    assert status(tmp_path, "without.py", UNSLOTH.format("")) == 1
    assert "warmup_ratio" in capsys.readouterr().out


def test_what_the_hub_drops_with_a_warning_is_not_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hub.toml").write_text('[packages]\nhuggingface-hub = "2.4.0"\n')
    call = 'snapshot_download("x/y", resume_download=True, local_dir_use_symlinks=False, token="t")'
    (tmp_path / "get.py").write_text(f"from huggingface_hub import snapshot_download\n{call}\n")
    assert main(["check", str(tmp_path / "get.py"), "--facts", str(tmp_path / "hub.toml")]) == 0
    (tmp_path / "get.py").write_text('from huggingface_hub import snapshot_download\nsnapshot_download("x/y", use_auth_token="t")\n')
    assert main(["check", str(tmp_path / "get.py"), "--facts", str(tmp_path / "hub.toml")]) == 1
    assert "use_auth_token" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "expected"), [("use_cache=True", 0), ("use_cache=True, gradient_checkpointing=True", 1), ("learning_rate=1e-4", 1)]
)
def test_a_cache_that_the_arguments_leave_on_is_heard(tmp_path: Path, setting: str, expected: int) -> None:
    (tmp_path / "five.toml").write_text('[packages]\ntransformers = "5.5.0"\n')
    (tmp_path / "train.py").write_text(
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
        'model = AutoModelForCausalLM.from_pretrained("google/gemma-4-E2B-it")\n'
        f'Trainer(model, TrainingArguments(output_dir="o", {setting})).train()\n'
    )
    assert main(["check", str(tmp_path / "train.py"), "--facts", str(tmp_path / "five.toml")]) == expected
