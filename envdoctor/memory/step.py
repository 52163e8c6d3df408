"""The moments of one training step, in the order in which it goes through them, each with what it adds to what is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.memory import beside, blocks, checkpointed, dora, fsdp, gathered, gradient_times, logits, modeling, sharding, working
from envdoctor.memory.estimate import Term
from envdoctor.memory.run import Layers, Run, layers_of
from envdoctor.memory.trained import Casts
from envdoctor.memory.weights import dequantized_bytes, written_out_head
from envdoctor.records import dataclass

Named = tuple[str, Mapping[Term, float]]


@dataclass(frozen=True, slots=True)
class _Step:
    """What the moments of a step have in common.

    Bytes for each token: ``boundary`` is the input of a layer, ``layer`` what the fullest kind of layer keeps, as it is computed again or
    among all that are kept, ``busy`` what its backward takes beside; ``held_back`` what selective checkpointing leaves of all layers,
    ``saved`` what all of them keep. Bytes: ``unquantized`` is a weight that is written out in the backward of that layer, ``gradients``
    are those of a whole pass, ``accumulated`` those that wait of earlier micro-batches, ``left`` the weights that ZeRO-3 does not give
    back, ``shared`` what all layers share of the batch, ``logits`` and ``cache`` what a loop holds of the model's outputs.
    """

    run: Run
    counted: tuple[Layers, ...]
    boundary: float
    layer: float
    busy: float
    unquantized: float
    held_back: float
    saved: float
    gradients: float
    accumulated: float
    apart: fsdp.Gathered
    left: float
    shared: float
    casts: Casts
    logits: float
    cache: float

    @property
    def each(self) -> float:
        """How many tokens' activations one GPU has."""
        return self.run.tokens * self.run.shares.activations

    @property
    def alone(self) -> bool:
        """Whether FSDP shares nothing out."""
        return not fsdp.is_shared(self.run.plan)

    @property
    def pass_weights(self) -> float:
        """Whole weights that are there while no layer is at work."""
        return max(self.left, gathered.with_layers(self.run, 0)) if self.alone else self.apart.loss

    @property
    def layer_weights(self) -> float:
        """Whole weights in the backward of a layer."""
        if not self.alone:
            return self.apart.layer
        return gathered.with_layers(self.run, 1 if self.run.plan.method == "adapter" else 2)

    @property
    def root_gradient(self) -> float:
        full = self.run.plan.method == "full"
        return self.apart.head_gradient if full and not self.alone else gradient_times.root_gradient(self.run)

    @property
    def waiting(self) -> float:
        """The gradient of a tied output layer beside those of earlier micro-batches, or where no other one is kept: it waits for that of
        the embedding."""
        tied = gradient_times.is_tied(self.run) and self.run.plan.method == "full"
        return self.root_gradient if tied and (self.accumulated or not self.run.trained.keeps_gradients) else 0.0


def moments(run: Run) -> list[Named]:
    """All of them."""
    step = _step(run)
    largest = max(run.parameters.embedding, run.parameters.head)
    return [
        *_forward(step),
        *_around_the_loss(step),
        _last_layer(step),
        *_between_layers(step),
        _first_layer(step),
        _embeddings(step),
        *sharding.overflow_check(run.plan, largest, run.trained.width),
        _optimizer_step(step),
    ]


def _step(run: Run) -> _Step:
    plan, made = run.plan, run.trained
    boundary = float(run.width.stream * run.architecture.hidden)
    counted = tuple(layers_of(run))
    fullest = max(counted, key=lambda one: one.busy + (one.kept if plan.checkpointing else 0.0))
    gradients = made.gradients * run.shares.gradients if made.keeps_gradients else 0.0
    if plan.method == "full" and made.keeps_gradients:
        gradients += blocks.beside_weights(run.architecture, plan, made.width)
    if plan.sharding == "zero3" and not sharding.holds_gradients(plan):
        # Each bucket of them goes to the CPU when it has been reduced.
        gradients = 0.0
    gradients += gradient_times.of_frozen(run) * run.shares.gradients
    held_back = checkpointed.left_out(run, boundary, counted)
    saved = (checkpointed.kept_of_all(run, boundary, counted) + held_back - beside.unneeded(run)) * plan.in_flight
    logits_kept, cache_kept = beside.outputs(run)
    return _Step(
        run,
        counted,
        boundary,
        fullest.kept,
        fullest.busy,
        dequantized_bytes(run.architecture, plan) if fullest.written_out else 0.0,
        held_back,
        saved,
        gradients,
        gradient_times.accumulated(run, gradients),
        gathered.by_fsdp(run),
        gathered.kept(run) if plan.zero_init is False else 0.0,
        beside.shared_by_layers(run),
        beside.casts(run),
        logits_kept,
        cache_kept,
    )


