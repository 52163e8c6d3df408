"""The estimate in closed form: what lies on one GPU at each moment of a training step, term by term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.memory import checkpointed, dora, fsdp, gradient_times, kept, logits, modeling, reserved, sharding, working
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import Estimate, Moment, Term
from envdoctor.memory.plan import Plan
from envdoctor.memory.run import Run, layers_of, run_of
from envdoctor.memory.trained import Casts
from envdoctor.memory.uncertainty import spread
from envdoctor.memory.weights import base_bytes, dequantized_bytes, left_behind, linear_width, other_width, root_bytes
from envdoctor.records import replace

# cuBLAS keeps its workspace with the allocator: 8 MiB and 128 KiB a handle, 32 MiB on Hopper (at::cuda::getCUDABlasLtWorkspaceSize,
# https://docs.nvidia.com/cuda/cublas/#cublassetworkspace).
_WORKSPACE = 8.125 * 2**20
# One for each thread that multiplies: the one that computes forward, and autograd's that computes backward (CublasHandlePool.cpp).
_THREADS = 2


def estimate(architecture: Architecture, plan: Plan) -> Estimate:
    """What the fullest GPU needs for a plan."""
    run = run_of(architecture, plan)
    moments = _moments(run)
    peak = max(moments, key=lambda moment: moment.total)
    allocated = spread(run.architecture, run.plan, peak, moments[0].terms.get("weights", 0.0))
    elsewhere = sharding.in_other_streams(run.plan, run.trained.parameters, run.trained.width)
    unsaid = max(0.0, _kept_gathered(run) - _gathered(run, 0)) if run.plan.zero_init is None else 0.0
    allocated = replace(allocated, high=allocated.high + unsaid + elsewhere)
    gathered = elsewhere + (_gathered(run, 2) if plan.sharding in ("fsdp", "zero3") else 0.0)
    return Estimate(
        "closed-form",
        moments,
        allocated,
        reserved.held(moments, allocated, plan, gathered, left_behind(run.parameters, plan)),
        reserved.beside(plan),
    )


def _moments(run: Run) -> tuple[Moment, ...]:
    held = _held(run)
    moments = [_moment("loading", _loading(run), {})]
    if run.plan.method == "inference":
        return (*moments, _moment("forward", held, _passing(run)))
    return (*moments, *(_moment(name, held, terms) for name, terms in _step(run)))


def _moment(name: str, held: Mapping[Term, float], more: Mapping[Term, float]) -> Moment:
    terms = dict(held)
    for term, value in more.items():
        terms[term] = terms.get(term, 0.0) + value
    return Moment(name, {term: value for term, value in terms.items() if value})


def _loading(run: Run) -> dict[Term, float]:
    """The base model, and for a quantizer the largest tensor that it is given whole."""
    whole = base_bytes(run.architecture, run.parameters, run.plan) * run.shares.weights
    return {"weights": whole, "other": dequantized_bytes(run.architecture, run.plan)}


def _held(run: Run) -> dict[Term, float]:
    """What is there at every moment of every step but the first."""
    plan, made, part = run.plan, run.trained, run.shares
    widened = plan.sharding == "fsdp" and plan.quant == "none" and sharding.widens_frozen(plan)
    full = (plan.method == "full" and made.width == 4) or widened
    base = run.parameters.total * 4.0 if full else base_bytes(run.architecture, run.parameters, plan)
    return {
        "weights": base * part.weights,
        "adapters": made.added * part.weights,
        "optimizer": (made.states + made.master) * part.optimizer,
        "other": _WORKSPACE * (1 if plan.method == "inference" else _THREADS)
        + sharding.buckets(plan, made.gradients / max(made.width, 1), made.width),
    }


def _shared_out(run: Run) -> fsdp.Gathered:
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
    return fsdp.kept_after_forward(plan, shared, layer, run.architecture.layers)


def _gathered(run: Run, layers: int) -> float:
    root = root_bytes(run.parameters, run.plan)
    in_layers = run.parameters.linear / max(run.architecture.layers, 1)
    layer = in_layers * linear_width(run.architecture, run.plan)
    return sharding.gathered(run.plan, root, layer, in_layers, base_bytes(run.architecture, run.parameters, run.plan), layers)


def _kept_gathered(run: Run) -> float:
    """Bytes of gathered weights that products keep for their backward, where ZeRO-3 could not replace torch's linear layer."""
    kept_whole = run.parameters.linear * linear_width(run.architecture, run.plan)
    kept_whole += (run.parameters.head or run.parameters.embedding) * other_width(run.plan)
    return kept_whole if sharding.keeps_gathered(run.plan) else 0.0


