"""What a step has beside what the layers keep: copies of weights, outputs, the batch."""

from __future__ import annotations

from envdoctor.memory import dora, kept, logits, modeling
from envdoctor.memory.plan import Plan
from envdoctor.memory.run import Run
from envdoctor.memory.trained import Casts


def casts(run: Run) -> Casts:
    """Copies of weights that are stored in another dtype than autocast's.

    It keeps those of trained float32 weights until the forward ends (``cached_cast``, aten/src/ATen/autocast_mode.cpp); then each lives
    as long as its product waits for the backward, as those of frozen weights do from the start. A checkpointed layer makes its own again.
    """
    plan, parameters = run.plan, run.parameters
    if plan.autocast is None or plan.sharding == "fsdp" or plan.method not in ("full", "adapter"):
        return Casts()
    layers = parameters.linear * 2.0 if plan.quant == "none" and plan.load_dtype != plan.autocast else 0.0
    head = (parameters.head or parameters.embedding) * 2.0 if plan.upcast or plan.load_dtype != plan.autocast else 0.0
    if run.architecture.head != "causal":
        head = 0.0
    low_rank = run.trained.low_rank / 2 if plan.adapter is not None and plan.adapter.float32 else 0.0
    one = (layers + low_rank) / max(run.architecture.layers, 1)
    if plan.checkpointing:
        cached = layers if run.trained.casts else 0.0
        return Casts(cached + low_rank + head, head, one, one)
    whole = layers + low_rank - (_before_adapters(run) if layers else 0.0)
    return Casts(whole + head, whole + head, whole, one)


# In which order a layer multiplies.
_ORDER = {
    "query": 0,
    "key": 0,
    "value": 0,
    "key_value": 0,
    "attention": 0,
    "latent": 0,
    "output": 1,
    "gate": 2,
    "up": 2,
    "gate_up": 2,
    "down": 3,
}


def _before_adapters(run: Run) -> float:
    """Bytes of the copies of frozen weights that the first layer frees at once: those of products whose input has no gradient, up to the
    one that its first adapter stands beside."""
    if run.plan.method != "adapter" or run.architecture.parallel or not run.kinds or trains_embeddings(run.plan):
        return 0.0
    _, kind, tuned = run.kinds[0]
    if kind.experts or not tuned or any(one.role not in _ORDER for one in (*tuned, *kind.linears)):
        return 0.0
    first = min(_ORDER[one.role] for one in tuned)
    return 2.0 * sum(one.parameters for one in kind.linears if _ORDER[one.role] <= first)


def trains_embeddings(plan: Plan) -> bool:
    return any("emb" in name.lower() for name in (plan.adapter.modules_to_save if plan.adapter else ()))


def outputs(run: Run) -> tuple[float, float]:
    """Bytes of the logits, and of the keys and values, that a loop holds which keeps what the model returned.

    ``outputs = model(**batch); outputs.loss.backward()`` holds those of one batch until the forward of the next one has returned.
    """
    plan, architecture = run.plan, run.architecture
    if not plan.outputs_kept:
        return 0.0, 0.0
    attending = sum(times for times, kind, _ in run.kinds if kind.attends)
    each = 2 * run.width.computed * architecture.key_width
    cache = cached(run) or attending * each if modeling.fills_cache(architecture, plan) else 0
    held = dora.transposed(plan, run.width, run.targets) * architecture.layers if architecture.kind in _OF_CONV1D else 0.0
    return logits.returned(architecture, plan, run.width) * run.tokens, float(cache * run.tokens) + held


# Whose linear layers are transformers' Conv1D, which keeps its weight transposed.
_OF_CONV1D = frozenset(("gpt2",))


def cached(run: Run) -> float:
    """Bytes for each token of the keys and values of all layers that wait until the model returns."""
    return sum(times * kept.cached(kind, run.plan) for times, kind, _ in run.kinds)


def unneeded(run: Run) -> float:
    """Bytes for each token that the first layer does not keep: beside frozen embeddings no gradient goes through what comes before its
    first adapter."""
    plan = run.plan
    if plan.method != "adapter" or plan.checkpointing or run.architecture.parallel or not run.kinds:
        return 0.0
    if trains_embeddings(plan):
        return 0.0
    _, kind, tuned = run.kinds[0]
    return kept.before_adapters(kind, plan, tuned)


def unreleased(run: Run, boundary: float) -> float:
    """Bytes for each token that FSDP holds back where a checkpointed layer has no trained weight of its own flat parameter.

    Its hook on the layer's inputs (``register_multi_grad_hook``) lives to the end of the backward, and with it every boundary and the
    gradient of it. Measured: 60 h for 32 layers on 2 and 4 GPUs, with and without autocast (docs/memory.md). Without the reentrant way the
    inputs are those of the forward, and nothing is held (a Qwen3 of 12 layers in torch 2.13.0 and transformers 5.0.0 under fake tensors:
    5.1 GB with it, 4.7 without; Llama-2-70B of peft's page fits on 80 GB, benchmarks/unseen/memory-6.json 85).
    """
    if run.plan.reentrant is False:
        return 0.0
    held_back = run.plan.sharding == "fsdp" and not run.plan.second and run.plan.checkpointing and run.plan.method == "adapter"
    layers = run.architecture.layers
    return ((layers - 1) * boundary + max(0, layers - 2) * boundary) if held_back else 0.0


def shared_by_layers(run: Run) -> float:
    """What all layers share: the ids, labels and positions of the batch, and the padding mask where one is made."""
    plan = run.plan
    mask = run.tokens * plan.tokens * run.width.computed if plan.mask and not plan.attention.startswith("flash") else 0
    return run.tokens * 24 + mask
