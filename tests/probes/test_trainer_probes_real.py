"""``grad-accum``, ``resume`` and ``numpy-abi`` in one real environment, on the CPU: transformers 4.46.3 has the faults of two of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import grad_accum, numpy_abi, resume
from envdoctor.probes.probe import Probe
from envdoctor.probes.runner import Outcome, run_child
from tests.probes.test_lora_step_real import GOOD, patient

__all__ = ["patient"]

pytestmark = pytest.mark.probe


def run(interpreter: Path, probe: Probe, params: object) -> Outcome:
    assert isinstance(params, dict)
    return run_child(interpreter, probe.script, params, timeout=probe.timeout, memory_bytes=probe.memory_bytes)


def stated(**values: FactValue) -> Facts:
    return Facts().with_facts(Fact(name.replace("__", "."), value, Origin("test")) for name, value in values.items())


def test_gradients_of_4_46_depend_on_the_model(patient: Callable[[str], Path]) -> None:
    asked = {accepts: grad_accum.parameters(stated(plan__gradient_accumulation=4, model__loss_kwargs=accepts)) for accepts in (False, True)}
    outcome = run(patient(GOOD), grad_accum.PROBE, asked[False])
    assert outcome.measured is not None, outcome
    rulings = {accepts: grad_accum.judge(outcome.measured, params) for accepts, params in asked.items() if not isinstance(params, str)}
    assert rulings == {
        False: (
            "confirmed",
            "a model that takes no loss arguments moves 4 times as far with 4 accumulated rows as with a batch of 4:"
            " gradients are multiplied by the accumulation steps",
        ),
        True: ("refuted", "a model that takes loss arguments takes the same step with 4 accumulated rows as with a batch of 4"),
    }


def test_4_46_does_not_resume_under_torch_2_6(patient: Callable[[str], Path]) -> None:
    params = resume.parameters(stated(plan__resume=True))
    outcome = run(patient(GOOD), resume.PROBE, params)
    assert outcome.measured is not None, outcome
    assert isinstance(params, dict)
    ruling, reason = resume.judge(outcome.measured, params)
    assert ruling == "confirmed"
    assert reason.startswith(
        "one step trains and is saved; resuming failed: UnpicklingError: Weights only load failed: Unsupported global: GLOBAL numpy"
    )
    assert "rng_state.pth" in str(outcome.measured["files"])


def test_a_torch_for_numpy_2_is_refuted(patient: Callable[[str], Path]) -> None:
    outcome = run(patient(GOOD), numpy_abi.PROBE, {})
    assert outcome.measured is not None, outcome
    assert numpy_abi.judge(outcome.measured, {}) == ("refuted", "arrays go from numpy to torch and back, and keep their dtype")
