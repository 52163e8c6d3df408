"""A matrix product and its gradient on the GPU in half precision, and what torch says of bfloat16 there.

What is measured: torch.cuda.is_bf16_supported() with and without emulation (before torch 2.3 it knows none), and for
each dtype the error of product and gradient relative to float64 on the CPU, and the milliseconds of a larger product.
"""

from __future__ import annotations

import importlib
import math
import os
import platform
import runpy
import time
from collections.abc import Callable
from typing import Any

SEED = 0
SIZE = 256
TIMED_SIZE, TIMES = 2048, 10


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    device = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_device.py"))
    measured: dict[str, Any] = {"versions": {"python": platform.python_version(), "torch": str(torch.__version__)}}
    stage("opening the GPU")
    measured.update(device["open_gpu"](torch))
    if "no_gpu" in measured:
        return measured
    torch.manual_seed(SEED)
    measured["supported"] = bool(torch.cuda.is_bf16_supported())
    measured["native"] = _native(torch)
    measured["products"] = []
    left, right = torch.randn(SIZE, SIZE), torch.randn(SIZE, SIZE)
    for dtype in params["dtypes"]:
        stage(f"multiplying matrices in {dtype}")
        found: dict[str, Any] = {"dtype": dtype, "error": None}
        measured["products"].append(found)
        try:
            found.update(_product(torch, left, right, getattr(torch, dtype)))
        except RuntimeError as error:
            found["error"] = {"type": type(error).__name__, "message": str(error)[:2000]}
    measured.update(device["close_gpu"](torch))
    return measured


def _native(torch: Any) -> bool:
    try:
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    except TypeError:
        return bool(torch.cuda.is_bf16_supported())


def _product(torch: Any, left: Any, right: Any, dtype: Any) -> dict[str, Any]:
    mine = left.to(device="cuda", dtype=dtype).requires_grad_()
    other = right.to(device="cuda", dtype=dtype)
    result = mine @ other
    result.sum().backward()
    expected = left.double() @ right.double()
    gradient = torch.ones(SIZE, SIZE, dtype=torch.float64) @ right.double().T
    errors = [_relative(result.detach(), expected), _relative(mine.grad, gradient)]
    large = torch.randn(TIMED_SIZE, TIMED_SIZE, device="cuda", dtype=dtype)
    large @ large
    torch.cuda.synchronize()
    started = time.monotonic()
    for _ in range(TIMES):
        large @ large
    torch.cuda.synchronize()
    milliseconds = (time.monotonic() - started) / TIMES * 1000
    return {"product_error": errors[0], "gradient_error": errors[1], "milliseconds": round(milliseconds, 3)}


def _relative(found: Any, expected: Any) -> Any:
    """The norm of the difference over that of what was expected; text where it is no number, which JSON has not."""
    value = float((found.double().cpu() - expected).norm() / expected.norm())
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)
