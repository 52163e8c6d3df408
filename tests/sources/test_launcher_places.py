"""What a launcher's script uses is that script's, whatever the launcher adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.cli import main

SCRIPT = """from unsloth import FastLanguageModel
from trl import SFTTrainer
from transformers import TrainingArguments
model, tok = FastLanguageModel.from_pretrained("x", load_in_4bit=True)
args = TrainingArguments(output_dir="o")
SFTTrainer(model=model, tokenizer=tok, dataset_text_field="text", max_seq_length=512, packing=False, args=args).train()
"""
PACKAGES = "pip install torch==2.7.1 transformers==4.53.3 trl==0.19.1 unsloth==2025.7.3\n"


@pytest.mark.parametrize("launcher", ["export HF_HOME=/models\npython train.py\n", "accelerate launch train.py\n"])
def test_what_a_wrapper_takes_is_let_be_behind_a_launcher_that_exports(
    launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    Path("run.sh").write_text(PACKAGES + launcher)
    assert main(["check", "run.sh"]) == 0
    assert "SFTTrainer" not in capsys.readouterr().out


def test_the_line_of_the_script_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n\nfrom transformers.deepspeed import HfDeepSpeedConfig\n")
    Path("run.sh").write_text("pip install transformers==4.53.3\nexport NCCL_P2P_DISABLE=1\naccelerate launch train.py\n")
    assert main(["check", "run.sh"]) == 1
    assert "train.py:3" in capsys.readouterr().out


def test_a_line_that_two_launchers_lead_to_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("from transformers.deepspeed import HfDeepSpeedConfig\n")
    for name in ("one.sh", "two.sh"):
        Path(name).write_text(f"accelerate launch train.py --name {name}\n")
    stated = ["--set", "packages.transformers=4.53.3"]
    assert main(["check", "--each", "train.py", "one.sh", "two.sh", *stated]) == 1
    assert "\n1 error, " in capsys.readouterr().out
