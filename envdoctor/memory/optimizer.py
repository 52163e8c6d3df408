"""What an optimizer keeps for each trainable parameter, and what its step takes for a moment.

States have the dtype of the parameter (torch.optim) unless said. Names are those of transformers' ``OptimizerNames``.
"""

from __future__ import annotations

from envdoctor.memory.optimizer_names import listed
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass, replace

# One float32 absmax for 256 values (bitsandbytes 0.43 and later; 2048 before), in each of the two states.
_BLOCK = 4 / 256


@dataclass(frozen=True, slots=True)
class Optimizer:
    """``moments`` are states as wide as the parameter; ``bytes`` are states of a fixed width; ``transient`` is how many copies, as wide
    as the parameter, one step makes of all parameters at once. ``paged`` states lie in memory that the allocator does not count.

    ``largest`` are bytes for each element of the largest parameter, one of 16 bits and one of 32, that a step makes which walks through the
    parameters one by one. ``rank`` of a low-rank projection of the gradient, 0 without; ``factored`` states are as long as rows and
    columns, not as both. ``keeps_gradients`` is False where each gradient is used and freed as soon as it is there.
    """

    moments: int = 2
    bytes: float = 0.0
    transient: float = 1.0
    paged: bool = False
    largest: tuple[int, int] = (0, 0)
    rank: int = 0
    factored: bool = False
    keeps_gradients: bool = True


_EIGHT = 2 * (1 + _BLOCK)
_KNOWN: dict[str, Optimizer] = {
    # torch's AdamW takes the foreach path on CUDA: the square root of the second moment is one new tensor for each parameter, all at once
    # (torch/optim/adamw.py, _multi_tensor_adamw: exp_avg_sq_sqrt). The fused kernel makes none.
    "adamw_torch": Optimizer(),
    "adamw": Optimizer(),
    "adam": Optimizer(),
    "adamw_torch_fused": Optimizer(transient=0),
    "adamw_torch_xla": Optimizer(),
    "adamw_torch_npu_fused": Optimizer(transient=0),
    "adamw_apex_fused": Optimizer(transient=0),
    # What DeepSpeed makes of "AdamW" in its own configuration: FusedAdam, whose kernel works in place (deepspeed/ops/adam/fused_adam.py).
    "deepspeed_adamw": Optimizer(transient=0),
    "adamw_anyprecision": Optimizer(),
    # transformers' own AdamW walks through the parameters one by one: what it makes is of one tensor at a time.
    "adamw_hf": Optimizer(transient=0, largest=(2, 4)),
    "adamw_torch_8bit": Optimizer(moments=0, bytes=_EIGHT, transient=0),
    # Of one parameter at a time both moments as float32, and their codes as int64 before two go into a byte (quant_utils.py of torchao
    # 0.13.0); two runs of Gefen-X with the embeddings of Qwen3 are within 0.5 % with that (benchmarks/unseen/memory-5.json, 19 and 22).
    "adamw_torch_4bit": Optimizer(moments=0, bytes=2 * (0.5 + 4 / 128), transient=0, largest=(24, 24)),
    "adamw_8bit": Optimizer(moments=0, bytes=_EIGHT, transient=0),
    "adamw_bnb_8bit": Optimizer(moments=0, bytes=_EIGHT, transient=0),
    "ademamix": Optimizer(moments=3, transient=0),
    "ademamix_8bit": Optimizer(moments=0, bytes=1.5 * _EIGHT, transient=0),
    "paged_ademamix_8bit": Optimizer(moments=0, bytes=1.5 * _EIGHT, transient=0, paged=True),
    "paged_ademamix_32bit": Optimizer(moments=3, transient=0, paged=True),
    # bitsandbytes keeps 32-bit states whatever the parameter's dtype is.
    "adamw_bnb_32bit": Optimizer(moments=0, bytes=8, transient=0),
    "paged_adamw": Optimizer(moments=0, bytes=8, transient=0, paged=True),
    "paged_adamw_32bit": Optimizer(moments=0, bytes=8, transient=0, paged=True),
    "paged_adamw_8bit": Optimizer(moments=0, bytes=_EIGHT, transient=0, paged=True),
    "lion": Optimizer(moments=1, transient=0),
    "lion_32bit": Optimizer(moments=0, bytes=4, transient=0),
    "lion_8bit": Optimizer(moments=0, bytes=_EIGHT / 2, transient=0),
    "paged_lion_32bit": Optimizer(moments=0, bytes=4, transient=0, paged=True),
    "paged_lion_8bit": Optimizer(moments=0, bytes=_EIGHT / 2, transient=0, paged=True),
    "rmsprop": Optimizer(moments=1),
    "rmsprop_bnb": Optimizer(moments=0, bytes=4, transient=0),
    "rmsprop_bnb_8bit": Optimizer(moments=0, bytes=_EIGHT / 2, transient=0),
    "rmsprop_bnb_32bit": Optimizer(moments=0, bytes=4, transient=0),
    "sgd": Optimizer(moments=0, transient=0),
    "sgd_momentum": Optimizer(moments=1, transient=0),
    "adagrad": Optimizer(moments=1),
    # Rows and columns instead of the second moment, and no first one by default (https://arxiv.org/abs/1804.04235). Its step makes float32
    # of a gradient and of the parameter, and squares the one (transformers/optimization.py: ``update = (grad**2) + eps``).
    "adafactor": Optimizer(moments=0, transient=0, largest=(16, 8), factored=True),
    "lomo": Optimizer(moments=0, transient=0, keeps_gradients=False),
    "adalomo": Optimizer(moments=0, transient=0, factored=True, keeps_gradients=False),
    "galore_adamw": Optimizer(transient=0, rank=128),
    "galore_adamw_8bit": Optimizer(moments=0, bytes=_EIGHT, transient=0, rank=128),
    "galore_adafactor": Optimizer(moments=0, transient=0, rank=128, factored=True),
    "galore_adamw_layerwise": Optimizer(transient=0, rank=128, keeps_gradients=False),
    "galore_adamw_8bit_layerwise": Optimizer(moments=0, bytes=_EIGHT, transient=0, rank=128, keeps_gradients=False),
    "galore_adafactor_layerwise": Optimizer(moments=0, transient=0, rank=128, factored=True, keeps_gradients=False),
    "apollo_adamw": Optimizer(transient=0, rank=256),
    "apollo_adamw_layerwise": Optimizer(transient=0, rank=256, keeps_gradients=False),
    "grokadamw": Optimizer(moments=3),
    "schedule_free_adamw": Optimizer(moments=2),
    "schedule_free_radam": Optimizer(moments=2),
    "schedule_free_sgd": Optimizer(moments=1),
    "stable_adamw": Optimizer(moments=2),
    "muon": Optimizer(moments=1),
    # A first moment as wide as the gradient, of which it makes float32; rows and columns of the rest; three float32 beside a gradient in
    # its step (CAME.py of came-pytorch 0.1.3).
    "came": Optimizer(moments=0, bytes=4, transient=0, largest=(16, 12)),
    # Both moments, the weights that it began with and a sum of gradients (prodigy.py of prodigyopt 1.1.2, slice_p=1).
    "prodigy": Optimizer(moments=4, transient=0, largest=(2, 4)),
    # One first moment, and one second for each row or head (adam_mini.py of adam-mini 1.1.1).
    "adam_mini": Optimizer(moments=1, transient=0, largest=(4, 8)),
}


