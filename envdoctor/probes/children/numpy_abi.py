"""numpy and torch in one process: does each see the memory of the other?

What is measured: for each way between the two whether it works, or the type and message of its error, and the dtype that a float64
array has as a tensor. An ABI that does not fit leaves ``import torch`` alone and fails here.
"""

from __future__ import annotations

import importlib
import platform
import warnings
from collections.abc import Callable
from typing import Any


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing numpy")
    numpy: Any = importlib.import_module("numpy")
    stage("importing torch")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch: Any = importlib.import_module("torch")
    measured: dict[str, Any] = {
        "versions": {"python": platform.python_version(), "numpy": str(numpy.__version__), "torch": str(torch.__version__)},
        "warning": next((" ".join(str(each.message).split())[:300] for each in caught if "NumPy" in str(each.message)), None),
        "numpy_alone": float(numpy.arange(4.0).sum()) == 6.0,
    }
    stage("crossing between numpy and torch")
    array = numpy.arange(4.0)
    ways: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("Tensor.numpy()", lambda: bool((torch.ones(3).numpy() == 1).all())),
        ("torch.from_numpy(array)", lambda: torch.from_numpy(array).tolist() == [0.0, 1.0, 2.0, 3.0]),
        ("torch.as_tensor(scalar)", lambda: float(torch.as_tensor(numpy.float32(0.5))) == 0.5),
        ("numpy.asarray(tensor)", lambda: bool((numpy.asarray(torch.ones(3)) == 1).all())),
    )
    measured["ways"] = {name: _tried(way) for name, way in ways}
    measured["float64_becomes"] = _tried(lambda: str(torch.tensor(array).dtype).replace("torch.", ""))
    return measured


def _tried(way: Callable[[], Any]) -> Any:
    try:
        return way()
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        return {"type": type(error).__name__, "message": str(error)[:500]}
