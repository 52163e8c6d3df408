"""What ``kernel-image`` makes of a measurement: without torch and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import kernel_image
from tests.probes.gpu_facts import H100, ON_H100, anything, bent, situations, stated, with_gpu

PARAMS: dict[str, Any] = {"kernels": ["element-wise", "reduction", "matrix product", "softmax gradient"]}
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be asynchronously reported"


def launched(name: str, message: str | None = None, *, right: bool = True) -> dict[str, Any]:
    error = None if message is None else {"type": "RuntimeError", "message": message}
    return {"name": name, "right": right and error is None, "error": error}


GOOD: dict[str, Any] = {
    "versions": {"python": "3.11.7", "torch": "2.5.1"},
    "gpu": H100,
    "architectures": ["sm_50", "sm_90"],
    "kernels": [launched(name) for name in PARAMS["kernels"]],
    "peak_mib": 0.1,
}


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (GOOD, "refuted", f"4 kernels of torch ran {ON_H100} and gave the right numbers"),
        (
            GOOD | {"kernels": [launched("element-wise", NO_IMAGE)]},
            "confirmed",
            f"element-wise {ON_H100}: CUDA error: no kernel image is available for execution on the device CUDA kernel errors might be"
            " asynchronously reported; torch was compiled for sm_50, sm_90",
        ),
        (
            GOOD
            | {"kernels": [launched("element-wise"), launched("reduction", "CUDA error: invalid device function")], "architectures": []},
            "confirmed",
            f"reduction {ON_H100}: CUDA error: invalid device function; torch was compiled for no architecture",
        ),
        (
            GOOD | {"kernels": [launched("element-wise", "CUDA out of memory.")]},
            "inconclusive",
            f"element-wise {ON_H100} failed in another way: CUDA out of memory.",
        ),
        (
            GOOD | {"kernels": [launched("element-wise", right=False)]},
            "inconclusive",
            f"element-wise {ON_H100} ran and gave a wrong number, which is another fault",
        ),
        (GOOD | {"kernels": GOOD["kernels"][:2]}, "inconclusive", f"not all kernels were launched {ON_H100}"),
        ({"no_gpu": "Found no NVIDIA driver on your system."}, "inconclusive", "no GPU: Found no NVIDIA driver on your system."),
        ({}, "inconclusive", "no GPU: the child did not say on which it ran"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert kernel_image.judge(measured, PARAMS) == (ruling, reason)


@given(bent(GOOD), anything)
def test_any_measurement_gets_a_judgement(measured: Any, kernels: Any) -> None:
    ruling, reason = kernel_image.judge(measured if isinstance(measured, dict) else {}, {"kernels": kernels})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


def test_what_is_run() -> None:
    assert kernel_image.parameters(with_gpu()) == PARAMS
    assert kernel_image.parameters(stated(accelerator="cuda")) == "no GPU: nvidia-smi lists none on this machine"


@given(situations)
def test_any_situation_gets_parameters_or_a_reason(named: dict[str, FactValue]) -> None:
    assert kernel_image.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in named.items()))