def find(name: str) -> Optimizer | None:
    """The optimizer of a name as a plan writes it; None for one that is not known."""
    return _KNOWN.get(listed(name, _KNOWN) or "")


def of(plan: Plan) -> Optimizer:
    """The plan's optimizer; one of an unknown name is counted as AdamW, which the plan's reader says.

    Before torch 2.1 AdamW's root of the second moment and the sum of that and epsilon were two tensors (``torch._foreach_add``, 2.0.1).
    """
    found = find(plan.optimizer) or Optimizer()
    release = plan.stack.torch
    old = release not in ("", "-") and not at_least(release, "2.1")
    found = replace(found, transient=2.0) if old and found == Optimizer() else found
    if plan.state_dtype is not None:
        found = replace(found, moments=0, bytes=found.bytes + found.moments * WIDTH[plan.state_dtype])
    return _in_backward(found) if plan.in_backward else found


def _in_backward(optimizer: Optimizer) -> Optimizer:
    """The same optimizer, one for each parameter, which steps in a hook of its gradient (``register_post_accumulate_grad_hook``): what its
    step makes is of one parameter at a time."""
    two, four = optimizer.largest
    made = optimizer.transient
    return replace(optimizer, keeps_gradients=False, transient=0.0, largest=(two + round(2 * made), four + round(4 * made)))


def state_bytes(optimizer: Optimizer, width: float, hidden: int) -> float:
    """Bytes of states for one parameter of ``width`` bytes that stands in matrices of about ``hidden`` rows or columns."""
    if optimizer.paged:
        return 0.0
    if optimizer.factored:
        return 4 * 2 / max(hidden, 1)
    states = optimizer.moments * width + optimizer.bytes
    if optimizer.rank:
        # The states of the projected gradient, and the projection itself.
        return states * min(1.0, optimizer.rank / max(hidden, 1)) + width * min(1.0, optimizer.rank / max(hidden, 1))
    return states
