"""A change of the plan in place of older releases: one joint cure of settings, and of pins for what they leave."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.app.gathered import Gathered
from envdoctor.app.judgement import find_situation_remedies
from envdoctor.app.mending import is_clear
from envdoctor.edits.edit import as_setting
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Outcomes
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.records import replace
from envdoctor.remedies.preference import goes_back
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Diagnosed
from envdoctor.rules.rulebook import Rulebook


def find_plan_first(
    gathered: Gathered, book: Rulebook, found: Sequence[Diagnosed], remedy: Remedy, outcomes: Outcomes | None, *, strict: bool
) -> Remedy | None:
    """Settings, and pins that go back to nothing older, that clear all that the remedy clears and what no pin does; None where there are
    none.

    Settings are taken of findings whose every pin goes back, or which no pin cures, and only where they bring no other finding.
    """
    settings: dict[str, bool | int | float | str | tuple[str, ...]] = {}
    cleared: list[str] = []
    about = {*remedy.clears, *remedy.unfixable}
    wanted = [one for one in found if one.finding.rule.id in about and one.finding.status in ("matched", "confirmed")]
    for one in wanted:
        if any(cure.pins and not goes_back(cure.pins, gathered.facts) for cure in one.cures):
            continue
        for cure in (cure for cure in one.cures if cure.plan):
            told = {name: as_setting(value) for name, value in cure.plan.items()}
            agreed = all(settings.get(name, value) == value for name, value in told.items())
            if agreed and is_clear({**settings, **told}, gathered.facts, [*cleared, one.finding.rule.id], book):
                settings.update(told)
                cleared.append(one.finding.rule.id)
                break
    if not settings:
        return None
    facts = [
        Fact(name, parse_value(name, list(value) if isinstance(value, tuple) else value), Origin("a change of the plan"))
        for name, value in settings.items()
    ]
    rest = [one.finding for one in wanted if one.finding.rule.id not in cleared]
    (best, *_) = find_situation_remedies(_with(gathered, facts), book, rest, outcomes, strict=strict)
    clears = (*dict.fromkeys(cleared), *best.clears)
    if not set(remedy.clears) <= set(clears) or goes_back(best.pins, gathered.facts):
        return None
    return replace(best, clears=clears, settings=settings)


def _with(gathered: Gathered, facts: Sequence[Fact]) -> Gathered:
    stated: Facts = gathered.facts.with_facts(facts)
    return replace(gathered, situation=replace(gathered.situation, facts=stated), derived=derive(stated))


__all__ = ["find_plan_first"]