def _forward(step: _Step) -> Iterator[Named]:
    """The moments of the forward in which more is held than at the loss."""
    run, plan = step.run, step.run.plan
    passing = (working.passing_scores(run.architecture, plan, run.width) if plan.checkpointing else 0.0) * step.each
    experts = working.passing_experts(run.architecture, plan, run.width, run.targets) * step.each
    passing = max(passing, dora.passing(plan, run.width, run.targets), experts)
    if passing:
        yield (
            "forward of the last layer",
            {
                "weights": step.pass_weights,
                "other": step.shared,
                "activations": step.saved * step.each + passing + step.cache,
                "logits": step.logits,
                "gradients": step.accumulated,
                # Of the copies of weights the output layer's is not there yet.
                "adapters": max(0.0, step.casts.forward - step.casts.backward) if plan.checkpointing else step.casts.last,
            },
        )
    if not step.alone:
        yield from _gathering(step)


def _gathering(step: _Step) -> Iterator[Named]:
    """Where FSDP holds more than at the loss."""
    run, apart, saved, each = step.run, step.apart, step.saved, step.each
    held: dict[Term, float] = {"gradients": step.accumulated, "other": step.shared, "logits": step.logits}
    # The last layer keeps nothing yet when its weights come, unless all that is kept are the layers' inputs.
    own = 0.0 if run.plan.checkpointing else step.counted[-1].kept
    passed = working.forward(run.architecture, run.plan, run.width) if run.plan.checkpointing else own
    if apart.prepared:
        yield "before the first forward", {"weights": apart.prepared}
    yield "forward of the first layer", {**held, "weights": apart.first}
    yield (
        "forward of the last layer",
        {
            **held,
            **_fullest(
                {"weights": apart.forward, "activations": max(0.0, saved - own) * each},
                {"weights": apart.forward - apart.copied, "activations": max(0.0, saved - own) * each + passed * each},
            ),
        },
    )
    yield "output layer", {**held, "weights": apart.head, "activations": saved * each}


def _around_the_loss(step: _Step) -> Iterator[Named]:
    """The loss and its backward, while all layers keep what they saved."""
    run, plan, tokens = step.run, step.run.plan, step.run.tokens
    loss, cached = logits.loss(run.architecture, plan, run.width), beside.cached(run)
    head = written_out_head(run.parameters, plan)
    yield (
        "loss",
        {
            "weights": step.pass_weights,
            "other": step.shared + head,
            "activations": (step.saved + cached) * tokens * run.shares.activations + step.cache,
            "logits": loss.forward * tokens + step.logits,
            "gradients": step.accumulated,
            "adapters": step.casts.forward,
        },
    )
    with_root = step.accumulated + step.root_gradient
    fullest = _fullest(
        {"logits": loss.backward * tokens, "gradients": step.accumulated},
        {"logits": logits.handed_back(run.architecture, plan, run.width) * tokens, "gradients": with_root},
        {"logits": logits.last_norm_backward(run.architecture, plan, run.width) * tokens, "gradients": with_root},
    )
    fullest["logits"] += step.logits
    held = step.saved + (cached if plan.outputs_kept else 0)
    yield (
        "backward of the loss",
        {
            "weights": step.pass_weights if step.alone else step.apart.backward_loss,
            "other": step.shared + head,
            "activations": held * tokens * run.shares.activations,
            "adapters": step.casts.backward,
            **fullest,
        },
    )


def _last_layer(step: _Step) -> Named:
    """The backward of the last layer: all others still keep what they saved."""
    run, plan = step.run, step.run.plan
    layers = run.architecture.layers
    again = step.layer - step.held_back / max(layers, 1) - _same(step) if plan.checkpointing else 0.0
    kept_then = step.saved + again + step.busy
    gradients = max(step.accumulated + step.waiting, step.root_gradient if run.trained.keeps_gradients else 0.0)
    return (
        "backward of the last layer",
        {
            "weights": step.layer_weights + step.left,
            "other": step.unquantized + step.shared,
            "logits": step.logits,
            **_of_a_layer(step, kept_then, gradients, _layer_gradient(step), step.cache / (1 if plan.checkpointing else max(layers, 1))),
            "adapters": step.casts.last,
        },
    )