def _step(run: Run) -> list[tuple[str, dict[Term, float]]]:
    """The moments of one step, each with what it adds to what is held."""
    plan, made, part, tokens = run.plan, run.trained, run.shares, run.tokens
    layers, share = run.architecture.layers, part.activations
    boundary = run.width.stream * run.architecture.hidden
    counted = layers_of(run)
    written_out = dequantized_bytes(run.architecture, plan)
    # The fullest kind of layer: as it is computed again, or among all that are kept.
    fullest = max(counted, key=lambda one: one.busy + (one.kept if plan.checkpointing else 0.0))
    layer, busy = fullest.kept, fullest.busy
    unquantized = written_out if fullest.written_out else 0.0
    gradients = made.gradients * part.gradients if made.keeps_gradients else 0.0
    gradients += gradient_times.of_frozen(run) * part.gradients
    accumulated = gradient_times.accumulated(run, gradients)
    shared = _shared(run)
    held_back = checkpointed.left_out(run, boundary, counted)
    saved = sum(one.times * (boundary if plan.checkpointing else one.kept) for one in counted) + held_back - _unneeded(run)
    apart, alone = _shared_out(run), not fsdp.is_shared(plan)
    whole_layer = made.gradients / max(layers, 1) if plan.sharding in ("fsdp", "zero3") and plan.method == "full" else 0.0
    whole_layer = whole_layer if alone else apart.layer_gradient
    root = gradient_times.root_gradient(run) if alone or plan.method != "full" else apart.head_gradient
    again = layer - held_back / max(layers, 1) if plan.checkpointing else 0.0
    last = (saved if not plan.checkpointing else layers * boundary + held_back + again) + busy
    first = (layer if not plan.checkpointing else boundary + layer) + busy + _unreleased(run, boundary)
    left = _kept_gathered(run) if plan.zero_init is False else 0.0
    during: dict[Term, float] = {"weights": max(left, _gathered(run, 0)) if alone else apart.loss, "other": shared}
    held_layers = _gathered(run, 1 if plan.method == "adapter" else 2) if alone else apart.layer
    within: dict[Term, float] = {"weights": held_layers, "other": unquantized + shared}
    waiting = root if accumulated and gradient_times.is_tied(run) and plan.method == "full" else 0.0
    casts = _casts(run)
    logits_kept, cache_kept = _outputs(run)
    passing = (working.passing_scores(run.architecture, plan, run.width) if plan.checkpointing else 0.0) * tokens * share
    passing = max(passing, dora.passing(plan, run.width, run.targets))
    before = ("forward of the last layer", {**during, "activations": saved * tokens * share + passing, "gradients": accumulated})
    gathering = [] if alone else _moments_of_the_forward(run, apart, saved, accumulated, shared)
    return [
        *([before] if passing else []),
        *gathering,
        *_around_the_loss(run, during, saved, accumulated, casts),
        (
            "backward of the last layer",
            {
                **within,
                "weights": held_layers + left,
                "logits": logits_kept,
                **_of_a_layer(run, last, layer + busy, max(accumulated + waiting, root), whole_layer, cache_kept / max(layers, 1)),
                "adapters": casts.last,
            },
        ),
        *_between_layers(run, apart, saved, {"gradients": max(accumulated, root), "other": shared, "logits": logits_kept}),
        (
            "backward of the first layer",
            {
                **within,
                "weights": held_layers if alone else apart.lowest,
                "logits": logits_kept,
                **_fullest(
                    _of_a_layer(
                        run, first, layer + busy, gradient_times.reduced(run, gradients, apart.head_gradient), whole_layer, cache_kept
                    ),
                    _of_a_layer(run, first, layer + busy, accumulated, whole_layer / (1 if alone else 2), cache_kept),
                    {"activations": first * tokens * share + cache_kept, "gradients": accumulated + waiting},
                ),
                "adapters": casts.first,
            },
        ),
        (
            "backward of the embeddings",
            {
                **during,
                "weights": _gathered(run, 0) if alone else apart.end,
                "gradients": gradients
                + (gradient_times.of_embeddings(run) if alone else apart.last_gradient + gradient_times.root_accumulated(run)),
                "activations": cache_kept,
                "logits": logits_kept,
            },
        ),
        *sharding.overflow_check(plan, max(run.parameters.embedding, run.parameters.head), made.width),
        (
            "optimizer step",
            {
                "weights": apart.step,
                "gradients": gradients,
                "optimizer": made.transient * part.optimizer,
                "activations": cache_kept,
                "logits": logits_kept,
            },
        ),
    ]


