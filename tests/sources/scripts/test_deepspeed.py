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
        ("DeepSpeedPlugin(hf_ds_config={'zero_optimization': {'stage': 1}})", (True, "zero1", None, "none")),
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


@pytest.mark.parametrize(
    ("configuration", "told"),
    [
        ("{'zero_optimization': {'stage': 2, 'offload_optimizer': {'device': 'cpu'}}, 'gradient_accumulation_steps': 8}", ("optimizer", 8)),
        ("{'zero_optimization': {'stage': 3, 'offload_param': {'device': where}}}", (None, None)),
        ("'ds.json'", ("both", 4)),
    ],
)
def test_what_a_configuration_of_ones_own_moves_and_accumulates(tmp_path: Path, configuration: str, told: tuple[object, ...]) -> None:
    zero = '{"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}'
    (tmp_path / "ds.json").write_text(f'{{"zero_optimization": {zero}, "gradient_accumulation_steps": 4}}')
    text = f"import deepspeed\nengine, *_ = deepspeed.initialize(model=m, config={configuration})\nengine.backward(x)\n"
    found = values(read(tmp_path, text))
    assert (found.get("plan.offload"), found.get("plan.gradient_accumulation")) == told


@pytest.mark.parametrize(("before", "told"), [("", False), ("with deepspeed.zero.Init():\n    m = M()\n", None)])
def test_an_engine_of_ones_own_takes_the_model_as_it_was_made(tmp_path: Path, before: str, told: bool | None) -> None:
    text = f"import deepspeed\n{before}engine, *_ = deepspeed.initialize(model=m, config={{}})\nengine.backward(x)\n"
    assert values(read(tmp_path, text)).get("plan.zero_init") is told


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("r=8", ()),
        ("task_type='SEQ_CLS'", ("classifier", "score")),
        ("task_type=TaskType.TOKEN_CLS", ("classifier", "score")),
        ("task_type='CAUSAL_LM', modules_to_save=['lm_head']", ("lm_head",)),
        ("task_type=asked", None),
        ("**settings", None),
    ],
)
def test_what_is_trained_in_full_beside_an_adapter(tmp_path: Path, settings: str, told: tuple[str, ...] | None) -> None:
    text = f"from peft import LoraConfig, TaskType, get_peft_model\nmodel = get_peft_model(m, LoraConfig({settings}))\n"
    assert values(read(tmp_path, text)).get("plan.modules_to_save") == told
