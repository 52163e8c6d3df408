"""Numbers that a DeepSpeed configuration and TrainingArguments say differently, in scripts, plans and launchers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.sources.launches.launcher import collect_launcher
from tests.sources.plans.reading import collect
from tests.sources.scripts.situations import read, values

FILE = {
    "fp16": {"enabled": True},
    "zero_optimization": {"stage": 2},
    "train_micro_batch_size_per_gpu": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 1e-4, "warmup_num_steps": 500}},
}
LR = ("optimizer.params.lr 0.0001 against learning_rate 2e-05", "scheduler.params.warmup_max_lr 0.0001 against learning_rate 2e-05")


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text(json.dumps(FILE))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("learning_rate=2e-5, fp16=True, warmup_steps=500", LR),
        ("learning_rate=1e-4, warmup_steps=500", ("fp16.enabled true against fp16 false",)),
        ("learning_rate=1e-4, fp16=True", ("scheduler.params.warmup_num_steps 500 against warmup_steps 0",)),
        ("learning_rate=1e-4, fp16=True, warmup_steps=500", None),
        ("learning_rate=1e-4, fp16=True, warmup_ratio=0.1", None),
        ("learning_rate=rate, fp16=half, warmup_steps=500", None),
        ("learning_rate=1e-4, warmup_steps=500, **more", None),
    ],
)
def test_a_script_beside_the_file_that_it_names(tmp_path: Path, arguments: str, told: tuple[str, ...] | None) -> None:
    text = f"""
    from transformers import Trainer, TrainingArguments
    arguments = TrainingArguments("out", {arguments}, deepspeed="ds.json")
    Trainer(model=model, args=arguments).train()
    """
    assert values(read(tmp_path, text)).get("plan.deepspeed_differs") == told


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('{"gradient_accumulation_steps": 4}', ("gradient_accumulation_steps 4 against gradient_accumulation_steps 1",)),
        ('{"train_micro_batch_size_per_gpu": "8"}', ('train_micro_batch_size_per_gpu "8" against per_device_train_batch_size 8',)),
        ('{"gradient_accumulation_steps": steps, "fp16": {"enabled": "auto"}}', None),
        ('{"train_batch_size": 99, "gradient_clipping": 1}', None),
    ],
)
def test_a_configuration_that_is_written_out(tmp_path: Path, settings: str, told: tuple[str, ...] | None) -> None:
    text = f"""
    from transformers import Trainer, TrainingArguments
    arguments = TrainingArguments("out", deepspeed={settings})
    Trainer(model=model, args=arguments).train()
    """
    assert values(read(tmp_path, text)).get("plan.deepspeed_differs") == told


def test_a_launcher_and_a_plan_are_held_to_what_they_give(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "torchrun --nproc_per_node 2 t.py --deepspeed ds.json --learning_rate 2e-5 --fp16 True --output_dir o\n"
    )
    facts = {fact.name: fact.value for fact in collect_launcher(tmp_path / "run.sh").facts}
    assert facts["plan.deepspeed_differs"] == LR
    plan = "model_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\ndeepspeed: ds.json\nfp16: false\noutput_dir: o\n"
    found = collect(tmp_path, plan)
    assert {fact.name: fact.value for fact in found.facts}["plan.deepspeed_differs"] == ("fp16.enabled true against fp16 false",)