def _cached(run: Run) -> float:
    return sum(times * kept.cached(kind, run.plan) for times, kind, _ in run.kinds)


def _moments_of_the_forward(
    run: Run, apart: fsdp.Gathered, saved: float, accumulated: float, shared: float
) -> list[tuple[str, dict[Term, float]]]:
    """The moments of the forward in which FSDP holds more than at the loss."""
    share = run.tokens * run.shares.activations
    passed = working.forward(run.architecture, run.plan, run.width) * share
    held: dict[Term, float] = {"gradients": accumulated, "other": shared}
    counted = layers_of(run)
    # The last layer keeps nothing yet when its weights come, unless all that is kept are the layers' inputs.
    own = 0.0 if run.plan.checkpointing else counted[-1].kept
    passed = passed if run.plan.checkpointing else own * share
    within = apart.forward - apart.copied
    last = _fullest(
        {"weights": apart.forward, "activations": max(0.0, saved - own) * share},
        {"weights": within, "activations": max(0.0, saved - own) * share + passed},
    )
    return [
        ("forward of the first layer", {**held, "weights": apart.first}),
        ("forward of the last layer", {**held, **last}),
        ("output layer", {**held, "weights": apart.head, "activations": saved * share}),
    ]


def _between_layers(run: Run, apart: fsdp.Gathered, saved: float, held: dict[Term, float]) -> list[tuple[str, dict[Term, float]]]:
    """The moment between the backwards of the last layer and of the one below it, where FSDP has both of them."""
    if not apart.between or run.architecture.layers < 2:
        return []
    below = saved - (0.0 if run.plan.checkpointing else layers_of(run)[-1].kept)
    stream = run.width.stream * run.architecture.hidden
    activations = (max(0.0, below) + stream) * run.tokens * run.shares.activations
    return [("between two layers", {**held, "weights": apart.between, "activations": activations})]


def _around_the_loss(
    run: Run, during: dict[Term, float], saved: float, accumulated: float, casts: Casts
) -> Iterator[tuple[str, dict[Term, float]]]:
    """The loss and its backward, while all layers keep what they ``saved`` for each token."""
    architecture, plan, tokens, share = run.architecture, run.plan, run.tokens, run.shares.activations
    loss = logits.loss(architecture, plan, run.width)
    cached = _cached(run)
    logits_kept, cache_kept = _outputs(run)
    forward: dict[Term, float] = {
        "activations": (saved + cached) * tokens * share + cache_kept,
        "logits": loss.forward * tokens + logits_kept,
        "gradients": accumulated,
        "adapters": casts.forward,
    }
    yield "loss", {**during, **forward}
    whole = fsdp.is_shared(plan) and plan.method == "full"
    with_root = accumulated + (_shared_out(run).head_gradient if whole else gradient_times.root_gradient(run))
    fullest = _fullest(
        {"logits": loss.backward * tokens, "gradients": accumulated},
        {"logits": logits.handed_back(architecture, plan, run.width) * tokens, "gradients": with_root},
        {"logits": logits.last_norm_backward(architecture, plan, run.width) * tokens, "gradients": with_root},
    )
    held = saved + (cached if plan.outputs_kept else 0)
    fullest["logits"] += logits_kept
    if fsdp.is_shared(plan):
        during = {**during, "weights": _shared_out(run).backward_loss}
    yield "backward of the loss", {**during, "activations": held * tokens * share, "adapters": casts.backward, **fullest}


