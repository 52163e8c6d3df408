"""``torch.triu`` and ``torch.tril`` on the GPU, in bfloat16 and, to compare, in float16 and float32.

What is measured, for each function and dtype: whether it ran, whether its numbers are those of the CPU, or the error.
"""

from __future__ import annotations

import importlib
import os
import platform
import runpy
from collections.abc import Callable
from typing import Any

SIZE = 8


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    device = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_device.py"))
    measured: dict[str, Any] = {"versions": {"python": platform.python_version(), "torch": str(torch.__version__)}}
    stage("opening the GPU")
    measured.update(device["open_gpu"](torch))
    if "no_gpu" in measured:
        return measured
    # Integers up to 64 are exact in bfloat16.
    square = torch.arange(1.0, SIZE * SIZE + 1).reshape(SIZE, SIZE)
    measured["calls"] = []
    for dtype in params["dtypes"]:
        for name in ("triu", "tril"):
            stage(f"torch.{name} in {dtype}")
            found: dict[str, Any] = {"name": name, "dtype": dtype, "right": False, "error": None}
            measured["calls"].append(found)
            function = getattr(torch, name)
            try:
                there = square.to(device="cuda", dtype=getattr(torch, dtype))
                found["right"] = bool((function(there, diagonal=1).float().cpu() == function(square, diagonal=1)).all())
            except RuntimeError as error:
                found["error"] = {"type": type(error).__name__, "message": str(error)[:2000]}
    measured.update(device["close_gpu"](torch))
    return measured
