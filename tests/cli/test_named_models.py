"""A model that a script or a plan names by its path is read as if it were a target."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.run import run

SCRIPT = """\
import torch
from transformers import AutoModel, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
model = AutoModel.from_pretrained("{path}", trust_remote_code=True, torch_dtype=torch.float16)
model = get_peft_model(model, LoraConfig(r=8))
Trainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=1)).train()
"""
PLAN = "model_name_or_path: {path}\nstage: sft\nfinetuning_type: lora\ndataset: identity\ntemplate: chatglm3\noutput_dir: out\n"
FACTS = '[packages]\ntorch = "2.1.2"\ntransformers = "4.38.2"\npeft = "0.11.1"\n'


@pytest.fixture
def project(tmp_path: Path, fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "configs").mkdir()
    shutil.copytree(fixtures / "chatglm3-6b", tmp_path / "chatglm3-6b")
    (tmp_path / "facts.toml").write_text(FACTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "path"),
    [
        ("train.py", SCRIPT, "./chatglm3-6b"),
        ("configs/train.py", SCRIPT, "chatglm3-6b"),
        ("configs/lora.yaml", PLAN, "./chatglm3-6b"),
        ("lora.yaml", PLAN, "{here}/chatglm3-6b"),
    ],
)
def test_the_named_model_is_examined(capsys: pytest.CaptureFixture[str], project: Path, name: str, text: str, path: str) -> None:
    (project / name).write_text(text.format(path=path.format(here=project)))
    ran = run(capsys, "check", name, "--facts", "facts.toml", "--isolated", "--format", "json")
    assert ran.json["facts"]["model.type"]["value"] == "chatglm"
    assert ran.json["facts"]["model.family"]["value"] == "chatglm3"


def test_a_model_that_is_a_target_is_the_one(capsys: pytest.CaptureFixture[str], project: Path, fixtures: Path) -> None:
    (project / "train.py").write_text(SCRIPT.format(path="./chatglm3-6b"))
    ran = run(
        capsys, "check", "train.py", str(fixtures / "qwen2.5-0.5b-instruct"), "--facts", "facts.toml", "--isolated", "--format", "json"
    )
    assert ran.json["facts"]["model.type"]["value"] == "qwen2"


def test_a_folder_that_is_not_there_is_no_model(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "train.py").write_text(SCRIPT.format(path="./somewhere-else"))
    ran = run(capsys, "check", "train.py", "--facts", "facts.toml", "--isolated", "--format", "json")
    assert "model.path" not in ran.json["facts"]


LAUNCHER = """\
torchrun --nproc_per_node 8 finetune.py --model_name_or_path $MODEL --bf16 True --output_dir out --deepspeed ds_config_zero{}.json
"""
CARDS = '[gpu]\nname = "8 x A800 80GB"\n[model]\nid = "{}"\n[plan]\nmethod = "LoRA"\nload_in_4bit = false\n'


@pytest.mark.parametrize(
    ("stage", "model", "found"),
    [(2, "Qwen/Qwen-72B", True), (3, "Qwen/Qwen-72B", False), (2, "Qwen/Qwen-14B", False), (2, "somebody/my-72B", False)],
)
def test_a_model_that_is_not_at_hand_is_too_large_by_its_name(
    capsys: pytest.CaptureFixture[str], project: Path, stage: int, model: str, found: bool
) -> None:
    (project / "run.sh").write_text(LAUNCHER.format(stage))
    (project / "cards.toml").write_text(CARDS.format(model))
    ran = run(capsys, "check", "run.sh", "--facts", "cards.toml", "--isolated", "--format", "json")
    ids = [one["rule"] for one in ran.json["findings"] if one["status"] == "matched"]
    assert ("plan-exceeds-gpu-memory" in ids) is found
    assert ran.json["facts"]["plan.distributed"]["value"] == f"zero{stage}"
