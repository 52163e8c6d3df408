"""What FSDP gathers and has of gradients beside a GPU's own share, moment by moment.

Counted from the storages that live in runs of both (``--exact``, benchmarks/fit_draws.py --sharded): FullyShardedDataParallel holds what
stands outside of the layers, the root, for the whole pass, gathers a layer into a buffer of its own and in the backward the next one beside
it; the gradients of a flat parameter are cut apart by its views and joined again. ``fully_shard`` copies what it gathers out of a
buffer that stays until the next one is there, and so do the gradients that are reduced; embeddings and output layer are groups of their own
from accelerate 1.14 on.
"""

from __future__ import annotations

from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.sharding import ends_apart
from envdoctor.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Gathered:
    """Bytes of whole weights at the moments of a pass, and of whole gradients: ``head_gradient`` from the backward of the loss on,
    ``layer_gradient`` in the backward of a layer, ``last_gradient`` when those of the embeddings are shared out. ``lowest``
    are weights in the backward of the first layer, in front of which nothing is gathered, ``between`` those between the backwards of two
    layers, where that is more, and ``copied`` what is gone of ``forward`` when a
    layer computes. ``prepared`` is the largest flat parameter as it is stored, whole for a moment before the first forward."""

    prepared: float = 0.0
    first: float = 0.0
    forward: float = 0.0
    head: float = 0.0
    loss: float = 0.0
    backward_loss: float = 0.0
    layer: float = 0.0
    lowest: float = 0.0
    between: float = 0.0
    copied: float = 0.0
    end: float = 0.0
    step: float = 0.0
    head_gradient: float = 0.0
    layer_gradient: float = 0.0
    last_gradient: float = 0.0


def is_shared(plan: Plan) -> bool:
    """Alone FSDP shards nothing (torch/distributed/fsdp/_init_utils.py: NO_SHARD for a world of one)."""
    return plan.sharding == "fsdp" and plan.gpus > 1


def width(plan: Plan, stored: float) -> float:
    """Bytes of a gathered parameter: mixed precision gathers what it computes in."""
    return float(WIDTH[plan.autocast]) if plan.autocast is not None and plan.quant == "none" else stored


def kept_after_forward(plan: Plan, counted: Gathered, layer: float, layers: int) -> Gathered:
    """The same where no layer gives its weights back after the forward (SHARD_GRAD_OP, ``reshard_after_forward=False``): all of them are
    there from the last one's forward to its backward."""
    if plan.resharded or not is_shared(plan):
        return counted
    # One layer's buffer is in the figure of the loss already where embeddings and output layer are no groups of their own.
    whole = counted.loss + (layers - (1 if plan.second and not ends_apart(plan) else 0)) * layer
    return replace(
        counted,
        forward=max(counted.forward, whole),
        head=max(counted.head, whole),
        loss=whole,
        backward_loss=whole,
        layer=max(counted.layer, whole),
    )


def is_one(plan: Plan) -> bool:
    """Whether the whole model is one flat parameter: no wrap policy was given (``FullyShardedDataParallel(model)``)."""
    return is_shared(plan) and not plan.second and not plan.wrapped


def of_one_unit(plan: Plan, whole: float) -> Gathered:
    """All weights from the first moment of the forward to the end of the backward, since the root gives nothing back in between; at the end
    the gradients of the views and the flat one that they are joined into."""
    trained = plan.method == "full"
    return Gathered(
        first=whole,
        forward=whole,
        head=whole,
        loss=whole,
        backward_loss=whole,
        layer=whole,
        lowest=whole,
        end=whole,
        last_gradient=2 * whole - whole / plan.gpus if trained else 0.0,
    )


def with_embeddings_apart(plan: Plan, embedding: float, head: float, layer: float, made: float) -> Gathered:
    """``FullyShardedDataParallel`` of an encoder whose embeddings are a unit: there before the first layer and in the last moment, and
    nothing of the root is large."""
    alone = gathered(plan, 0.0, head, layer, 0.0)
    trained = plan.method == "full"
    return replace(
        alone,
        first=max(alone.first, embedding + layer),
        end=embedding if trained else 0.0,
        last_gradient=2 * embedding - made if trained else 0.0,
    )


def gathered(plan: Plan, embedding: float, head: float, layer: float, made: float) -> Gathered:
    """``embedding``, ``head`` (0 where it is tied) and ``layer`` are bytes as they are gathered, ``made`` those of the root's gradients
    as one GPU keeps them, which are not there before the last moment."""
    root, last = embedding + head, head or embedding
    trained = plan.method == "full"
    if not plan.second:
        # The hooks of a layer without trained weights of its own flat parameter gather no next one.
        ahead = 2 if trained else 1
        # Frozen, it is given back by a hook on its input, behind the one that gathers the layer below
        # (_register_post_backward_reshard_only_hook of torch 2.13.0).
        return Gathered(
            first=root + layer,
            forward=root + layer,
            head=root,
            loss=root,
            # The hook of the root gathers the last layer.
            backward_loss=root + layer,
            layer=root + ahead * layer,
            lowest=root + layer,
            between=0.0 if trained else root + 2 * layer,
            end=root,
            head_gradient=last if trained else 0.0,
            layer_gradient=2 * layer if trained else 0.0,
            last_gradient=2 * root + (embedding if not head else 0.0) - made if trained else 0.0,
        )
    # Both gradients of a tied embedding lie beside their sum before that is reduced.
    copied, tied = root / plan.gpus, not head
    if not ends_apart(plan):
        return Gathered(
            first=2 * root + 2 * layer,
            # The buffer of the layer before, and the layer's own with what is copied out of it.
            forward=root + 3 * layer,
            head=root + layer,
            loss=root + layer,
            backward_loss=root + layer,
            layer=root + 2 * layer,
            lowest=root + 2 * layer,
            copied=layer,
            end=root if tied else 0.0,
            head_gradient=last if trained else 0.0,
            layer_gradient=2 * layer if trained else 0.0,
            last_gradient=(3 * embedding - made if tied else root + last + copied) if trained else 0.0,
        )
    return Gathered(
        first=2 * embedding + layer,
        forward=(embedding if tied else 0.0) + 3 * layer,
        head=2 * last + layer,
        loss=2 * last,
        backward_loss=last,
        layer=(embedding if tied else 0.0) + 2 * layer,
        lowest=(embedding if tied else 0.0) + 2 * layer,
        copied=layer,
        end=embedding if tied else 0.0,
        head_gradient=last if trained else 0.0,
        layer_gradient=2 * layer if trained else 0.0,
        last_gradient=(3 * embedding - made if tied else 2 * embedding + embedding / plan.gpus) if trained else 0.0,
    )