def _outputs(run: Run) -> tuple[float, float]:
    """Bytes of the logits, and of the keys and values, that a loop holds which keeps what the model returned.

    ``outputs = model(**batch); outputs.loss.backward()`` holds those of one batch until the forward of the next one has returned.
    """
    plan, architecture = run.plan, run.architecture
    if not plan.outputs_kept:
        return 0.0, 0.0
    attending = sum(times for times, kind, _ in run.kinds if kind.attends)
    each = 2 * run.width.computed * architecture.key_width
    cache = _cached(run) or attending * each if modeling.fills_cache(architecture, plan) else 0
    return logits.returned(architecture, plan, run.width) * run.tokens, float(cache * run.tokens)


def _fullest(*points: dict[Term, float]) -> dict[Term, float]:
    return max(points, key=lambda terms: sum(terms.values()))


def _unneeded(run: Run) -> float:
    """Bytes for each token that the first layer does not keep: beside frozen embeddings no gradient goes through what comes before its
    first adapter."""
    plan = run.plan
    if plan.method != "adapter" or plan.checkpointing or run.architecture.parallel or not run.kinds:
        return 0.0
    if any("emb" in name.lower() for name in (plan.adapter.modules_to_save if plan.adapter else ())):
        return 0.0
    _, kind, tuned = run.kinds[0]
    return kept.before_adapters(kind, plan, tuned)


def _casts(run: Run) -> Casts:
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
    whole = layers + low_rank
    return Casts(whole + head, whole + head, whole, one)


def _unreleased(run: Run, boundary: float) -> float:
    """Bytes for each token that FSDP holds back where a checkpointed layer has no trained weight of its own flat parameter.

    Its hook on the layer's inputs (``register_multi_grad_hook``) lives to the end of the backward, and with it every boundary and the
    gradient of it. Measured: 60 h for 32 layers on 2 and 4 GPUs, with and without autocast (docs/memory.md).
    """
    held_back = run.plan.sharding == "fsdp" and not run.plan.second and run.plan.checkpointing and run.plan.method == "adapter"
    layers = run.architecture.layers
    return ((layers - 1) * boundary + max(0, layers - 2) * boundary) if held_back else 0.0


def _of_a_layer(run: Run, kept_then: float, own: float, gradients: float, whole: float, cache: float) -> dict[Term, float]:
    """What is kept for each token, and gradients, in the backward of a layer: where its network is computed, the ``whole`` gradients of
    which are there for its last product alone, or when all of them are and what it kept itself (``own``) is gone."""
    each = run.tokens * run.shares.activations
    busy: dict[Term, float] = {"activations": kept_then * each + cache, "gradients": gradients + whole}
    if not fsdp.is_shared(run.plan) or run.plan.method != "full":
        return busy
    done: dict[Term, float] = {**busy, "activations": max(0.0, kept_then - own) * each + cache}
    down = sum(one.parameters for one in run.architecture.linears if one.role == "down")
    early = down / max(sum(one.parameters for one in run.architecture.linears), 1) / 2
    return _fullest({**busy, "gradients": gradients + early * whole}, done)


def _passing(run: Run) -> dict[Term, float]:
    """A forward that keeps nothing but keys and values for what follows."""
    plan = run.plan
    cache = 2 * run.architecture.layers * run.width.computed * run.architecture.key_width
    busy = working.forward(run.architecture, plan, run.width)
    loss = logits.loss(run.architecture, plan, run.width)
    return {
        "weights": _gathered(run, 1),
        "activations": (cache + busy) * run.tokens * run.shares.activations,
        "logits": loss.forward * run.tokens,
        "other": dequantized_bytes(run.architecture, plan) + _shared(run),
    }


def _shared(run: Run) -> float:
    """What all layers share: the ids, labels and positions of the batch, and the padding mask where one is made."""
    plan = run.plan
    mask = run.tokens * plan.tokens * run.width.computed if plan.mask and not plan.attention.startswith("flash") else 0
    return run.tokens * 24 + mask
