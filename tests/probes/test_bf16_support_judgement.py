"""What ``bf16-support`` runs for a plan and makes of a measurement: without torch and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import bf16_support
from tests.probes.gpu_facts import H100, ON_H100, anything, bent, situations, stated, with_gpu

PARAMS: dict[str, Any] = {"dtypes": ["bfloat16", "float16"], "mixed_only": True}
TIMES = "bfloat16 0.1 ms, float16 0.05 ms"


def product(dtype: str, milliseconds: float, message: str | None = None, error: Any = 0.003) -> dict[str, Any]:
    if message is not None:
        return {"dtype": dtype, "error": {"type": "RuntimeError", "message": message}}
    return {"dtype": dtype, "error": None, "product_error": error, "gradient_error": 0.002, "milliseconds": milliseconds}


def measured(bfloat16: dict[str, Any] | None = None, float16: dict[str, Any] | None = None, **changed: object) -> dict[str, Any]:
    products = [bfloat16 or product("bfloat16", 0.1), float16 or product("float16", 0.05)]
    return {"versions": {"torch": "2.5.1"}, "gpu": H100, "supported": True, "native": True, "products": products, **changed}


@pytest.mark.parametrize(
    ("seen", "ruling", "reason"),
    [
        (measured(), "refuted", f"bfloat16 is computed {ON_H100}, product and gradient are right ({TIMES})"),
        (
            measured(supported=False, native=False),
            "confirmed",
            f"torch.cuda.is_bf16_supported() is false {ON_H100} (a product: {TIMES})",
        ),
        (measured(native=False), "confirmed", f"bfloat16 is emulated {ON_H100} (a product: {TIMES})"),
        (
            measured(product("bfloat16", 0, "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`"), native=False),
            "confirmed",
            f"float16 is computed {ON_H100} and bfloat16 is not: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`",
        ),
        (
            measured(product("bfloat16", 0, "CUDA out of memory.")),
            "inconclusive",
            f"bfloat16: CUDA out of memory. {ON_H100}, which is another fault",
        ),
        (
            measured(product("bfloat16", 0, "CUBLAS_STATUS_NOT_SUPPORTED"), product("float16", 0, "CUBLAS_STATUS_NOT_SUPPORTED")),
            "inconclusive",
            f"bfloat16: CUBLAS_STATUS_NOT_SUPPORTED; float16: CUBLAS_STATUS_NOT_SUPPORTED {ON_H100}, which is another fault",
        ),
        (
            measured(product("bfloat16", 0.1, error="nan")),
            "inconclusive",
            f"bfloat16: wrong numbers (product error nan) {ON_H100}, which is another fault",
        ),
        (measured(supported=None), "inconclusive", f"torch did not say whether bfloat16 is supported {ON_H100}"),
        (measured(products=[product("float16", 0.1)]), "inconclusive", f"not all products were computed {ON_H100}"),
        ({"no_gpu": "torch.cuda.is_available() is false"}, "inconclusive", "no GPU: torch.cuda.is_available() is false"),
    ],
)
def test_judgement(seen: dict[str, Any], ruling: str, reason: str) -> None:
    assert bf16_support.judge(seen, PARAMS) == (ruling, reason)


def test_float16_as_the_cure() -> None:
    (tried,) = bf16_support.PROBE.variations(PARAMS)
    assert tried.plan == {"plan.bf16": False, "plan.fp16": True}
    (of_weights,) = bf16_support.PROBE.variations({**PARAMS, "mixed_only": False})
    assert of_weights.plan == {}
    only = measured(supported=False, native=False, products=[product("float16", 0.05)])
    assert bf16_support.judge(only, tried.params) == ("refuted", f"float16 is computed {ON_H100}")
    broken = only | {"products": [product("float16", 0, "CUDA out of memory.")]}
    assert bf16_support.judge(broken, tried.params) == ("inconclusive", f"float16: CUDA out of memory. {ON_H100}")


@given(bent(measured()), anything)
def test_any_measurement_gets_a_judgement(seen: Any, dtypes: Any) -> None:
    ruling, reason = bf16_support.judge(seen if isinstance(seen, dict) else {}, {"dtypes": dtypes})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (with_gpu(), PARAMS | {"mixed_only": False}),
        (with_gpu(plan__bf16=True), PARAMS),
        (with_gpu(plan__bf16=True, plan__load_dtype="float32"), PARAMS),
        (with_gpu(plan__bf16=True, plan__load_dtype="auto", model__config_dtype="bfloat16"), PARAMS | {"mixed_only": False}),
        (with_gpu(plan__bf16=False, plan__load_dtype="bfloat16"), PARAMS | {"mixed_only": False}),
        (with_gpu(plan__bf16=False), "the plan asks for no bfloat16"),
        (stated(plan__bf16=True), "no GPU: nvidia-smi lists none on this machine"),
    ],
)
def test_what_is_run_for_a_plan(facts: Facts, expected: object) -> None:
    assert bf16_support.parameters(facts) == expected


@given(situations)
def test_any_situation_gets_parameters_or_a_reason(named: dict[str, FactValue]) -> None:
    assert bf16_support.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in named.items()))
