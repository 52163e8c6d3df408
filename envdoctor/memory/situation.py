"""From the facts of a situation to its estimate, and to what it would be with some of them stated otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from envdoctor.defaults import derive
from envdoctor.facts import Fact, Facts, Origin
from envdoctor.hardware.gpus import capability_key
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.assumed import widened
from envdoctor.memory.closed_form import estimate
from envdoctor.memory.estimate import Assumption, Estimate
from envdoctor.memory.moves import Change, Circumstances
from envdoctor.memory.plan import Plan, Stack
from envdoctor.memory.read_plan import read_plan
from envdoctor.releases import newest
from envdoctor.versions import Exact

_STATED = Origin("--set")
_PREFERENCE = frozenset(("dpo", "kto", "orpo"))


@dataclass(frozen=True, slots=True)
class Planned:
    """``stated`` are the facts without what follows from them: a change of one lets all follow anew."""

    architecture: Architecture
    stated: Facts
    facts: Facts
    plan: Plan
    assumptions: tuple[Assumption, ...]

    def estimate(self) -> Estimate:
        return widened(estimate(self.architecture, self.plan), self.architecture, self.plan, self.assumptions)

    def estimate_with(self, change: Change) -> Estimate:
        """The estimate of the same situation in which these facts are stated beside, or in the place of, its own."""
        if not change:
            return self.estimate()
        facts = self.stated.with_facts(Fact(name, value, _STATED) for name, value in change.items())
        plan, assumed = read_plan(derive(facts), self.architecture)
        return widened(estimate(self.architecture, plan), self.architecture, plan, assumed)

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
            sequences=2 if facts.text("plan.method") in _PREFERENCE else 1,
            lengths=lengths,
        )


def planned(stated: Facts, architecture: Architecture) -> Planned:
    """The situation of stated and read facts on an architecture; releases that nobody knows are assumed to be the newest."""
    facts = derive(stated)
    plan, assumed = read_plan(facts, architecture)
    return Planned(architecture, stated, facts, plan, (*assumed, *_releases(plan)))


def restated(situation: Planned, values: Mapping[str, int], source: str) -> Planned:
    """The same situation with these facts, read from ``source``."""
    origin = Origin(source)
    return planned(situation.stated.with_facts(Fact(name, value, origin) for name, value in values.items()), situation.architecture)


def _releases(plan: Plan) -> tuple[Assumption, ...]:
    """What the estimate took for packages of which no release is known."""
    stack: Stack = replace(plan.stack)
    named = [("torch", stack.torch), ("transformers", stack.transformers)]
    if plan.method == "adapter":
        named.append(("peft", stack.peft))
    return tuple(Assumption(f"packages.{name}", newest(name), "the newest release that is known") for name, release in named if not release)
