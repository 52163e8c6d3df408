"""A few kernels of torch's own on the GPU: an element-wise one, a reduction, a matrix product, a softmax and its gradient.

What is measured: the GPU and its capability, the architectures that torch was compiled for, and of each kernel
whether it ran and gave the right number; the first that fails ends the experiment, since CUDA's context may be lost.
"""

from __future__ import annotations

import importlib
import os
import platform
import runpy
from collections.abc import Callable
from typing import Any


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    device = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_device.py"))
    measured: dict[str, Any] = {"versions": {"python": platform.python_version(), "torch": str(torch.__version__)}}
    stage("opening the GPU")
    measured.update(device["open_gpu"](torch))
    if "no_gpu" in measured:
        return measured
    measured["architectures"] = [str(name) for name in torch.cuda.get_arch_list()]
    measured["kernels"] = []
    for name in params["kernels"]:
        stage(f"launching {name}")
        found: dict[str, Any] = {"name": name, "right": False, "error": None}
        measured["kernels"].append(found)
        try:
            found["right"] = abs(_launch(torch, name) - EXPECTED[name]) < 1e-3
            torch.cuda.synchronize()
        except RuntimeError as error:
            found["error"] = {"type": type(error).__name__, "message": str(error)[:2000]}
            return measured
    measured.update(device["close_gpu"](torch))
    return measured


EXPECTED = {"element-wise": 9.0, "reduction": 36.0, "matrix product": 204.0, "softmax gradient": 0.0}


def _launch(torch: Any, name: str) -> float:
    numbers = torch.arange(1.0, 9.0).to("cuda")
    if name == "element-wise":
        return float((numbers + 1)[-1])
    if name == "reduction":
        return float(numbers.sum())
    if name == "matrix product":
        return float((numbers[None] @ numbers[:, None]).item())
    if name == "softmax gradient":
        numbers.requires_grad_()
        numbers.softmax(-1).sum().backward()
        return float(numbers.grad.abs().sum())
    raise ValueError(f"{name} is no kernel of this probe")
