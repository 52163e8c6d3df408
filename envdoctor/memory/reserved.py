"""What the driver sees beyond the tensors: the allocator's cache, and the CUDA context with its libraries."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.memory.estimate import GIB, Moment, Range
from envdoctor.memory.plan import Plan
from envdoctor.memory.sharding import is_deepspeed
from envdoctor.memory.stack import at_least


def held(moments: Sequence[Moment], allocated: Range, plan: Plan, gathered: float) -> Range:
    """What the caching allocator holds of the driver: a band, never a reason to refuse, for it gives its cache back under pressure.

    It lies between the maximum of the moments and the sum of their maxima: blocks of the loss and of the activations stay cached where the
    tensors of the optimizer do not fit into them, and what FSDP gathers (``gathered`` bytes) comes from another stream's blocks.
    The parts of logits and activations are those that nvidia-smi showed beyond the allocated bytes in single-GPU runs of
    fms-acceleration's benchmarks; since the logits are no longer copied to be shifted (transformers 4.49) their part is smaller
    (docs/memory.md).
    """
    logits = 0.17 if at_least(plan.stack.transformers, "4.49") else 0.45
    steps = [moment for moment in moments if moment.name != "loading"]
    last = next((moment.total for moment in steps if moment.name == "optimizer step"), 0.0)
    cached = max(_cached(moment, logits) for moment in moments)
    transient = max((_transient(moment, logits) for moment in steps), default=0.0)
    expected = max(cached, last + 0.4 * transient if last else 0.0) + gathered + 0.1 * GIB
    most = max(cached, last + transient if last else 0.0) * 1.05 + gathered
    return Range(allocated.low, max(expected, allocated.expected), max(most, 1.1 * expected, allocated.high) + 0.5 * GIB)


def _transient(moment: Moment, logits: float) -> float:
    return (1 + logits) * moment.terms.get("logits", 0.0) + 1.12 * moment.terms.get("activations", 0.0)


def _cached(moment: Moment, logits: float) -> float:
    return moment.total + logits * moment.terms.get("logits", 0.0) + 0.12 * moment.terms.get("activations", 0.0)


def beside(plan: Plan) -> Range:
    """The CUDA context, cuBLAS, cuDNN and, with several GPUs, NCCL: outside of the allocator.

    1,343 MiB on a V100 in transformers' performance guide of 2022 (perf_train_gpu_one); about 0.55 GiB since kernels are loaded lazily
    (CUDA 11.7 and torch 2.1).
    """
    several = 0.5 * GIB if plan.gpus > 1 or is_deepspeed(plan) else 0.0
    if not at_least(plan.stack.torch, "2.1"):
        return Range(0.8 * GIB, 1.31 * GIB + several, 2.2 * GIB + several)
    return Range(0.3 * GIB, 0.55 * GIB + several, 1.35 * GIB + 2 * several)
