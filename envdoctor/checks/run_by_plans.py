"""What a function takes that the plan runs, of a stated release that does not have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.checks.atlas import known_packages, stack_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts, Origin
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.vocabulary import NOT_LOADED

if TYPE_CHECKING:
    from envdoctor.atlas.breaks import Break
    from envdoctor.atlas.stack import Stack

RULE = "plan-runs-into-break"

_PACKAGE = "packages."
_PLAN = ("plan.distributed", "plan.method")
# What everyone makes of a package: of one of them by the goal of the plan, else what fails of all that a release has.
_MADE_BY_ALL = {
    "trl": {
        "sft": "trl:SFTTrainer", "dpo": "trl:DPOTrainer", "grpo": "trl:GRPOTrainer", "kto": "trl:KTOTrainer", "orpo": "trl:ORPOTrainer",
        "reward": "trl:RewardTrainer",
    }
}  # fmt: skip


def run_by_plans(facts: Facts) -> tuple[Hit, ...]:
    """One finding for each function that the plan runs and that breaks beside a stated release."""
    stack = stack_of(facts)
    if NOT_LOADED in facts or sum(name in known_packages() for name in stack.releases) < 2:
        return ()
    from envdoctor.atlas.run_by_plans import RUN_BY_PLANS, breaks_in_functions, places_of
    from envdoctor.atlas.shelf import open_package
    from envdoctor.atlas.words import good_specifiers, since, what, witness

    if stack.releases.keys().isdisjoint(one.package for one in RUN_BY_PLANS):
        return ()
    plan = {name: text for name in _PLAN if (text := facts.text(name)) is not None}
    told: dict[tuple[str, str], Hit] = {}
    for one, by in breaks_in_functions(stack, plan):
        if (one.package, one.provider) in told:
            continue
        bound = open_package(one.provider)
        assert bound is not None
        there = places_of(bound.volume, stack.releases[one.provider])[-1]
        when = since(bound.volume, one.bad, there)
        good = good_specifiers(bound.volume, one.bad, there)
        setting = ((by.fact, plan[by.fact]),) if by.fact else ()
        mine, theirs = (f"{name} {stack.releases[name]}" for name in (one.package, one.provider))
        told[one.package, one.provider] = Hit(
            RULE,
            True,
            ((f"{_PACKAGE}{one.package}", what(one)), (f"{_PACKAGE}{one.provider}", when), *setting),
            detail=f"{one.path}:{one.line} in {by.function} {what(one)}, {when}",
            packages=(one.package, one.provider),
            pins=tuple((one.provider, specifier) for specifier in good),
            yields=True,
            edge=one.edge,
            headline=f"{by.function} of {mine} fails beside {theirs}",
            advice=f"install {one.provider} {good[0]}" if good else "",
            witness=witness(one.name, one.call, one.path),
        )
    return tuple(told.values())


def made_by_all(facts: Facts) -> tuple[Hit, ...]:
    """What cannot be made of a package beside a stated release, where no script says what is: everyone makes one of these."""
    stack = stack_of(facts)
    if NOT_LOADED in facts or CODE_USES in facts or _MADE_BY_ALL.keys().isdisjoint(stack.releases):
        return ()
    from envdoctor.atlas.bodies import bodies, body_breaks
    from envdoctor.atlas.shelf import open_package
    from envdoctor.atlas.stack import places

    hits: list[Hit] = []
    for package in _MADE_BY_ALL.keys() & stack.releases.keys():
        bound = open_package(package)
        where = places(bound.volume, stack.releases[package]) if bound is not None else ()
        if bound is None or not where:
            continue
        by_goal = _MADE_BY_ALL[package]
        goal = facts.text("plan.objective") or ""
        names = [by_goal[goal]] if goal in by_goal else list(by_goal.values())
        there = [name for name in names if bodies(bound.volume, name, where[-1])]
        found = [list(body_breaks(stack, name)) for name in there]
        if found and all(found):
            hits += hits_of_made(stack, there[0], found[0], None)
    return tuple(hits)


def made_by_script(names: Iterable[tuple[str, int]], stack: Stack, origin: Callable[[int], Origin]) -> Iterator[Hit]:
    """What a script makes or calls, each at its line, whose body takes what a stated release does not have."""
    from envdoctor.atlas.bodies import body_breaks

    told: set[str] = set()
    for name, line in names:
        if name not in told:
            told.add(name)
            yield from hits_of_made(stack, name, list(body_breaks(stack, name)), origin(line))


def hits_of_made(stack: Stack, name: str, found: Sequence[Break], at: Origin | None) -> Iterator[Hit]:
    """One finding for each package that what is made does not fit."""
    from envdoctor.atlas.shelf import open_package
    from envdoctor.atlas.stack import standing
    from envdoctor.atlas.words import good_specifiers, since, what, witness

    told: set[str] = set()
    for one in found:
        bound = open_package(one.provider)
        if one.provider in told or bound is None:
            continue
        told.add(one.provider)
        there = standing(bound.volume, stack.releases[one.provider])[-1]
        when = since(bound.volume, one.bad, there)
        good = good_specifiers(bound.volume, one.bad, there)
        mine, theirs = (f"{package} {stack.releases[package]}" for package in (one.package, one.provider))
        yield Hit(
            RULE,
            True,
            ((f"{_PACKAGE}{one.package}", what(one)), (f"{_PACKAGE}{one.provider}", when)),
            detail=f"{one.path}:{one.line} in {one.entry.partition(':')[2]} {what(one)}, {when}",
            packages=(one.package, one.provider),
            pins=tuple((one.provider, specifier) for specifier in good),
            file=at.file if at is not None else None,
            line=at.line if at is not None else None,
            yields=True,
            edge=one.edge,
            headline=f"{name.replace(':', '.')}() of {mine} fails beside {theirs}",
            witness=witness(one.name, one.call, one.path),
        )


CHECKS = (run_by_plans, made_by_all)
