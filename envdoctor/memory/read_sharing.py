"""How GPUs share a plan, and what the CPU holds of it: read from the facts of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.asked import Reader
from envdoctor.memory.parallel import spread_of
from envdoctor.memory.plan import Method, Offload, Sharding
from envdoctor.memory.tensor_parallel import slices

_SHARDED = frozenset(("zero1", "zero2", "zero3", "fsdp", "device_map"))
_SHARDINGS: Mapping[str, Sharding] = {
    "none": "none", "ddp": "ddp", "dp": "ddp", "device_map": "device_map",
    "zero1": "zero1", "zero2": "zero2", "zero3": "zero3", "fsdp": "fsdp",
}  # fmt: skip
_OFFLOADS: Mapping[str, Offload] = {"none": "none", "optimizer": "optimizer", "parameters": "parameters", "both": "both"}


def tensor_of(reader: Reader, architecture: Architecture, method: Method) -> int:
    """Among how many GPUs each layer is cut; 1 where it is not, or where nobody knows how."""
    ranks = reader.number("plan.tensor_parallel") or 1
    cut = method in ("full", "inference") or (method == "adapter" and reader.text("plan.distributed") == "megatron")
    return ranks if ranks > 1 and cut and (slices(architecture, ranks) or spread_of(reader, architecture)) else 1


def sharding_of(reader: Reader, together: int, method: Method) -> tuple[Sharding, int]:
    """How the GPUs that have a whole model between them and others share it, and how many such there are."""
    stated = reader.number("gpu.count")
    gpus = max(1, (stated or 1) // together)
    named = reader.text("plan.distributed")
    known = _SHARDINGS.get(named or "")
    if named == "megatron" and method in ("full", "adapter") and gpus * together > 1:
        return "megatron", gpus
    if known is not None:
        if known in _SHARDED and stated is None:
            reader.assume("gpu.count", 1)
        return known, gpus
    words = named or reader.in_words("plan.distributed")
    if gpus > 1:
        why = "several GPUs, each with all of the model"
        reader.assume("plan.distributed", "ddp", why if words is None else f"{words} is not computed here; {why}")
        return "ddp", gpus
    if words is not None:
        reader.assume("plan.distributed", "none", f"{words} is not computed here")
    return "none", 1


def offload_of(reader: Reader, method: Method, sharding: Sharding) -> tuple[Offload, Sharding]:
    """What is moved to the CPU, and by what: in training DeepSpeed does it, or FSDP."""
    asked = _OFFLOADS.get(reader.text("plan.offload") or "", "none")
    if asked == "none" or method == "inference" or sharding in ("zero1", "zero2", "zero3", "fsdp", "megatron"):
        return asked, sharding
    if reader.text("plan.distributed") is not None:
        reader.assume("plan.offload", "none", f"nothing is moved to the CPU under {sharding}")
        return "none", sharding
    by: Sharding = "zero2" if asked == "optimizer" else "zero3"
    reader.assumed = [one for one in reader.assumed if one.fact != "plan.distributed"]
    reader.assume("plan.distributed", by, "DeepSpeed's, which moves it to the CPU")
    return asked, by
