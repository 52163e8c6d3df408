"""An argument that a release refuses is shown at its own line: of a command, of a plan, of a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

COMMAND = (
    "python train.py \\\n  --model_name_or_path x \\\n  --output_dir out \\\n  --evaluation_strategy steps \\\n"
    "  --per_device_train_batch_size 1\n"
)
PARSER = (
    "from transformers import HfArgumentParser, TrainingArguments\n"
    "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
)
PLAN = "model_name_or_path: x\noutput_dir: out\nstage: sft\nevaluation_strategy: steps\n"
CALL = "from transformers import TrainingArguments\na = TrainingArguments(\n    output_dir='x',\n    evaluation_strategy='no',\n)\n"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("run.sh", COMMAND, "--evaluation_strategy steps \\"),
        ("plan.yaml", PLAN, "evaluation_strategy: steps"),
        ("own.py", CALL, "evaluation_strategy='no',"),
    ],
)
def test_an_argument_is_shown_at_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, text: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PARSER)
    (tmp_path / name).write_text(text)
    (tmp_path / "facts.toml").write_text('[packages]\ntransformers = "5.0.0"\n')
    assert f"{name}:4 | {line}" in run(capsys, "check", name, "--facts", "facts.toml").out
