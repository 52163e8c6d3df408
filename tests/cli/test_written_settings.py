"""A cure that sets something of a plan is said as the file at hand says it: a line to paste, and no name of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.app.written import _new_lines
from tests.cli.run import run

FLASH = ("packages.flash-attn===2.5.8", "packages.torch===2.3.1", "packages.transformers===4.46.3", "gpu.name=T4")
AXOLOTL = "base_model: a/b\nadapter: lora\nmicro_batch_size: 2\nflash_attention: true\n"
LLAMA_FACTORY = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\nflash_attn: fa2\n"
SCRIPT = """
import torch
from {module} import {arguments}
from transformers import AutoModelForCausalLM, {trainer}
from peft import LoraConfig, get_peft_model

model = AutoModelForCausalLM.from_pretrained("a/b", torch_dtype=torch.bfloat16{more})
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))
args = {arguments}("out", gradient_checkpointing=True)
{trainer}(model=model, args=args, train_dataset=[]).train()
"""
OF_TRANSFORMERS = {"module": "transformers", "arguments": "TrainingArguments", "trainer": "Trainer"}
REENTRANT = ("packages.peft===0.13.2", "packages.torch===2.3.1", "packages.transformers===4.46.3")

SAID = (
    ("plan.yaml", AXOLOTL, FLASH, "flash-attn-2-needs-ampere", "flash_attention: false, sdp_attention: true in plan.yaml"),
    ("plan.yaml", LLAMA_FACTORY, FLASH, "flash-attn-2-needs-ampere", "flash_attn: sdpa in plan.yaml"),
    (
        "train.py",
        SCRIPT.format(more=', attn_implementation="flash_attention_2"', **OF_TRANSFORMERS),
        FLASH,
        "flash-attn-2-needs-ampere",
        'attn_implementation="sdpa" in from_pretrained',
    ),
    (
        "train.py",
        SCRIPT.format(more="", **OF_TRANSFORMERS),
        REENTRANT,
        "lora-checkpointing-without-input-grads",
        'gradient_checkpointing_kwargs={"use_reentrant": False}',
    ),
)


@pytest.mark.parametrize(("file", "text", "stated", "rule", "said"), SAID)
def test_a_setting_is_said_in_the_words_of_the_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    file: str, text: str, stated: tuple[str, ...], rule: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(text)
    words = ["check", file, *(word for one in stated for word in ("--set", one))]
    found = json.loads(run(capsys, *words, "-f", "json").out)["findings"]
    (cures,) = (one["fixes"] for one in found if one["rule"] == rule)
    assert next(cure for cure in cures if cure["kind"] == "plan")["written"] == said


def test_the_fix_is_a_line_of_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(AXOLOTL)
    words = ["check", "plan.yaml", *(word for one in FLASH for word in ("--set", one))]
    assert "  fix: set flash_attention: false, sdp_attention: true in plan.yaml\n" in run(capsys, *words).out


def test_what_a_plan_has_no_setting_for_is_said_by_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["check", *(word for one in (*FLASH, "plan.attn=flash_attention_2") for word in ("--set", one))]
    assert "fix: set plan.attn = sdpa" in run(capsys, *words).out


def test_who_calls_from_pretrained_by_itself_is_told_of_no_call(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(LLAMA_FACTORY)
    words = ["check", "plan.yaml", *(word for one in (*FLASH, "plan.load_dtype=float32") for word in ("--set", one))]
    found = json.loads(run(capsys, *words, "-f", "json").out)["findings"]
    assert not [cure for one in found for cure in one["fixes"] if "from_pretrained" in cure.get("written", "")]


def test_every_key_of_a_group_is_said_once() -> None:
    before = b"optim: a\nlr: 1\n"
    after = b"optim: b\nlr: 1\nkwargs:\n  one: 1\n  two: 2\nlast: 3\n"
    assert list(_new_lines(before, after)) == ["optim: b", "kwargs: {one: 1, two: 2}", "last: 3"]
