"""An unset setting is no unknown: no finding waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

GLM = ("packages.torch=2.5.0", "packages.transformers=4.46.3", "gpu.name=H100", "plan.batch_size=4")


@pytest.mark.parametrize("model", ["model.id=zai-org/glm-4-9b-chat", "model.id=zai-org/glm-4-9b-chat-hf", "model.family=glm-4"])
def test_a_padded_batch_of_glm_4_on_a_hopper_card(capsys: pytest.CaptureFixture[str], model: str, tmp_path: Path) -> None:
    (tmp_path / "stack.toml").write_text("".join(f"{line.replace('=', ' = ' + chr(34), 1)}{chr(34)}\n" for line in (*GLM[:3], model)))
    ran = run(capsys, "check", "--facts", str(tmp_path / "stack.toml"), "--set", GLM[3], "--format", "json")
    found = {one["rule"]: one["status"] for one in ran.json["findings"]}
    assert found["torch-2-5-0-sdpa-mask-nan"] == "matched"
    assert ran.status == 1


def test_a_default_is_told_as_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "stack.toml").write_text('packages.torch = "2.5.0"\n')
    ran = run(capsys, "check", "--facts", str(tmp_path / "stack.toml"), "--set", "plan.trainer=transformers", "--format", "json")
    assert ran.json["facts"]["plan.quant"] == {"value": "none", "source": "default of from_pretrained"}
    assert ran.json["facts"]["plan.batch_size"]["source"] == "default of TrainingArguments"


def test_no_plan_has_no_defaults(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.0\n")
    ran = run(capsys, "check", str(tmp_path / "requirements.txt"), "--format", "json")
    assert not any(name.startswith("plan.") for name in ran.json["facts"])


def test_a_script_whose_command_line_decides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments\n"
        "(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        "model = AutoModelForCausalLM.from_pretrained('org/model')\n"
        "Trainer(model=model, args=arguments).train()\n"
    )
    ran = run(capsys, "check", str(script), "--set", "packages.transformers=4.46.3", "--format", "json")
    facts = ran.json["facts"]
    assert facts["plan.quant"]["value"] == "none"
    assert "plan.fp16" not in facts
    assert "plan.batch_size" not in facts


@pytest.mark.parametrize(("more", "status"), [("", None), ("tf32: true\n", "matched"), ("tf32: false\n", None)])
def test_tf32_is_off_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path, more: str, status: str | None) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(f"model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\n{more}")
    ran = run(
        capsys, "check", str(plan), "--set", "packages.transformers===4.46.3", "--set", "gpu.name=V100", "-f", "json", every_rule=True
    )
    told = {one["rule"]: one["status"] for one in ran.json["findings"]}
    assert told.get("training-arguments-tf32-before-ampere") == status
