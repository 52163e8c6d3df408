"""A cure seen to work: what shows a fault is run in the environment as it was, and in the one that has the cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from envdoctor.checks.declared_together import CONTRADICT, REFUSES_PYTHON, UNSATISFIABLE
from envdoctor.checks.requirements import MISSING, UNMET
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Facts
from envdoctor.records import dataclass
from envdoctor.rules.reproduction import Seen, Told, examine, problems, reproduction_of, see_probe, see_script
from envdoctor.uv.environments import Environment
from envdoctor.uv.resolution import UNRESOLVABLE

# What releases declare, which a set that uv takes whole is in accord with.
_DECLARED = frozenset((CONTRADICT, REFUSES_PYTHON, UNSATISFIABLE, UNRESOLVABLE, UNMET, MISSING))

Result = Literal["cured", "not cured", "not shown", "not run"]


@dataclass(frozen=True, slots=True)
class Side:
    """A situation before or after a cure: the environment that was built of it, or why there is none, and what holds there."""

    facts: Facts
    built: Environment | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What became of one finding: by which ``means`` it was looked for, and what was seen ``before`` and ``after``.

    ``not shown``: the fault did not appear before, so that nothing is proven. ``not run``: nothing that could show it runs here.
    """

    rule: str
    result: Result
    means: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class _Means:
    """How a fault is shown: its name in words, and the run. A ``script`` that fails is harmed, in whatever words its release says so."""

    name: str
    see: Callable[[Environment, Facts, Told | None], Seen]
    script: bool = True


def show(
    finding: Finding,
    reproduction: Mapping[str, Any] | None,
    before: Side,
    after: Side,
    *,
    gpu: bool = False,
    trust: bool = False,
    told: Told | None = None,
) -> Shown:
    """Run what shows a finding on both sides.

    That is the rule's ``reproduction`` where it has one, else its probe under the facts of the plan, else the line of Python that a
    computed finding brings. ``gpu`` says that one is here; ``trust`` allows a probe to execute the snapshot's own code.
    """
    means = _means(finding, reproduction, gpu=gpu, trust=trust, installs=before.built is not after.built)
    if isinstance(means, str):
        if after.built is not None and finding.rule.id in _DECLARED:
            was = before.why or finding.said or finding.rule.title
            return Shown(finding.rule.id, "cured", "its installation", was, "uv installs the whole set")
        return Shown(finding.rule.id, "not run", before=before.why, after=means)
    if after.built is None:
        return Shown(finding.rule.id, "not cured", means.name, before.why, after.why)
    bad = None if before.built is None else means.see(before.built, before.facts, told)
    good = means.see(after.built, after.facts, told)
    was = before.why if bad is None else bad.line
    there = bad is None or bad.harmed or (means.script and not bad.well and good.well)
    return Shown(finding.rule.id, _result(good, there=there, script=means.script), means.name, was, good.line)


def _result(good: Seen, *, there: bool, script: bool) -> Result:
    """What the run after says of a fault that was ``there`` before; a probe that cannot tell has shown nothing."""
    if good.harmed or (there and script and not good.well):
        return "not cured"
    return "cured" if there and good.well else "not shown"


def _means(finding: Finding, reproduction: Mapping[str, Any] | None, *, gpu: bool, trust: bool, installs: bool) -> _Means | str:
    """How the fault of a finding is shown, or why it cannot be."""
    if installs and reproduction is not None and not problems(reproduction):
        listed = reproduction_of(reproduction)
        if not listed.gpu or gpu:
            return _Means("its reproduction", lambda built, facts, told: examine(listed, built, told=told), listed.probe is None)
    if finding.witness and installs:
        line = finding.witness
        return _Means(line, lambda built, facts, told: see_script(line, built, None, told=told))
    probe = finding.rule.probe
    if probe is not None:
        return _Means(f"the probe {probe}", lambda built, facts, told: see_probe(probe, built, facts, trust=trust, told=told), False)
    if reproduction is not None and reproduction.get("gpu") and not gpu:
        return "its reproduction needs a GPU, and none is here"
    return "the rule has no reproduction, no probe and no import that would show it"


__all__ = ["Result", "Shown", "Side", "show"]
