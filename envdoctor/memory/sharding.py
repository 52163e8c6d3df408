"""How ranks share weights, gradients and optimizer states, and what they hold for a moment to do so."""

from __future__ import annotations

from envdoctor.memory.estimate import Term
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass

_LIVE_PARAMETERS = 1_000_000_000
"""stage3_max_live_parameters of DeepSpeed, in elements: https://www.deepspeed.ai/docs/config-json/"""
_BUCKET = 500_000_000
"""reduce_bucket_size and allgather_bucket_size of DeepSpeed, in elements (same page)."""
_SUB_GROUP = 1_000_000_000.0
"""sub_group_size of DeepSpeed, in elements of one GPU (same page)."""


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
        # The distributed optimizer of Megatron-Core, on in ms-swift's arguments (use_distributed_optimizer of 3.8.0).
        "megatron": Shares(optimizer=part),
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


def waits_to_reduce(plan: Plan) -> bool:
    """Whether gradients of earlier micro-batches wait whole for the last one: before accelerate 1.11 ``Accelerator.no_sync`` had no way to
    tell ``fully_shard`` so (``set_requires_gradient_sync``; 1.10.1 and 1.11.0)."""
    return not plan.second or at_least(plan.stack.accelerate, "1.11")


def ends_apart(plan: Plan) -> bool:
    """Whether embeddings and output layer are gathered by themselves, as FSDP2's are from accelerate 1.14 on."""
    return plan.second and at_least(plan.stack.accelerate, "1.14")


def gathered(plan: Plan, root: float, layer: float, layer_parameters: float, whole: float, layers: int) -> float:
    """Bytes of whole weights that are gathered at once beside the GPU's own share, while ``layers`` layers are.

    FSDP gathers what stands outside of the layers for the whole pass, into a buffer of its own, and in the backward the layer at work and
    the next one (backward prefetch, https://docs.pytorch.org/docs/stable/fsdp.html). DeepSpeed keeps up to
    ``stage3_max_live_parameters`` elements beside the module at work, of which embeddings and output layer are the largest; what it
    gathers is whole and lies beside the GPU's own share (``flat_tensor = torch.empty(partition_sz * world_size)``, partition_parameters.py
    of deepspeed 0.14.2; a world of one gathers nothing, ``NoGatherHandle``).
    """
    if plan.sharding == "fsdp":
        # Alone it shards nothing (torch/distributed/fsdp/_init_utils.py: NO_SHARD for a world of one): the weights are whole as they are,
        # and only what mixed precision computes in is another copy.
        return root + layers * layer if plan.gpus > 1 or plan.autocast is not None else 0.0
    if plan.sharding == "zero3" and layer_parameters and shares(plan).weights < 1:
        return min(whole, layer / layer_parameters * _LIVE_PARAMETERS + root)
    return 0.0


def keeps_gathered(plan: Plan) -> bool:
    """Whether the weights that a forward gathered may stay until their backward: under ZeRO-3, of a model made outside of ``zero.Init``.

    Entering ``zero.Init`` replaces ``torch.nn.functional.linear`` by one that keeps the parameter itself (``patch_init_and_builtins`` and
    ``zero3_linear_wrap``; deepspeed 0.14.2, runtime/zero/partition_parameters.py and linear.py). A model that is partitioned afterwards
    (``Init(module=...)``) never enters it: torch's own keeps ``weight.t()``, a view, and with it what was gathered. Transformers enters it
    in ``from_pretrained`` where the training arguments were made before. A checkpointed layer keeps nothing.
    """
    return plan.sharding == "zero3" and plan.gpus > 1 and not plan.checkpointing and plan.method in ("full", "adapter")


def holds_gradients(plan: Plan) -> bool:
    """Whether one buffer of a GPU's part of all gradients is there from the start: ``grad_partitions_flat_buffer`` of ZeRO-3 (deepspeed
    0.14.2, runtime/zero/stage3.py), which lies on the CPU where the optimizer does."""
    return plan.sharding == "zero3" and plan.offload not in ("optimizer", "both")


def in_other_streams(plan: Plan, trainable: float, width: float) -> float:
    """Bytes of gradients in blocks that the stream of the computation cannot take again: ZeRO-3 reduces in a stream of its own, up to three
    buckets are on their way (``max_param_reduce_events`` is 2), and ``torch.cat`` puts one together in that stream
    (``reduce_scatter_coalesced``; deepspeed 0.14.2, runtime/zero/stage3.py and comm/coalesced_collectives.py). How many of them are there
    at the peak depends on how far the CPU runs ahead, and ``active_bytes`` counts them: they belong to the upper end of the range."""
    return min(trainable, 4 * _BUCKET) * width if plan.sharding == "zero3" and plan.method != "inference" else 0.0


def overflow_check(plan: Plan, largest: float, width: float) -> tuple[tuple[str, dict[Term, float]], ...]:
    """The moment in which ZeRO-1 or ZeRO-2 with its optimizer on the CPU looks for an overflow in the largest gradient; none elsewhere.

    ``_has_inf_or_nan`` makes a float32 copy, three masks and a float32 of the last of them: 11 bytes for each element beside the gradient
    (deepspeed 0.14.2, runtime/zero/stage_1_and_2.py; every gradient goes through it in ``copy_grads_in_partition``).
    """
    if plan.sharding not in ("zero1", "zero2") or plan.offload != "optimizer" or plan.method != "full":
        return ()
    return (("overflow check", {"gradients": largest * (width + 11)}),)


def third_stage_step(transient: float, trainable: int, plan: Plan, *, wide: bool) -> tuple[float, float]:
    """Bytes for each parameter that a step of ZeRO-3 makes, and of how many at once.

    ``_prepare_fp32_grad_for_sub_group`` flattens the gradients of a group of at most ``sub_group_size`` elements into a new tensor and
    makes a float32 one of it (deepspeed 0.14.2, runtime/zero/stage3.py); the optimizer sees one group after the other.
    """
    flattened = 4.0 if wide else 6.0
    return max(flattened, 4.0 * (1 + transient)), min(float(trainable), _SUB_GROUP * max(plan.gpus, 1))


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
