"""What a function takes that the plan runs, of a stated release that does not have it."""

from __future__ import annotations

from envdoctor.checks.atlas import known_packages, stack_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.vocabulary import NOT_LOADED

RULE = "plan-runs-into-break"

_PACKAGE = "packages."
_PLAN = ("plan.distributed", "plan.method")


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


CHECKS = (run_by_plans,)