def _between_layers(step: _Step) -> Iterator[Named]:
    """The moment between the backwards of the last layer and of the one below it, where FSDP has both of them."""
    run = step.run
    if not step.apart.between or run.architecture.layers < 2:
        return
    below = step.saved - (0.0 if run.plan.checkpointing else step.counted[-1].kept)
    yield (
        "between two layers",
        {
            "gradients": max(step.accumulated, step.root_gradient),
            "other": step.shared,
            "logits": step.logits,
            "weights": step.apart.between,
            "activations": (max(0.0, below) + step.boundary) * run.tokens * run.shares.activations,
        },
    )


def _first_layer(step: _Step) -> Named:
    """The backward of the first layer: nearly all gradients are there, and of activations its own."""
    run, whole = step.run, _layer_gradient(step)
    kept_then = (
        step.layer + (step.boundary - _same(step) if run.plan.checkpointing else 0.0) + step.busy + beside.unreleased(run, step.boundary)
    )
    reduced = gradient_times.reduced(run, step.gradients, step.apart.head_gradient)
    return (
        "backward of the first layer",
        {
            "weights": step.layer_weights if step.alone else step.apart.lowest,
            "other": step.unquantized + step.shared,
            "logits": step.logits,
            **_fullest(
                _of_a_layer(step, kept_then, reduced, whole, step.cache),
                _of_a_layer(step, kept_then, step.accumulated, whole / (1 if step.alone else 2), step.cache),
                {"activations": kept_then * step.each + step.cache, "gradients": step.accumulated + step.waiting},
            ),
            "adapters": step.casts.first,
        },
    )


def _embeddings(step: _Step) -> Named:
    """The backward of the embeddings, the last one."""
    run = step.run
    last = gradient_times.of_embeddings(run) if step.alone else step.apart.last_gradient + gradient_times.root_accumulated(run)
    return (
        "backward of the embeddings",
        {
            "weights": gathered.with_layers(run, 0) if step.alone else step.apart.end,
            "other": step.shared,
            "gradients": step.gradients + last,
            "activations": step.cache,
            "logits": step.logits,
        },
    )


def _optimizer_step(step: _Step) -> Named:
    return (
        "optimizer step",
        {
            "weights": step.apart.step,
            "gradients": step.gradients,
            "optimizer": step.run.trained.transient * step.run.shares.optimizer,
            "activations": step.cache,
            "logits": step.logits,
        },
    )


def _same(step: _Step) -> float:
    """Bytes for each token of the input of a layer that its first norm keeps as it is, and makes no copy of: what it was given is there."""
    architecture, plan, width = step.run.architecture, step.run.plan, step.run.width
    if modeling.after_only(architecture) or (plan.fused_norms and not plan.lora_kernels):
        return 0.0
    copies = (width.stream < 4 and not plan.fused_norms) or not modeling.norm(architecture, plan).startswith("rms")
    return 0.0 if copies else step.boundary


def _layer_gradient(step: _Step) -> float:
    """Gradients of a layer that are whole until they are reduced."""
    run = step.run
    if not step.alone:
        return step.apart.layer_gradient
    shared_out = run.plan.sharding in ("fsdp", "zero3") and run.plan.method == "full"
    return run.trained.gradients / max(run.architecture.layers, 1) if shared_out else 0.0


def _of_a_layer(step: _Step, kept_then: float, gradients: float, whole: float, cache: float) -> dict[Term, float]:
    """What is kept for each token, and gradients, in the backward of a layer: where its network is computed, the ``whole`` gradients of
    which are there for its last product alone, or when all of them are and what it kept itself is gone."""
    run, each, own = step.run, step.each, step.layer + step.busy
    busy: dict[Term, float] = {"activations": kept_then * each + cache, "gradients": gradients + whole}
    if not fsdp.is_shared(run.plan) or run.plan.method != "full":
        return busy
    done: dict[Term, float] = {**busy, "activations": max(0.0, kept_then - own) * each + cache}
    down = sum(one.parameters for one in run.architecture.linears if one.role == "down")
    early = down / max(sum(one.parameters for one in run.architecture.linears), 1) / 2
    return _fullest({**busy, "gradients": gradients + early * whole}, done)


def _fullest(*points: dict[Term, float]) -> dict[Term, float]:
    return max(points, key=lambda terms: sum(terms.values()))
