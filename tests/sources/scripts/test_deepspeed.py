"""DeepSpeed as a loop of one's own asks for it, and Liger as a class does."""

from __future__ import annotations

from pathlib import Path

import pytest

from .situations import read, values

LOOP = "for batch in []:\n    loss = model(batch)\n    accelerator.backward(loss)\n"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=4)", (True, "zero3", 4, "none")),
        ("DeepSpeedPlugin(offload_optimizer_device='cpu')", (True, "zero2", None, "optimizer")),
        ("DeepSpeedPlugin(hf_ds_config={'zero_optimization': {'stage': 1}})", (True, "zero1", None, None)),
        ("DeepSpeedPlugin(zero_stage=stage, offload_param_device=where)", (True, None, None, None)),
    ],
)
def test_a_plugin_says_the_stage(tmp_path: Path, asked: str, told: tuple[object, ...]) -> None:
    text = f"from accelerate import Accelerator, DeepSpeedPlugin\naccelerator = Accelerator(deepspeed_plugin={asked})\n{LOOP}"
    found = values(read(tmp_path, text))
    assert tuple(found.get(f"plan.{name}") for name in ("deepspeed", "distributed", "gradient_accumulation", "offload")) == told


@pytest.mark.parametrize("keyword", ["config", "config_params"])
def test_an_engine_says_the_stage_of_its_configuration(tmp_path: Path, keyword: str) -> None:
    configuration = "{'zero_optimization': {'stage': 2}}"
    text = f"import deepspeed\nengine, *_ = deepspeed.initialize(model=m, {keyword}={configuration})\nengine.backward(x)\n"
    found = values(read(tmp_path, text))
    assert (found["plan.deepspeed"], found["plan.distributed"]) == (True, "zero2")


def test_the_class_of_liger_is_liger(tmp_path: Path) -> None:
    text = "from liger_kernel.transformers import AutoLigerKernelForCausalLM\nAutoLigerKernelForCausalLM.from_pretrained('a/b')\n"
    assert values(read(tmp_path, text))["plan.liger"] is True
