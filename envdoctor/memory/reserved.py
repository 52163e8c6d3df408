"""What the driver sees beyond the tensors: the allocator's cache, and the CUDA context with its libraries."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.memory.estimate import GIB, Moment, Range
from envdoctor.memory.plan import Plan
from envdoctor.memory.sharding import is_deepspeed
from envdoctor.memory.stack import at_least

# How many times the logits, and what layers keep, the cache may hold where every row has a length of its own: each row that is longer than
# all before it finds no block that is large enough, and the blocks of the shorter ones stay. Of 61 runs of ms-swift's table (batches of
# one, no padding, checkpointed: mostly logits; benchmarks/unseen/memory.json) half hold three times what lives for a moment, nine of ten up
# to seven; of peft's table (not checkpointed: mostly layers) all hold up to 1.3 times.
_LOGITS_OF_LENGTHS, _LAYERS_OF_LENGTHS = 4.5, 1.3
# Beyond those, in shares of what is held: eight ranks under ZeRO-2 whose optimizer is on the CPU held up to 1.18 times what is expected
# (benchmarks/unseen/memory-3.json, 9640 to 9646).
_ABOVE, _MORE = 1.1, 1.15
# Five runs of Megatron (benchmarks/unseen/memory-10.json, 1 to 5) reserved as much as their logits and 2.6 GiB beyond what was allocated,
# at 2,048, 4,096 and 8,192 tokens; experts are given more of the tokens in one step than in another. Packed runs of ms-swift's examples are
# met by that too, although their segments grow (examples/megatron at 3602360a).
_OF_MEGATRON, _OF_EXPERTS = 1.0, 2.6 * GIB
# What nvidia-smi showed beyond what torch reserved on eight ranks, each of several groups (https://github.com/basetenlabs/ml-cookbook/pull/105:
# 35 for 28.4 GiB, 56 for 49.5).
_BESIDE_MEGATRON = 6.6 * GIB


def held(moments: Sequence[Moment], allocated: Range, plan: Plan, gathered: float, left: float = 0.0) -> Range:
    """What the caching allocator holds of the driver: a band, never a reason to refuse, for it gives its cache back under pressure.

    It lies between the maximum of the moments and the sum of their maxima: blocks of the loss and of the activations stay cached where the
    tensors of the optimizer do not fit into them, and what FSDP and ZeRO-3 gather (``gathered`` bytes) comes from another stream's blocks.
    The parts of logits and activations are those that nvidia-smi showed beyond the allocated bytes in single-GPU runs of
    fms-acceleration's benchmarks; since the logits are no longer copied to be shifted (transformers 4.49) their part is smaller
    (docs/memory.md). ``left`` are bytes that loading and preparing the model left in the cache: of the 16-bit tensors that k-bit
    preparation made float32, all of them in TRL's LoRA notebook (benchmarks/unseen/memory-2.json, 9527 to 9531: +0.5 to +2.8 GiB).
    """
    logits = _OF_MEGATRON if plan.sharding == "megatron" else 0.17 if at_least(plan.stack.transformers, "4.49") else 0.45
    steps = [moment for moment in moments if moment.name != "loading"]
    last = next((moment.total for moment in steps if moment.name == "optimizer step"), 0.0)
    cached = max(_cached(moment, logits) for moment in moments)
    transient = max((_transient(moment, logits) for moment in steps), default=0.0)
    expected = max(cached, last + 0.4 * transient if last else 0.0) + gathered + left + 0.1 * GIB
    if plan.experts_over > 1:
        expected += _OF_EXPERTS
    elif plan.expandable and plan.sharding != "megatron":
        # A block of any size is cut out of what was freed (https://docs.pytorch.org/docs/stable/notes/cuda.html, expandable_segments).
        expected = max(moment.total for moment in moments) + gathered + 0.1 * GIB
    many = 0.0 if plan.packed or plan.expandable else max((_of_many_lengths(moment) for moment in steps), default=0.0)
    most = max(cached, last + max(transient, many) if last else 0.0) + gathered + left
    high = max(_ABOVE * most, _MORE * expected, allocated.high) + 0.5 * GIB
    return Range(allocated.low, max(expected, allocated.expected), high)


def _transient(moment: Moment, logits: float) -> float:
    return (1 + logits) * moment.terms.get("logits", 0.0) + 1.12 * moment.terms.get("activations", 0.0)


def _of_many_lengths(moment: Moment) -> float:
    return _LOGITS_OF_LENGTHS * moment.terms.get("logits", 0.0) + _LAYERS_OF_LENGTHS * moment.terms.get("activations", 0.0)


def _cached(moment: Moment, logits: float) -> float:
    return moment.total + logits * moment.terms.get("logits", 0.0) + 0.12 * moment.terms.get("activations", 0.0)


def beside(plan: Plan) -> Range:
    """The CUDA context, cuBLAS, cuDNN and, with several GPUs, NCCL: outside of the allocator.

    1,343 MiB on a V100 in transformers' performance guide of 2022 (perf_train_gpu_one); about 0.55 GiB since kernels are loaded lazily
    (CUDA 11.7 and torch 2.1).
    """
    several = 0.5 * GIB if plan.ranks > 1 or is_deepspeed(plan) else 0.0
    if not at_least(plan.stack.torch, "2.1"):
        return Range(0.8 * GIB, 1.31 * GIB + several, 2.2 * GIB + several)
    return Range(0.3 * GIB, 0.55 * GIB + several, _BESIDE_MEGATRON if several and plan.sharding == "megatron" else 1.35 * GIB + 2 * several)
