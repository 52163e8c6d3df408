"""A script that shows all it loads and names no chat template asks for none; trl renders conversations by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

SCRIPT = """
from transformers import AutoModelForCausalLM, AutoTokenizer{more}
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
{line}
"""
CASES = (
    (", Trainer", "Trainer(model, train_dataset=[]).train()", "none"),
    (", Trainer", "Trainer(model, train_dataset=[tokenizer.apply_chat_template([])]).train()", "possible"),
    (", Trainer", "render = tokenizer.apply_chat_template\nTrainer(model, train_dataset=map(render, [])).train()", "possible"),
    (", pipeline", 'pipeline("text-generation", model=model, tokenizer=tokenizer)("a")', "possible"),
    ("\nfrom trl import SFTTrainer", "SFTTrainer(model, train_dataset=[]).train()", "possible"),
    (", Trainer\nimport mine", "Trainer(model, train_dataset=mine.rows).train()", "possible"),
)


@pytest.mark.parametrize(("more", "line", "status"), CASES)
def test_who_asks_for_a_chat_template(capsys: pytest.CaptureFixture[str], tmp_path: Path, more: str, line: str, status: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(more=more, line=line))
    stated = ("--set", "packages.transformers===4.46.3", "--set", "packages.trl===0.12.2", "--set", "packages.torch===2.5.1")
    found = json.loads(run(capsys, "check", str(script), *stated, "-f", "json").out)["findings"]
    told = [one["status"] for one in found if one["rule"] == "chat-template-missing"]
    assert (told or ["none"]) == [status]
