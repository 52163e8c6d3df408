"""Whole weights that one GPU has for a moment beside its own share: FSDP's units, and what ZeRO-3 gathers."""

from __future__ import annotations

from envdoctor.memory import fsdp, modeling, sharding
from envdoctor.memory.run import Run
from envdoctor.memory.weights import base_bytes, linear_width, other_width, root_bytes
from envdoctor.records import replace

# Whose class names its embeddings among what is not to be split, so that FSDP makes them a unit (``_no_split_modules`` of 4.51.3, 5.0.0 and
# 5.24.0; XLM-RoBERTa's and ELECTRA's are of the same files or name none).
_EMBEDDINGS_APART = frozenset(("bert", "roberta", "xlm-roberta", "modernbert"))


def by_fsdp(run: Run) -> fsdp.Gathered:
    """What FSDP gathers; nothing where it shares nothing."""
    plan, counted = run.plan, run.parameters
    if not fsdp.is_shared(plan):
        return fsdp.Gathered()
    outside = fsdp.width(plan, other_width(plan))
    inside = fsdp.width(plan, linear_width(run.architecture, plan))
    layer = (counted.linear * inside + counted.other * outside) / max(run.architecture.layers, 1)
    if fsdp.is_one(plan):
        return fsdp.of_one_unit(plan, layer * run.architecture.layers + (counted.embedding + counted.head) * outside)
    made = (counted.embedding + counted.head) * run.trained.width * run.shares.gradients
    shared = fsdp.gathered(plan, counted.embedding * outside, counted.head * outside, layer, made)
    if not plan.second and run.architecture.kind in _EMBEDDINGS_APART and run.architecture.head != "causal":
        shared = fsdp.with_embeddings_apart(plan, counted.embedding * outside, counted.head * outside, layer, made)
    if not plan.second and other_width(plan) > outside:
        # FullyShardedDataParallel makes a buffer of the stored dtype for each flat parameter that is computed in another, and empties it
        # (``_full_prec_full_param_padded`` in init_flat_param_attributes of torch 2.13.0, distributed/fsdp/_flat_param.py).
        root = max(counted.embedding, counted.head) * outside if run.architecture.kind in _EMBEDDINGS_APART else shared.head
        shared = replace(shared, prepared=max(root, layer) * other_width(plan) / outside)
    if not plan.second and plan.method == "adapter" and modeling.hides_keys_in_inputs(run.architecture, plan):
        # A frozen layer is given back when all that it was given has its gradient (_register_post_backward_reshard_only_hook of torch
        # 2.13.0): with the keys of the layers before among it, when that of the first layer is through.
        root = (counted.embedding + counted.head) * outside
        shared = replace(shared, lowest=root + run.architecture.layers * layer)
    return fsdp.kept_after_forward(plan, shared, layer, run.architecture.layers)


def with_layers(run: Run, layers: int) -> float:
    """Bytes that are gathered at once while so many layers are."""
    root = root_bytes(run.parameters, run.plan)
    in_layers = run.parameters.linear / max(run.architecture.layers, 1)
    layer = in_layers * linear_width(run.architecture, run.plan)
    return sharding.gathered(run.plan, root, layer, in_layers, base_bytes(run.architecture, run.parameters, run.plan), layers)


def in_other_streams(run: Run) -> float:
    """Bytes of blocks that hold what was gathered, which the stream of the computation cannot take."""
    if fsdp.is_one(run.plan):
        return by_fsdp(run).layer
    return with_layers(run, 2) if run.plan.sharding in ("fsdp", "zero3") else 0.0


def kept(run: Run) -> float:
    """Bytes of gathered weights that products keep for their backward, where ZeRO-3 could not replace torch's linear layer."""
    kept_whole = run.parameters.linear * linear_width(run.architecture, run.plan)
    kept_whole += (run.parameters.head or run.parameters.embedding) * other_width(run.plan)
    return kept_whole if sharding.keeps_gathered(run.plan) else 0.0
