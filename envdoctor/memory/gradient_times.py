"""Gradients by when they are there: which are the first and the last ones of a pass, and what waits of earlier micro-batches."""

from __future__ import annotations

from envdoctor.memory import fsdp, sharding
from envdoctor.memory.plan import WIDTH
from envdoctor.memory.run import Run


def root_gradient(run: Run) -> float:
    """The gradient of the output layer, the first that is there."""
    made = run.trained
    if run.plan.method != "full":
        if not made.keeps_gradients:
            return 0.0
        return made.root_gradients * run.shares.gradients
    if run.architecture.head != "causal":
        return 0.0
    # ZeRO-3 reduces it when it is there as a whole.
    return (run.parameters.head or run.parameters.embedding) * made.width * (1.0 if run.plan.sharding == "zero3" else run.shares.gradients)


def accumulated(run: Run, gradients: float) -> float:
    """Gradients that are there while the next micro-batch runs. FSDP does not reduce them until the last one (``no_sync``, which accelerate
    enters for all but the last): they are whole then."""
    if run.plan.sharding == "megatron":
        return gradients
    if run.plan.accumulation < 2:
        return gradients if sharding.holds_gradients(run.plan) else 0.0
    if run.plan.joined:
        return gradients + of_frozen(run) * (1 - run.shares.gradients)
    whole = run.plan.sharding == "fsdp" and run.plan.method == "full" and run.trained.keeps_gradients
    if not whole or not sharding.waits_to_reduce(run.plan):
        return gradients
    # In the dtype that is computed in, as long as they are whole.
    return run.trained.parameters * fsdp.width(run.plan, run.trained.width) if fsdp.is_shared(run.plan) else run.trained.gradients


def of_frozen(run: Run) -> float:
    """Bytes of whole gradients of frozen weights: those that are in one flat parameter with an adapter have them too ("higher than expected
    gradient memory usage", FullyShardedDataParallel of torch 2.13.0 on mixing both)."""
    plan = run.plan
    if not plan.joined or not fsdp.is_shared(plan) or plan.second:
        return 0.0
    return (run.parameters.linear + run.parameters.other) * fsdp.width(plan, WIDTH[plan.load_dtype])


def reduced(run: Run, gradients: float, head: float) -> float:
    """Gradients that are there in the backward of the first layer, but for its own. ``head`` is that of the output layer as FSDP has it."""
    plan, made = run.plan, run.trained
    if plan.sharding == "megatron":
        return gradients
    if not fsdp.is_shared(plan) or plan.method != "full" or not made.keeps_gradients:
        return gradients - _to_come(run)
    if fsdp.is_one(plan):
        return (run.parameters.total - run.parameters.embedding) * fsdp.width(plan, made.width)
    # A layer's come all together. The root's wait for the end, whole, unless they are groups of their own.
    layers = max(run.architecture.layers, 1)
    above = (run.parameters.linear + run.parameters.other) * (layers - 1) / layers * made.width * run.shares.gradients
    apart = sharding.ends_apart(plan) and not is_tied(run)
    if plan.accumulation > 1 and not sharding.waits_to_reduce(plan):
        # Of all of them there is the part of earlier micro-batches.
        return gradients + (0.0 if apart else head)
    return above + (run.parameters.head * made.width * run.shares.gradients if apart else head)


def root_accumulated(run: Run) -> float:
    """Gradients of embeddings and output layer of earlier micro-batches under FSDP: whole where they wait for the last one, else a part."""
    plan, made = run.plan, run.trained
    if plan.accumulation < 2 or plan.method != "full" or not made.keeps_gradients:
        return 0.0
    waits = sharding.waits_to_reduce(plan)
    width = fsdp.width(plan, made.width) if waits else made.width * run.shares.gradients
    return (run.parameters.embedding + run.parameters.head) * width


def _to_come(run: Run) -> float:
    """Gradients that are not there yet in the backward of the first layer: its own, and the embeddings', which a tied one has from the
    output layer on."""
    if run.plan.method != "full" or not run.trained.keeps_gradients:
        return _adapters_to_come(run) * run.shares.gradients if run.trained.keeps_gradients else 0.0
    own = (run.parameters.linear + run.parameters.other) / max(run.architecture.layers, 1)
    # That of its last product is the first one there.
    own -= sum(one.parameters for one in run.architecture.linears if one.role == "down")
    return (own + (0 if is_tied(run) else run.parameters.embedding)) * run.trained.width * run.shares.gradients


def _adapters_to_come(run: Run) -> float:
    """The same of adapters: a trained embedding's, and those of the first layer in front of its last product."""
    made = run.trained
    sizes = {one.role: 0.0 for one in run.targets}
    for one in run.targets:
        sizes[one.role] += one.count * (one.inputs + one.outputs)
    total = sum(sizes.values())
    early = 1 - sizes.get("down", 0.0) / total if total else 0.0
    return made.last_gradients + made.low_rank * early / max(run.architecture.layers, 1)


def is_tied(run: Run) -> bool:
    """Whether the embedding is the output layer too: a model that classifies has another one."""
    return run.architecture.tied and run.architecture.head == "causal"


def of_embeddings(run: Run) -> float:
    """Bytes of the gradients of a trained embedding beside the one that is left of them.

    Where gradients of earlier micro-batches are there, the new one lies beside them until it is added. A tied embedding has two, that of
    the output layer waiting for the other one. Their sum is a tensor of its own: the one that waits is a view (``t()``), whose base
    lives, and the engine adds up in place only where nothing else holds the storage (torch/csrc/autograd/input_buffer.cpp; the profiler
    shows ``aten::add`` of torch 2.5.1 and 2.13.0 there). A gradient that is cast, as that of autocast's copy of a weight, is no view, nor
    is the one that a loss in chunks adds up.
    """
    plan = run.plan
    if plan.method == "full" and not run.trained.keeps_gradients:
        return float(run.parameters.embedding * run.trained.width * (2 if is_tied(run) else 1)) * run.shares.gradients
    earlier = 1 if plan.accumulation > 1 else 0
    if plan.method != "full":
        return earlier * run.trained.last_gradients * run.shares.gradients
    in_place = plan.liger or (plan.autocast is not None and plan.autocast != plan.load_dtype)
    both = (1 if in_place else 2) if is_tied(run) else 0
    return float(run.parameters.embedding * run.trained.width * (both + earlier)) * run.shares.gradients
