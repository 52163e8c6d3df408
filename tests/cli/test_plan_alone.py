"""A plan and a GPU that are stated without any package: what is wrong with them by themselves is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

REFUSED = '[plan]\ntrainer = "llamafactory"\nmethod = "lora"\nengine = "deepspeed"\nzero_stage = {}\nquantization = "{}"\n'


@pytest.mark.parametrize(("stage", "quantization", "found"), [(3, "gptq-4bit", True), (2, "gptq-4bit", False), (3, "bnb-4bit", False)])
def test_a_quantized_model_under_zero_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: int, quantization: str, found: bool
) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text(REFUSED.format(stage, quantization), encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(facts), every_rule=True)
    assert ("llamafactory-zero3-of-a-quantized-model" in ran.out) is found
    assert ran.status == int(found)


def test_bfloat16_on_a_gpu_without_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text('[plan]\nmethod = "lora"\nprecision = "bf16"\n[gpu]\nname = "T4"\n', encoding="utf-8")
    assert "bf16-on-a-gpu-without-it" in run(capsys, "check", "--facts", str(facts)).out
    facts.write_text('[plan]\nmethod = "lora"\nprecision = "bf16"\n[gpu]\nname = "A10"\n', encoding="utf-8")
    assert "bf16-on-a-gpu-without-it" not in run(capsys, "check", "--facts", str(facts)).out
