"""What ``triu-bf16`` runs for a plan and makes of a measurement: without torch and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import triu_bf16
from tests.probes.gpu_facts import H100, ON_H100, anything, bent, situations, stated, with_gpu

PARAMS: dict[str, Any] = {"dtypes": ["bfloat16", "float32"]}
LACKING = "\"triu_tril_cuda_template\" not implemented for 'BFloat16'"


def called(name: str, dtype: str, message: str | None = None, *, right: bool = True) -> dict[str, Any]:
    error = None if message is None else {"type": "RuntimeError", "message": message}
    return {"name": name, "dtype": dtype, "right": right and error is None, "error": error}


def calls(bfloat16: str | None = None, float32: str | None = None, *, right: bool = True) -> list[dict[str, Any]]:
    return [
        *(called(name, "bfloat16", bfloat16, right=right) for name in ("triu", "tril")),
        *(called(name, "float32", float32) for name in ("triu", "tril")),
    ]


GOOD: dict[str, Any] = {"versions": {"torch": "2.1.0"}, "gpu": H100, "calls": calls(), "peak_mib": 0.0}


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (GOOD, "refuted", f"triu and tril in bfloat16 and float32 {ON_H100} give the numbers of the CPU"),
        (GOOD | {"calls": calls(LACKING)}, "confirmed", f"triu and tril in bfloat16 {ON_H100}: {LACKING}"),
        (
            GOOD | {"calls": calls(LACKING, "CUDA error: out of memory")},
            "inconclusive",
            f"triu in float32 {ON_H100} failed in another way: CUDA error: out of memory",
        ),
        (
            GOOD | {"calls": calls("CUDA error: no kernel image is available")},
            "inconclusive",
            f"triu in bfloat16 {ON_H100} failed in another way: CUDA error: no kernel image is available",
        ),
        (
            GOOD | {"calls": calls(right=False)},
            "inconclusive",
            f"triu in bfloat16 {ON_H100} gave wrong numbers, which is another fault",
        ),
        (GOOD | {"calls": calls(LACKING)[:3]}, "inconclusive", f"not all calls were made {ON_H100}"),
        (GOOD | {"calls": calls()[:2] * 2}, "inconclusive", f"not all calls were made {ON_H100}"),
        ({"no_gpu": "torch 2.13.0+cpu is built without CUDA"}, "inconclusive", "no GPU: torch 2.13.0+cpu is built without CUDA"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert triu_bf16.judge(measured, PARAMS) == (ruling, reason)


def test_another_dtype_lacking_is_not_the_fault() -> None:
    made = [called(name, dtype, None if dtype == "float32" else LACKING.replace("BFloat16", "Half"))
            for dtype in ("float16", "float32") for name in ("triu", "tril")]  # fmt: skip
    ruling, reason = triu_bf16.judge(GOOD | {"calls": made}, {"dtypes": ["float16", "float32"]})
    assert ruling == "inconclusive"
    assert reason.startswith(f"triu in float16 {ON_H100} failed in another way")


@given(bent(GOOD), anything)
def test_any_measurement_gets_a_judgement(measured: Any, dtypes: Any) -> None:
    ruling, reason = triu_bf16.judge(measured if isinstance(measured, dict) else {}, {"dtypes": dtypes})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (with_gpu(), PARAMS),
        (with_gpu(plan__load_dtype="bfloat16"), PARAMS),
        (with_gpu(plan__load_dtype="auto", model__config_dtype="bfloat16"), PARAMS),
        (with_gpu(plan__load_dtype="float16"), {"dtypes": ["float16", "float32"]}),
        (with_gpu(plan__load_dtype="float32"), "the weights are loaded as float32: no triangle of half precision is cut"),
        (stated(plan__load_dtype="bfloat16", accelerator="cuda"), "no GPU: nvidia-smi lists none on this machine"),
        (stated(plan__load_dtype="bfloat16", accelerator="cpu"), "no GPU: the run computes on cpu"),
    ],
)
def test_what_is_run_for_a_plan(facts: Facts, expected: object) -> None:
    assert triu_bf16.parameters(facts) == expected


def test_the_cure_that_is_tried() -> None:
    (tried,) = triu_bf16.PROBE.variations(PARAMS)
    assert tried.params == {"dtypes": ["float16", "float32"]}
    assert tried.plan == {"plan.load_dtype": "float16"}


@given(situations)
def test_any_situation_gets_parameters_or_a_reason(named: dict[str, FactValue]) -> None:
    assert triu_bf16.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in named.items()))
