"""The GPU of an experiment: of those that the patient's torch sees, the one of the lowest capability.

A child reads this file by its path, since its directory is no place to import from.
"""

from __future__ import annotations

from typing import Any


def open_gpu(torch: Any) -> dict[str, Any]:
    """Make one visible GPU the current one and say which (memory in GiB), or say under ``no_gpu`` why there is none."""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return {"no_gpu": f"torch {torch.__version__} is built without CUDA"}
    if not torch.cuda.is_available():
        try:
            torch.cuda.init()
        except (RuntimeError, AssertionError) as error:
            return {"no_gpu": str(error)[:600] or "torch.cuda cannot start"}
        return {"no_gpu": "torch.cuda.is_available() is false"}
    capabilities = [tuple(torch.cuda.get_device_capability(number)) for number in range(torch.cuda.device_count())]
    chosen = capabilities.index(min(capabilities))
    torch.cuda.set_device(chosen)
    properties = torch.cuda.get_device_properties(chosen)
    return {
        "gpu": {
            "index": chosen,
            "visible": len(capabilities),
            "name": str(properties.name),
            "capability": "{}.{}".format(*capabilities[chosen]),
            "memory_gib": round(properties.total_memory / 2**30, 2),
            "cuda": torch.version.cuda,
            "hip": getattr(torch.version, "hip", None),
        }
    }


def close_gpu(torch: Any) -> dict[str, Any]:
    """Give the cached memory back; the most that was allocated, in MiB."""
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.empty_cache()
    return {"peak_mib": round(peak / 2**20, 1)}
