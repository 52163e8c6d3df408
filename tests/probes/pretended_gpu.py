"""A torch whose GPU is its CPU, for the children of the probes that need one: CPython 3.8+, run in the patient.

Every tensor that goes to "cuda" stays where it is; what torch.cuda says is made up. FAULTS are (function, dtype, what it does) by
which a kernel is broken: "nan" or the text of an error.
"""

from __future__ import annotations

import importlib
import os
import runpy
from types import SimpleNamespace
from typing import Any


def run(params: dict[str, Any], stage: Any) -> Any:
    torch: Any = importlib.import_module("torch")
    overrides: Any = importlib.import_module("torch.overrides")
    pretend(torch, params["bf16"])

    class Pretended(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = {name: "cpu" if name == "device" and str(value) == "cuda" else value for name, value in (kwargs or {}).items()}
            placed = ["cpu" if isinstance(value, str) and value == "cuda" else value for value in args]
            return faulty(torch, params["faults"], function, placed, named)

    child = os.path.join(params["children"], params["child"] + ".py")
    child_run = runpy.run_path(child)["run"]
    # Half precision of a CPU takes seconds for what a GPU does in a millisecond.
    child_run.__globals__.update({"TIMED_SIZE": 64, "HEADS": 1})
    with Pretended():
        return child_run(params["params"], stage)


def pretend(torch: Any, bf16: bool) -> None:
    properties = SimpleNamespace(name="Pretended GPU", total_memory=80 << 30)
    torch.version.cuda = "12.6"
    for name, value in {
        "is_available": True,
        "device_count": 2,
        "set_device": None,
        "synchronize": None,
        "empty_cache": None,
        "reset_peak_memory_stats": None,
        "memory_allocated": 0,
        "max_memory_allocated": 3 << 20,
        "get_device_properties": properties,
        "is_bf16_supported": bf16,
        "get_arch_list": ["sm_80"],
    }.items():
        setattr(torch.cuda, name, lambda *_, given=value, **__: given)
    torch.cuda.get_device_capability = lambda number: [(9, 0), (8, 0)][number]


def faulty(torch: Any, faults: Any, function: Any, args: Any, kwargs: Any) -> Any:
    name = getattr(function, "__name__", "")
    dtypes = [str(value.dtype).replace("torch.", "") for value in args if isinstance(value, torch.Tensor)]
    for wanted, dtype, effect in faults:
        # The math kernel is well: a fault is what another one does.
        if name == wanted and dtype in dtypes and not chooses_math(torch):
            if effect != "nan":
                raise RuntimeError(effect)
            return function(*args, **kwargs) * float("nan")
    return function(*args, **kwargs)


def chooses_math(torch: Any) -> bool:
    backends = torch.backends.cuda
    return bool(backends.math_sdp_enabled()) and not backends.flash_sdp_enabled()
