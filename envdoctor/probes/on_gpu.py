"""Whether an experiment has a GPU to run on: by the facts before it starts, by its own words after."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.fact import Facts
from envdoctor.world.gpus import capability_key

# The origin of what nvidia-smi said of this machine; a GPU stated by hand may be another machine's.
_SEEN = "nvidia-smi"
_TELLING = ("accelerator", "gpu.vendor", "gpu.name", "gpu.count", "gpu.compute_capability", "gpu.memory_gib")


def no_gpu(facts: Facts) -> str | None:
    """Why no GPU of this machine can run an experiment for these facts; None where one was seen."""
    accelerator = facts.value("accelerator")
    if accelerator not in (None, "cuda"):
        return f"no GPU: the run computes on {accelerator}"
    seen = [fact for name in _TELLING if (fact := facts.by_name.get(name)) is not None and fact.origin.source == _SEEN]
    if not seen:
        return "no GPU: nvidia-smi lists none on this machine"
    if any(fact.name == "gpu.count" and fact.value == 0 for fact in seen):
        return "no GPU: CUDA_VISIBLE_DEVICES hides all of them"
    return None


def computes_in_bfloat16(facts: Facts) -> bool:
    """False where the run's GPU is known to be older than Ampere (capability 8.0), which has no bfloat16 arithmetic."""
    capability = facts.value("gpu.compute_capability")
    key = capability_key(str(capability))
    return key is None or key >= (8, 0)


def gpu_words(measured: Mapping[str, object]) -> str | None:
    """The GPU on which a child ran, as a person names it; None where it does not say."""
    gpu = measured.get("gpu")
    if not isinstance(gpu, Mapping) or not isinstance(gpu.get("name"), str):
        return None
    capability = gpu.get("capability")
    return f"{gpu['name']}" + (f" (capability {capability})" if isinstance(capability, str) else "")


def ran_without_gpu(measured: Mapping[str, object]) -> str | None:
    """The reason of a child that found no GPU, or said nothing of one; None where it ran on one."""
    why = measured.get("no_gpu")
    if why is not None:
        return f"no GPU: {' '.join(str(why).split())[:300]}"
    return None if gpu_words(measured) is not None else "no GPU: the child did not say on which it ran"
