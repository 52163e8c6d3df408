"""Answers that GRPO has the model generate between steps: the prompts pass, and all keys and values stay while the answers grow.

Read in ``grpo_trainer.py`` of TRL 0.15.2 to 1.7.1: from 0.18 on the answers of ``steps_per_generation`` micro-batches, as many as are
accumulated unless it is told, are generated at once; before, those of one. No gradient is there then. The loss makes the logits of the
answer alone (``logits_to_keep``), and answers that vLLM generates are not counted here.
"""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.memory import sharding, working
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import Moment, Term
from envdoctor.memory.plan import WIDTH, Plan
from envdoctor.memory.read_method import GENERATED, objective
from envdoctor.memory.run import Run, run_of
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass, replace

NAME = "generation"
_AT_ONCE = "0.18"


@dataclass(frozen=True, slots=True)
class Generated:
    """``rows`` that one GPU generates at once, none where nothing is; each begins with so many tokens of a ``prompt``."""

    rows: int = 0
    prompt: int = 0


def read_generated(facts: Facts, plan: Plan) -> Generated:
    """What TRL's trainer generates; Unsloth brings a way of its own, which is not read."""
    told = objective(facts) in GENERATED and facts.text("plan.trainer") == "trl" and not plan.unsloth
    if not told or facts.value("plan.vllm") is True or plan.method == "inference":
        return Generated()
    release, steps = facts.value("packages.trl"), facts.value("plan.generation_steps")
    if isinstance(release, Exact) and not at_least(release.text, _AT_ONCE):
        times = 1
    else:
        times = steps if isinstance(steps, int) and not isinstance(steps, bool) and steps > 0 else plan.accumulation
    return Generated(plan.rows * times, max(plan.tokens - (plan.scored or plan.tokens // 2), 1))


def moment(moments: Sequence[Moment], architecture: Architecture, plan: Plan, generated: Generated) -> Moment:
    """The fuller of two points, beside the weights and the states of the run: when the prompts pass, and at the last token."""
    loss = next((one for one in moments if one.name == "loss"), moments[0])
    held: dict[Term, float] = {term: count for term, count in loss.terms.items() if term not in ("gradients", "activations", "logits")}
    run = run_of(architecture, replace(plan, rows=generated.rows, accumulation=1))
    width, share = run.width, sharding.shares(plan).activations
    attending = sum(times for times, kind, _ in run.kinds if kind.attends)
    cache = 2.0 * attending * width.computed * run.architecture.key_width
    prompts, whole = generated.rows * generated.prompt, generated.rows * plan.tokens
    # The keys and values of one layer as wide as its queries (``repeat_kv``), where heads share them.
    shared = run.architecture.kv_heads < run.architecture.heads
    repeated = 2.0 * width.computed * run.architecture.heads * run.architecture.head_dim if shared else 0.0
    busy = max(working.forward(run.architecture, replace(plan, tokens=generated.prompt), width), _adapted(run))
    first = (cache + busy) * prompts
    last = (cache + repeated) * whole
    # Of the last token alone, with a float32 copy of which the next one is drawn.
    drawn = generated.rows * architecture.vocab * (width.computed + 4.0)
    return Moment(NAME, {**held, "activations": max(first, last) * share, "logits": drawn})


def _adapted(run: Run) -> float:
    """Bytes for each token where the widest of the adapted linears is passed: ``generate`` goes past the forward that accelerate wraps in
    autocast, so that float32 adapters compute in float32, and their product and its scaled copy stand beside what the linear itself gave
    and, behind a gate, what the linear before it did (``result + lora_B(...) * scaling`` of peft 0.21.0, tuners/lora/layer.py)."""
    adapter, wide = run.plan.adapter, run.width.computed
    if adapter is None or not adapter.float32 or wide >= WIDTH["float32"]:
        return 0.0
    widest = max((one.outputs for one in run.targets), default=0)
    beside = wide * run.architecture.ffn if run.architecture.gated and widest == run.architecture.ffn else 0.0
    return 2 * run.width.stream * run.architecture.hidden + beside + (wide + 2 * WIDTH["float32"]) * widest
