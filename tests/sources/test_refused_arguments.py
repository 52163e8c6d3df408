"""Settings of TrainingArguments that exclude each other, as scripts, plans and launchers have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.plans.reading import collect, stated
from tests.sources.scripts.situations import read, values

BEST, TWO = "best-model-not-saved-at-evaluations", "fp16-and-bf16"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("load_best_model_at_end=True, eval_strategy='epoch'", BEST),
        ("load_best_model_at_end=True, save_strategy='no', evaluation_strategy='steps'", BEST),
        ("load_best_model_at_end=True", BEST),
        ("load_best_model_at_end=True, eval_strategy='steps', eval_steps=200", BEST),
        ("load_best_model_at_end=True, eval_strategy=IntervalStrategy.EPOCH, save_strategy='epoch'", None),
        ("load_best_model_at_end=True, eval_strategy='steps', logging_steps=100", None),
        ("load_best_model_at_end=True, eval_strategy='epoch', save_strategy='best'", None),
        ("load_best_model_at_end=True, eval_strategy='steps', eval_steps=0.2, save_steps=0.3", None),
        ("load_best_model_at_end=True, eval_strategy=chosen", None),
        ("load_best_model_at_end=True, eval_strategy='epoch', **more", None),
        ("load_best_model_at_end=best, eval_strategy='epoch'", None),
        ("eval_strategy='epoch'", None),
        ("fp16=True, bf16=True", TWO),
        ("fp16=not supported(), bf16=supported()", None),
    ],
)
def test_what_a_script_asks_for_together(tmp_path: Path, arguments: str, told: str | None) -> None:
    text = f"""
    from transformers import IntervalStrategy, Trainer, TrainingArguments
    arguments = TrainingArguments("out", {arguments})
    Trainer(model=model, args=arguments).train()
    """
    assert values(read(tmp_path, text)).get("plan.refused_arguments") == ((told,) if told else None)


PLAN = "stage: sft\nfinetuning_type: lora\nmodel_name_or_path: org/model\ntemplate: qwen\ndataset: rows\noutput_dir: out\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("load_best_model_at_end: true\neval_strategy: no\n", BEST),
        ("load_best_model_at_end: true\neval_strategy: steps\neval_steps: 200\nsave_steps: 400\n", None),
        ("bf16: true\nfp16: true\n", TWO),
    ],
)
def test_what_a_plan_asks_for_together(tmp_path: Path, more: str, told: str | None) -> None:
    assert stated(collect(tmp_path, PLAN + more)).get("plan.refused_arguments") == ((told,) if told else None)
