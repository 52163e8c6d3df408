"""Optimizers as they run on CUDA: torch's own, the one of transformers, and stand-ins for those of bitsandbytes.

CPython 3.8+; torch comes as an argument.
"""

from __future__ import annotations

import importlib
from typing import Any

# By name: float32 or 8-bit states, how many, and whether they are paged, which the caching allocator does not see.
_BITSANDBYTES = {
    "adamw_8bit": (True, 2, False),
    "adamw_bnb_8bit": (True, 2, False),
    "paged_adamw_8bit": (True, 2, True),
    "paged_adamw_32bit": (False, 2, True),
    "paged_adamw": (False, 2, True),
    "lion_8bit": (True, 1, False),
    "lion_32bit": (False, 1, False),
    "paged_lion_8bit": (True, 1, True),
    "paged_lion_32bit": (False, 1, True),
}
# Smaller tensors keep float32 states that are not paged (bitsandbytes/optim/optimizer.py: min_8bit_size, and get_state_buffer's 1e5).
_SMALLEST_8BIT, _SMALLEST_PAGED, _BLOCK = 4096, 100_000, 256


def make(torch: Any, name: str, trained: list[Any], refused: Any) -> Any:
    """The optimizer of a name, with ``step()`` and ``zero_grad()``.

    Raises:
        refused: an exception's class; there is none of that name here.
    """
    adam: Any = importlib.import_module("torch.optim.adam")
    adamw: Any = importlib.import_module("torch.optim.adamw")
    # The number of the step decides no shape, and has no value under fake tensors.
    for module in (adam, adamw):
        if hasattr(module, "_get_value"):
            module._get_value = lambda _: 1.0
    if name in ("adamw_torch", "adamw", "adam"):
        return torch.optim.AdamW(trained, lr=1e-4, foreach=True)
    if name == "adamw_torch_fused":
        return _Plain(torch, trained, 2)
    if name == "sgd":
        return torch.optim.SGD(trained, lr=1e-4, foreach=True)
    if name == "rmsprop":
        return torch.optim.RMSprop(trained, lr=1e-4, foreach=True)
    if name in ("adafactor", "adamw_hf"):
        optimization: Any = importlib.import_module("transformers.optimization")
        found = getattr(optimization, "Adafactor" if name == "adafactor" else "AdamW", None)
        if found is None:
            raise refused("this transformers has no optimizer of its own")
        if name == "adafactor":
            return found(trained, lr=1e-4, scale_parameter=False, relative_step=False)
        return found(trained, lr=1e-4, no_deprecation_warning=True)
    if name in _BITSANDBYTES:
        narrow, states, paged = _BITSANDBYTES[name]
        return _Blocks(torch, trained, narrow, states, paged)
    raise refused(f"the optimizer {name} is not run on fake tensors")


class _Plain:
    """A fused kernel: states like the parameters, and a step that makes nothing else."""

    def __init__(self, torch: Any, trained: list[Any], states: int) -> None:
        self.torch = torch
        self.trained = trained
        self.count = states
        self.states: dict[int, list[Any]] = {}

    def step(self) -> None:
        for number, parameter in enumerate(self.trained):
            if parameter.grad is not None and number not in self.states:
                self.states[number] = self.made(parameter)

    def made(self, parameter: Any) -> list[Any]:
        return [self.torch.zeros_like(parameter, requires_grad=False) for _ in range(self.count)]

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.trained:
            parameter.grad = None


class _Blocks(_Plain):
    """States of bitsandbytes: float32, or one byte with a float32 absmax for each block; paged ones are left out."""

    def __init__(self, torch: Any, trained: list[Any], narrow: bool, states: int, paged: bool) -> None:
        super().__init__(torch, trained, states)
        self.narrow = narrow
        self.paged = paged

    def made(self, parameter: Any) -> list[Any]:
        torch, count = self.torch, parameter.numel()
        narrow = self.narrow and count >= _SMALLEST_8BIT
        found: list[Any] = []
        if not (self.paged and count >= _SMALLEST_PAGED):
            found += [torch.zeros(parameter.shape, dtype=torch.uint8 if narrow else torch.float32) for _ in range(self.count)]
        if narrow:
            found += [torch.zeros(-(-count // _BLOCK)) for _ in range(self.count)]
        return found
