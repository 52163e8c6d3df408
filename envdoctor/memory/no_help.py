"""What people try first and what does not make a plan fit, said plainly."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.memory.advice import EstimateWith
from envdoctor.memory.estimate import GIB, Estimate
from envdoctor.memory.fits import verdict
from envdoctor.memory.moves import Circumstances
from envdoctor.memory.plan import Plan

_SHARDED = ("zero1", "zero2", "zero3", "fsdp")
# What most of is each GPU's own cannot be shared.
_MOST = 0.5


def no_help(plan: Plan, estimate_with: EstimateWith, memory: float | None, circumstances: Circumstances | None = None) -> tuple[str, ...]:
    """Sentences about changes that do nothing here, each with its reason in numbers; none where the plan fits."""
    now = estimate_with({})
    circumstances = circumstances or Circumstances()
    told = [] if circumstances.checkpointing_works or plan.method == "inference" else [_checkpointing(estimate_with)]
    if memory is not None and verdict(now, memory).fits == "no":
        told += _when_too_much(plan, now, estimate_with, memory)
    return tuple(told)


def _when_too_much(plan: Plan, now: Estimate, estimate_with: EstimateWith, memory: float) -> Iterator[str]:
    weights = max(moment.terms.get("weights", 0.0) for moment in now.moments)
    card = _gib(memory)
    if weights > memory:
        whose = "every GPU holds a copy of all weights" if _replicas(plan) else "the weights alone need more"
        smaller = "smaller batches, shorter rows" if plan.method == "inference" else "smaller batches, shorter rows, checkpointing"
        yield f"{smaller}: {whose}, {_gib(weights)}; {card} can never hold that"
    if _replicas(plan):
        yield f"more GPUs of this kind under DDP: each of them holds all of the weights ({_gib(weights)}) and its own activations"
    own = sum(now.peak.terms.get(term, 0.0) for term in ("activations", "logits"))
    if plan.method != "inference" and plan.quant == "none" and own > _MOST * now.peak.total:
        count = max(plan.gpus + 1, 2)
        way = "fsdp" if plan.sharding == "fsdp" else "zero3"
        then = estimate_with({"gpu.count": count, "plan.distributed": way})
        if verdict(then, memory).fits == "no":
            which = "a second GPU" if count == 2 else f"GPU number {count}"
            name = "FSDP" if way == "fsdp" else "ZeRO-3"
            yield (
                f"{which} under {name}: still {_gib(then.allocated.expected)} on each; activations and logits ({_gib(own)}) are "
                "not shared out, weights and states are"
            )
    states = max(moment.terms.get("optimizer", 0.0) for moment in now.moments)
    if plan.method == "adapter" and 0 < states < 0.02 * now.peak.total:
        yield f"an 8-bit optimizer: the states of what is trained are only {_gib(states)}"
    yield "PYTORCH_CUDA_ALLOC_CONF: fragments are not what is too much; what is allocated is"


def _replicas(plan: Plan) -> bool:
    return plan.gpus > 1 and plan.sharding in ("none", "ddp")


def _checkpointing(estimate_with: EstimateWith) -> str:
    then = estimate_with({"plan.gradient_checkpointing": True, "model.gc_support": "inherited"})
    return (
        "gradient_checkpointing=True: this snapshot's own gradient_checkpointing_enable() switches nothing on. "
        "PreTrainedModel.gradient_checkpointing_enable(model) does (transformers 4.35 and later), or another revision of the files: "
        f"then {_gib(then.allocated.expected)}"
    )


def _gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB" if count >= 0.1 * GIB else f"{count / 2**20:.0f} MiB"
