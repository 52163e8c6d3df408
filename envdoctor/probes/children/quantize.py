"""One linear layer quantized by the patient's bitsandbytes: forward, backward, and the gradients of an adapter beside it.

What is measured: the device, whether the weights are really packed, how far the result and the gradient of the input are from those of
the weights as they were (relative), how many values are not finite, whether the adapter's gradients are not zero, and the memory taken.
On a GPU one context is made, and its memory is given back.
"""

from __future__ import annotations

import importlib
import math
import os
import platform
import random
import runpy
from collections.abc import Callable
from typing import Any

SEED = 0
# Multiples of what the kernels for 8 bits want, and of the blocks of 4-bit weights.
ROWS, INPUTS, OUTPUTS, RANK = 16, 256, 128, 8
# AssertionError: 0.45 says so, and no more, of weights that it did not quantize.
EXPECTED = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, AssertionError, ImportError, OSError)


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    random.seed(SEED)
    torch.manual_seed(SEED)
    measured: dict[str, Any] = {
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
        "device": params["device"],
        "error": None,
    }
    on_gpu = params["device"] == "cuda"
    gpus = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_device.py"))
    if on_gpu:
        stage("looking for a GPU")
        measured.update(gpus["open_gpu"](torch))
        if "no_gpu" in measured:
            return measured
    _try(_Layer(torch, params, measured), measured, stage)
    if on_gpu:
        stage("freeing the GPU")
        _guarded(measured, "freeing the GPU", lambda: measured.update(gpus["close_gpu"](torch)))
    return measured


def _try(layer: _Layer, measured: dict[str, Any], stage: Callable[[str], None]) -> None:
    """All parts up to the first that fails; what the layer holds on the GPU ends with this call."""
    for during, part in (
        ("importing bitsandbytes", layer.load),
        ("quantizing", layer.quantize),
        ("forward", layer.forward),
        ("backward", layer.backward),
    ):
        stage(during)
        if not _guarded(measured, during, part):
            return


def _guarded(measured: dict[str, Any], during: str, part: Callable[[], None]) -> bool:
    try:
        part()
    except EXPECTED as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "bitsandbytes":
            raise
        if measured["error"] is None:
            measured["error"] = {"during": during, "type": type(error).__name__, "message": str(error)[:2000]}
        return False
    return True


class _Layer:
    def __init__(self, torch: Any, params: dict[str, Any], measured: dict[str, Any]) -> None:
        self.torch = torch
        self.bits = int(params["bits"])
        self.quant_type = params["quant_type"]
        self.device = params["device"]
        self.measured = measured
        self.dtype = getattr(torch, params["dtype"])
        self.weights = torch.randn(OUTPUTS, INPUTS) / INPUTS**0.5
        self.input = torch.randn(ROWS, INPUTS)
        self.direction = torch.randn(ROWS, OUTPUTS)

    def load(self) -> None:
        self.bitsandbytes: Any = importlib.import_module("bitsandbytes")
        self.measured["versions"]["bitsandbytes"] = str(getattr(self.bitsandbytes, "__version__", "unknown"))
        devices = getattr(self.bitsandbytes, "supported_torch_devices", None)
        self.measured["supported_devices"] = None if devices is None else sorted(map(str, devices))

    def quantize(self) -> None:
        layers = self.bitsandbytes.nn
        weights = self.weights.clone().to(self.dtype)
        if self.bits == 4:
            kind = {"quant_type": self.quant_type, "compress_statistics": True}
            layer = layers.Linear4bit(INPUTS, OUTPUTS, bias=False, compute_dtype=self.dtype, **kind)
            layer.weight = layers.Params4bit(weights, requires_grad=False, **kind)
        else:
            layer = layers.Linear8bitLt(INPUTS, OUTPUTS, bias=False, has_fp16_weights=False, threshold=6.0)
            layer.weight = layers.Int8Params(weights, requires_grad=False, has_fp16_weights=False)
        self.layer = layer.to(self.device)
        packed = self.layer.weight
        self.measured["stored_as"] = str(packed.dtype).replace("torch.", "")
        self.measured["stored_bytes"] = int(packed.numel() * packed.element_size())
        self.measured["weights"] = INPUTS * OUTPUTS

    def forward(self) -> None:
        self.moved = self.input.to(self.device, self.dtype).requires_grad_()
        self.down = (self.torch.randn(INPUTS, RANK) / INPUTS**0.5).to(self.device).requires_grad_()
        self.up = (self.torch.randn(RANK, OUTPUTS) / RANK**0.5).to(self.device).requires_grad_()
        self.result = self.layer(self.moved)
        found = self.result.detach().float().cpu()
        self.measured["nonfinite"] = int((~self.torch.isfinite(found)).sum())
        self.measured["forward_error"] = _distance(found, self.input @ self.weights.t())

    def backward(self) -> None:
        # The adapter's input is cut off, so that the input's gradient is that of the quantized layer alone.
        beside = self.moved.detach().float() @ self.down @ self.up
        (self.result.float() + beside).backward(self.direction.to(self.device))
        gradient = self.moved.grad.detach().float().cpu()
        self.measured["nonfinite"] += int((~self.torch.isfinite(gradient)).sum())
        self.measured["backward_error"] = _distance(gradient, self.direction @ self.weights)
        self.measured["adapter_gradients"] = sum(
            bool(self.torch.isfinite(each.grad).all()) and bool((each.grad != 0).any()) for each in (self.down, self.up)
        )


def _distance(found: Any, expected: Any) -> Any:
    """Relative to the expected one; text where it is not finite, because JSON has no NaN."""
    value = float((found - expected).norm() / expected.norm())
    return round(value, 6) if math.isfinite(value) else str(value)
