"""``padded-batch`` in real environments.

Mamba before transformers 4.45.0 did not apply the padding mask (huggingface/transformers#32677).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes.padded_batch import PROBE
from envdoctor.probes.runner import run_child
from tests.probes.test_lora_step_real import GOOD, STACK, build

pytestmark = pytest.mark.probe

BAD_PINS = ("torch==2.13.0", "transformers==4.44.2", "numpy<2")
GOOD_PINS = (*STACK, f"peft=={GOOD}")
MAMBA: dict[str, FactValue] = {
    "accelerator": "cpu",
    "model.type": "mamba",
    "plan.load_dtype": "float32",
    "plan.padding": True,
    "plan.padding_side": "left",
}


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return lambda pins: build(pins, directory)


def parameters(facts: dict[str, FactValue]) -> dict[str, object]:
    params = PROBE.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in facts.items()))
    assert not isinstance(params, str), params
    return dict(params)


def examine(interpreter: Path, params: dict[str, object]) -> tuple[str, str]:
    outcome = run_child(interpreter, PROBE.script, params, timeout=PROBE.timeout, memory_bytes=PROBE.memory_bytes)
    assert outcome.measured is not None, outcome
    return PROBE.judge(outcome.measured, params)


def test_a_mask_that_is_not_applied_is_confirmed_and_the_cures_are_measured(patient: Callable[[tuple[str, ...]], Path]) -> None:
    params = parameters(MAMBA)
    assert examine(patient(BAD_PINS), params) == (
        "confirmed",
        "eager, float32, padded on the left, on a CPU: padding moves the logits of real tokens by 0.02 of their norm"
        " (without any mask: 0.02); each row alone is well",
    )
    cures = {each.words: dict(each.params) for each in PROBE.variations(params)}
    assert examine(patient(BAD_PINS), cures["padding on the right"]) == (
        "refuted",
        "a padded batch computes what its rows compute alone on a CPU: eager; float32; padded on the right",
    )


def test_a_mask_that_is_applied_is_refuted(patient: Callable[[tuple[str, ...]], Path]) -> None:
    assert examine(patient(GOOD_PINS), parameters(MAMBA)) == (
        "refuted",
        "a padded batch computes what its rows compute alone on a CPU: eager; float32; padded on the left",
    )


def test_every_arrangement_of_a_llama_is_healthy(patient: Callable[[tuple[str, ...]], Path]) -> None:
    """All that a plan may leave open, in one child; rounding of half precision is no fault."""
    assert examine(patient(GOOD_PINS), parameters({"accelerator": "cpu", "model.type": "llama"})) == (
        "refuted",
        "a padded batch computes what its rows compute alone on a CPU: eager and sdpa; float32, bfloat16, float16;"
        " padded on the right and left",
    )
