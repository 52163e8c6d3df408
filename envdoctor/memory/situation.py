"""From the facts of a situation to its estimate, and to what it would be with some of them stated otherwise."""

from __future__ import annotations

from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Exact
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.assumed import beside_vllm, exchanged, fused_perhaps, generated_elsewhere, unmeasured, widened
from envdoctor.memory.budget import foreign
from envdoctor.memory.classes import classes_of, is_bare
from envdoctor.memory.estimate import Assumption, Estimate
from envdoctor.memory.moves import Change, Circumstances
from envdoctor.memory.plan import Plan, Stack
from envdoctor.memory.read_method import GENERATED, ROLLED_OUT, objective, sequences
from envdoctor.memory.read_plan import read_plan
from envdoctor.memory.regime import Regime, estimate_under, read_regime
from envdoctor.records import dataclass, replace
from envdoctor.world.gpus import capability_key
from envdoctor.world.releases import newest

_STATED = Origin("--set")


@dataclass(frozen=True, slots=True)
class Planned:
    """``stated`` are the facts without what follows from them: a change of one lets all follow anew. ``counted`` says that the lengths are
    those of rows that were read."""

    architecture: Architecture
    stated: Facts
    facts: Facts
    plan: Plan
    regime: Regime
    assumptions: tuple[Assumption, ...]
    counted: bool = False

    def estimate(self) -> Estimate:
        computed = estimate_under(self.architecture, self.plan, self.regime)
        computed = widened(computed, self.architecture, self.plan, self.assumptions, self.regime)
        if self.facts.text("plan.trainer") is None:
            computed = fused_perhaps(computed, self.architecture, self.plan, self.regime)
        if self.plan.method != "inference" and objective(self.facts) in ROLLED_OUT:
            computed = self._beside_answers(computed)
        if self.plan.context > 1:
            computed = exchanged(computed, self.architecture, self.plan)
        return unmeasured(computed) if foreign(self.facts) else computed

    def _beside_answers(self, computed: Estimate) -> Estimate:
        """The estimate of a trainer that has answers generated, with what is not modelled of it at the high end."""
        goal, trainer = objective(self.facts), self.facts.text("plan.trainer")
        if goal not in GENERATED or trainer != "trl" or self.plan.unsloth:
            computed = generated_elsewhere(computed, self.plan, valued=goal == "ppo")
        if self.facts.value("plan.vllm") is True:
            computed = beside_vllm(computed, self.plan, of_trl=trainer == "trl")
        return computed

    def estimate_with(self, change: Change) -> Estimate:
        """The estimate of the same situation in which these facts are stated beside, or in the place of, its own."""
        if not change:
            return self.estimate()
        return planned(self.stated.with_facts(Fact(name, value, _STATED) for name, value in change.items()), self.architecture).estimate()

    def circumstances(self, lengths: tuple[tuple[int, float], ...] = ()) -> Circumstances:
        facts = self.facts
        capability = facts.value("gpu.compute_capability")
        key = capability_key(capability.text) if isinstance(capability, Exact) else None
        return Circumstances(
            method=facts.text("plan.method"),
            kind=self.architecture.kind,
            remote=self.architecture.remote,
            checkpointing_works=facts.text("model.gc_support") != "no-op",
            half=key is not None and key >= (8, 0),
            sequences=sequences(facts),
            evaluated=self.regime.evaluated.rows // sequences(facts),
            lengths=lengths,
        )


def planned(stated: Facts, architecture: Architecture) -> Planned:
    """The situation of stated and read facts on an architecture; releases that nobody knows are assumed to be the newest."""
    facts = derive(stated.without(WHOLE))
    architecture = _with_score(architecture, facts)
    plan, assumed = read_plan(facts, architecture)
    regime = read_regime(facts, plan, architecture)
    return Planned(architecture, stated, facts, plan, regime, (*assumed, *regime.assumptions, *_releases(plan)))


def _with_score(architecture: Architecture, facts: Facts) -> Architecture:
    """The architecture with one number in the place of the logits, where a reward is trained: ``RewardTrainer`` of TRL is given a
    model that classifies, and ms-swift sets ``num_labels``. LLaMA-Factory's has its value head beside the logits. A script that loads a
    model to classify has one number for each class, and one that loads it without a head has none."""
    if architecture.head != "causal":
        return architecture
    if objective(facts) == "reward" and facts.text("plan.trainer") != "llamafactory":
        return replace(architecture, head="classification", labels=1, head_bias=False)
    labels = classes_of(facts)
    if labels is not None:
        return replace(architecture, head="classification", labels=labels, head_bias=False)
    # What AutoModel loads of a repository's own code is what its auto_map names: mostly a model that speaks.
    own = architecture.remote or architecture.encoder_decoder
    return replace(architecture, head="none", head_bias=False) if is_bare(facts) and not own else architecture


def restated(situation: Planned, values: Change, source: str, more: tuple[Assumption, ...] = ()) -> Planned:
    """The same situation with these facts, read from ``source``; ``more`` is what had to be assumed of it."""
    origin = Origin(source)
    facts = situation.stated.with_facts(Fact(name, value, origin) for name, value in values.items())
    again = planned(facts, situation.architecture)
    return replace(again, assumptions=(*again.assumptions, *more))


def _releases(plan: Plan) -> tuple[Assumption, ...]:
    """What the estimate took for packages of which no release is known."""
    stack: Stack = replace(plan.stack)
    named = [("torch", stack.torch), ("transformers", stack.transformers)]
    if plan.method == "adapter":
        named.append(("peft", stack.peft))
    return tuple(Assumption(f"packages.{name}", newest(name), "the newest release that is known") for name, release in named if not release)
