"""How ranks share weights, gradients and optimizer states, and what they hold for a moment to do so."""

from __future__ import annotations

from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass

_LIVE_PARAMETERS = 1_000_000_000
"""stage3_max_live_parameters of DeepSpeed, in elements: https://www.deepspeed.ai/docs/config-json/"""
_BUCKET = 500_000_000
"""reduce_bucket_size and allgather_bucket_size of DeepSpeed, in elements (same page)."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Which part of each one GPU holds."""

    weights: float = 1.0
    gradients: float = 1.0
    optimizer: float = 1.0
    activations: float = 1.0


def shares(plan: Plan) -> Shares:
    """The parts by the plan's way of distributing; what is offloaded to the CPU is none."""
    part = 1 / max(plan.gpus, 1)
    way = {
        "none": Shares(),
        "ddp": Shares(),
        "zero1": Shares(optimizer=part),
        "zero2": Shares(gradients=part, optimizer=part),
        "zero3": Shares(part, part, part),
        "fsdp": Shares(part, part, part),
        # Layers lie on one GPU after the other: each holds its own, and the activations of its own.
        "device_map": Shares(part, part, part, part),
    }[plan.sharding]
    if plan.offload in ("optimizer", "both"):
        way = Shares(way.weights, way.gradients, 0.0, way.activations)
    if plan.offload in ("parameters", "both"):
        way = Shares(0.0, way.gradients, way.optimizer, way.activations)
    return way


def is_deepspeed(plan: Plan) -> bool:
    return plan.sharding in ("zero1", "zero2", "zero3")


def widens_frozen(plan: Plan) -> bool:
    """Whether frozen weights become float32 beside mixed precision: those of FSDP2 before accelerate 1.13 (fsdp2_prepare_model of 1.8.1
    to 1.12.0: ``model.to(torch.float32)``; from 1.13.0 what requires a gradient)."""
    return plan.second and plan.autocast is not None and not at_least(plan.stack.accelerate, "1.13")


def ends_apart(plan: Plan) -> bool:
    """Whether embeddings and output layer are gathered by themselves, as FSDP2's are from accelerate 1.14 on."""
    return plan.second and at_least(plan.stack.accelerate, "1.14")


def gathered(plan: Plan, root: float, layer: float, layer_parameters: float, whole: float, layers: int) -> float:
    """Bytes of whole weights that are gathered at once beside the GPU's own share, while ``layers`` layers are.

    FSDP gathers what stands outside of the layers for the whole pass, into a buffer of its own, and in the backward the layer at work and
    the next one (backward prefetch, https://docs.pytorch.org/docs/stable/fsdp.html). DeepSpeed keeps up to
    ``stage3_max_live_parameters`` elements beside the module at work, of which embeddings and output layer are the largest.
    """
    missing = 1 - shares(plan).weights
    if plan.sharding == "fsdp":
        # Alone it shards nothing (torch/distributed/fsdp/_init_utils.py: NO_SHARD for a world of one): the weights are whole as they are,
        # and only what mixed precision computes in is another copy.
        return root + layers * layer if plan.gpus > 1 or plan.autocast is not None else 0.0
    if plan.sharding == "zero3" and layer_parameters:
        return missing * min(whole, layer / layer_parameters * _LIVE_PARAMETERS + root)
    return 0.0


def buckets(plan: Plan, trainable: float, width: float) -> float:
    """Bytes of the buffers in which gradients travel: DDP keeps a copy of all of them, DeepSpeed fills two buckets."""
    if plan.gpus < 2 and not is_deepspeed(plan):
        return 0.0
    if plan.sharding == "ddp":
        return trainable * width
    if plan.sharding in ("zero1", "zero2"):
        return min(trainable, _BUCKET) * width * 2
    if plan.sharding == "zero3":
        return min(trainable, _BUCKET) * width
    return 0.0
