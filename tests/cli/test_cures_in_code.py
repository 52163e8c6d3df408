"""A setting that stands in a script is cured in the script: its line is shown, and nobody is told to set a fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

REQUIREMENTS = "transformers==4.46.1\nbitsandbytes==0.43.1\npeft==0.13.2\n"
SCRIPT = """\
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
config = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", quantization_config=config, load_in_4bit=True)
model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(r=8))
"""


def test_the_line_of_the_script_is_shown_and_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, encoding="utf-8")
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = run(capsys, "check", "requirements.txt", "train.py")
    assert ran.status == 1
    shown = ran.out[ran.out.index("error: load_in_4bit") :].splitlines()
    assert shown[1] == "  train.py:4  [quantization-config-beside-load-in-bits]"
    top = ran.out[ran.out.index("To fix both findings") : ran.out.index("error: load_in_4bit")]
    assert "  change the code: pass only" in top
    assert '  pip install "bitsandbytes==0.43.2"' in top
    assert "fix: pass only quantization_config=BitsAndBytesConfig(load_in_4bit=True, ...)" in ran.out
    assert "set plan.load_in_4bit" not in ran.out
    mended = SCRIPT.replace(", load_in_4bit=True)\n", ")\n")
    (tmp_path / "train.py").write_text(mended, encoding="utf-8")
    assert "quantization-config-beside" not in run(capsys, "check", "requirements.txt", "train.py").out
