"""Values of a DeepSpeed configuration that are left to the Trainer, which fills in a fixed list of keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sources.plans.reading import collect

UNFILLED = "plan.deepspeed_unfilled"


def told(tmp_path: Path, settings: dict[str, object]) -> list[tuple[object, int | None]]:
    facts = collect(tmp_path, json.dumps({"train_micro_batch_size_per_gpu": "auto", **settings}, indent=1), "ds.json").facts
    return [(fact.value, fact.origin.line) for fact in facts if fact.name == UNFILLED]


@pytest.mark.parametrize(
    ("settings", "left", "line"),
    [
        ({"zero_optimization": {"stage": 3, "prefetch_bucket_size": "auto"}}, ("zero_optimization.prefetch_bucket_size",), 5),
        (
            {"zero_optimization": {"allgather_bucket_size": "auto", "overlap_comm": "auto"}},
            ("zero_optimization.allgather_bucket_size", "zero_optimization.overlap_comm"),
            4,
        ),
        ({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "auto"}}}, ("scheduler.params.warmup_type",), 6),
    ],
)
def test_what_nobody_fills_in(tmp_path: Path, settings: dict[str, object], left: tuple[str, ...], line: int) -> None:
    assert told(tmp_path, settings) == [(left, line)]


@pytest.mark.parametrize(
    "settings",
    [
        {"zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}},
        {"optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}}, "bf16": {"enabled": "auto"}},
        {"autotuning": {"enabled": True}, "zero_optimization": {"overlap_comm": "auto"}},
    ],
)
def test_what_the_trainer_fills_in(tmp_path: Path, settings: dict[str, object]) -> None:
    assert told(tmp_path, settings) == []
