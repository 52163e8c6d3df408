"""torch's scaled_dot_product_attention on the GPU: each of its kernels, with and without masks, forward and backward.

What is measured, for each mask, length and kernel (``default``: the one that torch chooses): how many numbers of the
output and of the three gradients are not finite, how far they are from a float32 computation by the math kernel, the
milliseconds and the most memory allocated; ``refused`` where the kernel does not take such an input.
The masks: ``none`` (causal by flag), ``padding`` (causal and the end of a row left out, boolean), ``additive`` (the
same as lowest number), ``masked rows`` (the start of a row left out, so that its first queries see nothing), and
``negative scores`` (nothing left out, but all scores are near -120, as in heads with very large activations).
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
ROWS, HEADS, WIDTH = 2, 4, 64
SCORE = -120.0
# What torch says where no kernel that is switched on takes the input; the second in torch 2.13.
REFUSALS = ("No available kernel", "No viable backend")
SWITCHES = {"flash": "flash", "efficient": "mem_efficient", "math": "math", "cudnn": "cudnn"}


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    device = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_device.py"))
    measured: dict[str, Any] = {"versions": {"python": platform.python_version(), "torch": str(torch.__version__)}}
    stage("opening the GPU")
    measured.update(device["open_gpu"](torch))
    if "no_gpu" in measured:
        return measured
    kernels = _Kernels(torch, params["disabled"])
    measured["enabled"] = sorted(name for name, on in kernels.standing.items() if on)
    measured["trials"] = []
    # What torch chooses is the question: a kernel that it never takes, chosen by hand, may lose the context.
    others = tuple(name for name in kernels.standing if name != "math")
    for group in (("default", "math"), others):
        for mask in params["masks"]:
            for length in params["lengths"]:
                trial = _Trial(torch, mask, length, getattr(torch, params["dtype"]))
                kernels.choose("math")
                reference = trial.reference()
                for kernel in group:
                    stage(f"{kernel} kernel, mask: {mask}, {length} tokens")
                    kernels.choose(kernel)
                    found = trial.measure(reference)
                    measured["trials"].append({"mask": mask, "length": length, "kernel": kernel, **found})
                    if found["error"] is not None and "CUDA error" in found["error"]["message"]:
                        return measured  # the context is lost
    measured.update(device["close_gpu"](torch))
    return measured


class _Kernels:
    """The switches of torch.backends.cuda; a release without one has not that kernel."""

    def __init__(self, torch: Any, disabled: Any) -> None:
        self.backends = torch.backends.cuda
        self.standing: dict[str, bool] = {}
        for name, switch in SWITCHES.items():
            if hasattr(self.backends, f"enable_{switch}_sdp"):
                self.standing[name] = bool(getattr(self.backends, f"{switch}_sdp_enabled")()) and name not in disabled

    def choose(self, kernel: str) -> None:
        for name, on in self.standing.items():
            getattr(self.backends, f"enable_{SWITCHES[name]}_sdp")(on if kernel == "default" else name == kernel)


class _Trial:
    """Queries, keys, values and the gradient of the output, for one mask and length."""

    def __init__(self, torch: Any, mask: str, length: int, dtype: Any) -> None:
        self.torch = torch
        torch.manual_seed(SEED)
        shape = (ROWS, HEADS, length, WIDTH)
        query, key, value, self.gradient = (torch.randn(shape) for _ in range(4))
        if mask == "negative scores":
            query, key = query * 0.1, key * 0.1
            query[..., 0], key[..., 0] = 1.0, SCORE * math.sqrt(WIDTH)
        self.inputs = [part.to(device="cuda", dtype=dtype) for part in (query, key, value)]
        self.gradient = self.gradient.to(device="cuda", dtype=dtype)
        self.causal = mask == "none"
        self.mask = None if self.causal else self._mask(mask, length, dtype)

    def _mask(self, mask: str, length: int, dtype: Any) -> Any:
        torch = self.torch
        if mask == "negative scores":
            return torch.ones((1, 1, length, length), dtype=torch.bool, device="cuda")
        seen = torch.ones((ROWS, 1, 1, length), dtype=torch.bool)
        if mask == "masked rows":
            seen[1, ..., : length // 3] = False
        else:
            seen[1, ..., -(length // 3) :] = False
        seen = seen & torch.ones((length, length), dtype=torch.bool).tril()
        if mask == "additive":
            lowest = torch.finfo(dtype).min
            return torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, lowest).to("cuda")
        return seen.to("cuda")

    def _compute(self, inputs: Any, mask: Any, gradient: Any) -> Any:
        torch = self.torch
        parts = [part.detach().clone().requires_grad_() for part in inputs]
        out = torch.nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask, is_causal=self.causal)
        out.backward(gradient)
        return [out.detach(), *(part.grad for part in parts)]

    def reference(self) -> Any:
        """Output and gradients in float32 by whatever kernel is chosen."""
        mask = self.mask if self.mask is None or self.mask.dtype == self.torch.bool else self.mask.float()
        return self._compute([part.float() for part in self.inputs], mask, self.gradient.float())

    def measure(self, reference: Any) -> dict[str, Any]:
        torch = self.torch
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        started = time.monotonic()
        try:
            parts = self._compute(self.inputs, self.mask, self.gradient)
            torch.cuda.synchronize()
        except RuntimeError as error:
            message = str(error)[:2000]
            return {"refused": any(words in message for words in REFUSALS), "error": {"type": type(error).__name__, "message": message}}
        names = ("output", "query_gradient", "key_gradient", "value_gradient")
        return {
            "refused": False,
            "error": None,
            "milliseconds": round((time.monotonic() - started) * 1000, 2),
            "peak_mib": round((torch.cuda.max_memory_allocated() - before) / 2**20, 2),
            "nonfinite": {name: int((~torch.isfinite(parts[number])).sum()) for number, name in enumerate(names)},
            "difference": {name: self._difference(parts[number], reference[number]) for number, name in enumerate(names)},
        }

    def _difference(self, part: Any, other: Any) -> Any:
        """Relative to the reference's norm, over what is finite in both."""
        both = self.torch.isfinite(part) & self.torch.isfinite(other)
        part, other = part[both].double(), other[both].double()
        value = float((part - other).norm() / other.norm().clamp(min=1e-30))
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
