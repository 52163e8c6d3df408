"""The closed form against what real modules counted under fake tensors: layer by layer, and at the peak (docs/memory-terms.md)."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.probes.test_lora_step_real import GOOD, STACK, build

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
page = import_module("terms_page")
COUNTED: dict[str, Any] = json.loads(page.FIXTURE.read_text())
ROWS: list[dict[str, Any]] = COUNTED["rows"]
LAYERS = [row for row in ROWS if row["layer"]]


def closed(row: dict[str, Any]) -> tuple[float, float]:
    layer, peak = page.closed(COUNTED["models"][row["model"]], page.plan_of(row["plan"], row["versions"]))
    return float(layer), float(peak)


def named(row: dict[str, Any]) -> str:
    return f"{row['name']}, {row['title']}, {row['versions']['transformers']}"


def test_what_a_layer_keeps_is_what_was_counted() -> None:
    errors = {named(row): closed(row)[0] / row["layer"] - 1 for row in LAYERS}
    assert len(errors) > 150
    assert median(map(abs, errors.values())) < 0.001
    # Nemotron's norm of that release casts by functions of CUDA's autocast, which a CPU does not have.
    del errors["Minitron-4B, full, float32 under autocast, 4.48.1"]
    assert {name: error for name, error in errors.items() if abs(error) > 0.06} == {}


def test_the_peak_is_near_what_was_counted() -> None:
    errors = {named(row): closed(row)[1] / row["allocated"] - 1 for row in ROWS}
    assert median(map(abs, errors.values())) < 0.015
    assert {name: error for name, error in errors.items() if abs(error) > 0.15} == {}
    assert sum(abs(error) > 0.05 for error in errors.values()) < 0.12 * len(errors)


@pytest.mark.probe
def test_another_environment_counts_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    interpreter = build((*STACK, f"peft=={GOOD}"), tmp_path_factory.mktemp("environments"))
    compare = import_module("compare_terms")
    wanted = {("Llama-3.2-3B", "full"), ("Qwen2.5-7B", "LoRA, autocast"), ("gpt2-xl", "full, eager"), ("phi-2", "LoRA")}
    jobs = [one for one in compare.jobs() if (one["name"], one["plan"]) in wanted]
    (found,) = compare.measure([str(interpreter)], jobs)
    for one, counted in zip(jobs, found, strict=True):
        layer, peak = page.closed(one["params"]["config"], page.plan_of(one["params"], counted["versions"]))
        assert layer == pytest.approx(counted["layer"], rel=0.01), one["name"]
        assert peak == pytest.approx(counted["allocated"], rel=0.06), one["name"]
