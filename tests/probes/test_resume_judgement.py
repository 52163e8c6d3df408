"""What ``resume`` assumes of a plan, and what it makes of a measurement: without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import resume
from tests.probes.anything import like

GOOD: dict[str, Any] = {"versions": {"torch": "2.13.0+cpu"}, "steps": [1, 2], "files": ["optimizer.pt"], "error": None}


def failed(message: str, *, during: str = "resuming", kind: str = "UnpicklingError", steps: tuple[int, ...] = (1,)) -> dict[str, Any]:
    return GOOD | {"steps": list(steps), "error": {"during": during, "type": kind, "message": message}}


VULNERABLE = "Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch"


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (GOOD, "refuted", "a run of one step is saved, and a new Trainer takes the second step from its checkpoint"),
        (
            failed("Weights only load failed. This\nfile can be. Unsupported global: GLOBAL numpy._core.multiarray._reconstruct was"),
            "confirmed",
            "one step trains and is saved; resuming failed: UnpicklingError: Weights only load failed:"
            " Unsupported global: GLOBAL numpy._core.multiarray._reconstruct",
        ),
        (
            failed(VULNERABLE, kind="ValueError"),
            "confirmed",
            f"one step trains and is saved; resuming failed: ValueError: {VULNERABLE}",
        ),
        (
            failed("Unsupported class numpy.core.multiarray"),
            "confirmed",
            "one step trains and is saved; resuming failed: UnpicklingError: Unsupported class numpy.core.multiarray",
        ),
        (
            failed("No space left on device", kind="OSError"),
            "inconclusive",
            "resuming failed: OSError: No space left on device",
        ),
        (
            failed("Weights only load failed", during="training and saving", steps=()),
            "inconclusive",
            "training and saving failed: UnpicklingError: Weights only load failed",
        ),
        (GOOD | {"steps": [1]}, "inconclusive", "no run was saved and resumed"),
        (GOOD | {"error": "boom"}, "inconclusive", "a step failed: an error: "),
        ({}, "inconclusive", "no run was saved and resumed"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert resume.judge(measured, {"assumed": []}) == (ruling, reason)


@given(measured=like(failed("Weights only load failed")), params=like({"assumed": ["x"]}))
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = resume.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(Fact("plan." + name, value, Origin("test")) for name, value in values.items())


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (facts(), {"assumed": []}),
        (facts(resume=True, optimizer="adamw_torch_fused"), {"assumed": []}),
        (facts(optimizer="paged_adamw_8bit"), {"assumed": ["adamw_torch in place of paged_adamw_8bit"]}),
        (facts(distributed="fsdp"), "checkpoints of fsdp are others than this probe writes"),
        (facts(deepspeed=True), "checkpoints of DeepSpeed are others than this probe writes"),
    ],
)
def test_what_is_run_for_a_plan(stated: Facts, expected: object) -> None:
    assert resume.parameters(stated) == expected


def test_what_was_assumed_is_said() -> None:
    assert resume.judge(GOOD, {"assumed": ["adamw_torch in place of adafactor"]})[1].endswith(
        "from its checkpoint (assumed: adamw_torch in place of adafactor)"
    )
