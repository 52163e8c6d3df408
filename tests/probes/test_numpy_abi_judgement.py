"""What ``numpy-abi`` makes of a measurement: without torch and numpy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT
from envdoctor.probes import numpy_abi
from tests.probes.anything import like

NONE = {"type": "RuntimeError", "message": "Numpy is not available"}
SCALAR = {"type": "RuntimeError", "message": "Could not infer dtype of numpy.float32"}
WAYS = ("Tensor.numpy()", "torch.from_numpy(array)", "torch.as_tensor(scalar)", "numpy.asarray(tensor)")
GOOD: dict[str, Any] = {
    "versions": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
    "warning": None,
    "numpy_alone": True,
    "ways": dict.fromkeys(WAYS, True),
    "float64_becomes": "float64",
}
BAD: dict[str, Any] = GOOD | {"ways": dict(zip(WAYS, (NONE, NONE, SCALAR, NONE), strict=True)), "float64_becomes": "float32"}


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (GOOD, "refuted", "arrays go from numpy to torch and back, and keep their dtype"),
        (
            BAD,
            "confirmed",
            "torch has no numpy: Tensor.numpy(), torch.from_numpy(array), numpy.asarray(tensor): Numpy is not available;"
            " a float64 array becomes a float32 tensor without a word",
        ),
        (
            BAD | {"float64_becomes": NONE},
            "confirmed",
            "torch has no numpy: Tensor.numpy(), torch.from_numpy(array), numpy.asarray(tensor): Numpy is not available",
        ),
        (BAD | {"numpy_alone": False}, "inconclusive", "numpy does not compute by itself: another fault than its ABI"),
        (
            GOOD | {"ways": GOOD["ways"] | {"torch.as_tensor(scalar)": SCALAR}},
            "inconclusive",
            "torch.as_tensor(scalar): Could not infer dtype of numpy.float32: another fault than an ABI that does not fit",
        ),
        (
            GOOD | {"ways": GOOD["ways"] | {"Tensor.numpy()": False}},
            "inconclusive",
            "Tensor.numpy(): wrong values: another fault than an ABI that does not fit",
        ),
        (
            GOOD | {"float64_becomes": "float32"},
            "inconclusive",
            "4 of 4 ways were measured, and a float64 array becomes float32",
        ),
        (
            GOOD | {"ways": {"Tensor.numpy()": True}},
            "inconclusive",
            "1 of 4 ways were measured, and a float64 array becomes float64",
        ),
        ({}, "inconclusive", "nothing was handed between numpy and torch"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert numpy_abi.judge(measured, {}) == (ruling, reason)


@given(measured=like(BAD))
def test_any_measurement_gets_a_judgement(measured: dict[str, Any]) -> None:
    ruling, reason = numpy_abi.judge(measured, {})
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason
    if ruling == "refuted":
        assert measured["ways"] == GOOD["ways"]


def test_nothing_is_run_without_the_packages() -> None:
    assert numpy_abi.parameters(Facts()) == {}
    absent = Facts().with_facts([Fact("packages.numpy", ABSENT, Origin("test"))])
    assert numpy_abi.parameters(absent) == "numpy not installed"
    assert numpy_abi.parameters(Facts(closed=True)) == "numpy and torch not installed"
