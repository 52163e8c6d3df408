"""Which of several sets of changes is told first, and what is said of each of its pins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.remedies.goals import Goal, fix_specs, stands
from envdoctor.remedies.remedy import Change, Remedy
from envdoctor.remedies.universe import FAMILY, Option, State, Universe
from envdoctor.remedies.verdicts import Verdicts
from envdoctor.remedies.walk import Set


def ranked(sets: Sequence[Set], goals: Sequence[Goal]) -> list[Set]:
    """The nearest sets first: of those as near, the later releases, then the smaller step, then the releases that a fix names.

    After them the nearest one for other packages and in other directions, then the rest.
    """
    nearest = sorted((one for one in sets if one.cost == sets[0].cost), key=lambda one: _rank(one, goals))
    seen = {_directions(one.state) for one in nearest}
    others: list[Set] = []
    rest: list[Set] = []
    for one in sets[len(nearest) :]:
        (rest if _directions(one.state) in seen else others).append(one)
        seen.add(_directions(one.state))
    return [*nearest, *others, *rest]


def _directions(state: State) -> frozenset[tuple[str, bool]]:
    """The packages that change, of those that go along with torch torch alone, and where each one goes."""
    along = FAMILY[1:] if FAMILY[0] in state else ()
    return frozenset((name, option.upward) for name, option in state.items() if name not in along)


def _rank(one: Set, goals: Sequence[Goal]) -> tuple[object, ...]:
    options = list(one.state.values())
    named = sum(_is_named(option, goals) for option in options)
    pins = sorted(f"{option.package}{option.release}" for option in options)
    return (-sum(option.day for option in options), max(option.step for option in options), -named, _by_number(options), pins)


def _by_number(options: Sequence[Option]) -> int:
    """Later releases first where no days are known."""
    return -sum(option.upward for option in options)


def _is_named(option: Option, goals: Sequence[Goal]) -> bool:
    """Whether a fix names just this release, or begins with it."""
    if option.release is None:
        return False
    told = (spec for goal in goals for name, spec, _ in fix_specs(goal.finding) if name == option.package)
    return any(f"={option.release.text}" in spec.replace(" ", "").replace("|", ",").split(",")[0] for spec in told)


def remedy(one: Set, universe: Universe, verdicts: Verdicts, goals: Sequence[Goal], wanted: Sequence[Finding], proof: str) -> Remedy:
    """A set of changes with what it clears, and of every change why."""
    state = _with_builds(one.state, universe, verdicts)
    cleared = [goal for goal in goals if not stands(goal, one.state, verdicts)]
    names = {id(goal.finding) for goal in cleared}
    order = sorted(state, key=lambda name: (FAMILY[0] if name in FAMILY else name, FAMILY.index(name) if name in FAMILY else 0))
    pins = {name: universe.pin(option, state) for name, option in sorted(state.items())}
    brought = sorted(_possible(one.state, verdicts))
    return Remedy(
        {name: pin for name, pin in pins.items() if pin},
        tuple(sorted({goal.name for goal in cleared})),
        tuple(sorted({finding.rule.id for finding in wanted if id(finding) not in names})),
        changes=tuple(_change(name, state, universe, verdicts, cleared) for name in order),
        removes=tuple(name for name, pin in pins.items() if not pin),
        proof=proof or (f"no change clears it under which nothing else becomes possible: {', '.join(brought)}" if brought else ""),
        steps=one.cost[5],
        days=one.cost[8],
    )


def _possible(state: State, verdicts: Verdicts) -> Iterator[str]:
    """What becomes possible under changes that were judged without regard to it."""
    if verdicts.strict:
        return
    for name in dict.fromkeys(rule for package in state for rule in verdicts.rules_of.get(package, ())):
        if verdicts.before[name].held is False and verdicts.would_be_told(name, state):
            yield name


def _with_builds(state: State, universe: Universe, verdicts: Verdicts) -> dict[str, Option]:
    """The changes; torchvision and torchaudio are of the build of torch where that one becomes another build."""
    found = dict(state)
    torch = state.get(FAMILY[0])
    label = "" if torch is None or torch.release is None else torch.release.text.partition("+")[2]
    values = verdicts.values(state)
    for name in FAMILY[1:]:
        value = values.get(name)
        # Of an open range an installer takes what the index of the build has.
        if label and isinstance(value, Exact) and name in universe.present:
            public, _, built = str(value).partition("+")
            option = universe.built(name, public, label) if built != label else None
            if option is not None:
                found[name] = option
    return found


def _change(name: str, state: State, universe: Universe, verdicts: Verdicts, cleared: Sequence[Goal]) -> Change:
    value = universe.value(name)
    gone = FAMILY if name == FAMILY[0] else (name,)
    without = {other: option for other, option in state.items() if other not in gone}
    standing = [goal for goal in cleared if stands(goal, without, verdicts)]
    pin = universe.pin(state[name], state)
    reason = _reason(state[name], standing, without, state, verdicts)
    return Change(name, "" if value is None else str(value), pin, tuple(sorted({goal.name for goal in standing})), reason)


def _reason(option: Option, standing: Sequence[Goal], without: State, state: State, verdicts: Verdicts) -> str:
    if option.package in FAMILY[1:] and FAMILY[0] in state:
        torch = verdicts.values(state).get(FAMILY[0])
        return f"goes with torch {torch}"
    for goal in standing:
        for name, spec, note in fix_specs(goal.finding):
            if name == option.package and note and option.release is not None and version_condition(spec).admits(option.release):
                return note
    asked = _asked(option, without, state, verdicts) if any(goal.by != "rule" for goal in standing) else ""
    if asked:
        return asked
    if standing and option.release is not None:
        return f"the nearest release that {standing[0].name} does not accuse"
    if standing:
        return f"{standing[0].name} needs it to be there"
    values = verdicts.values(without)
    clashes = [clash for clash in verdicts.clashes(without) if option.package in clash[:2]]
    if clashes and clashes[0][0] in values:
        return verdicts.agreement.told(clashes[0], values)
    brought = verdicts.brought(without) or [hit.rule for hit in verdicts.brought_hits(without)]
    return f"without it {brought[0]} would match" if brought else ""


def _asked(option: Option, without: State, state: State, verdicts: Verdicts) -> str:
    """What is required of a release, or what it requires, of a package with which the one before it did not agree."""
    package, values = option.package, verdicts.values(state)
    release = values.get(package)
    apart = [clash for clash in verdicts.agreement.clashes(verdicts.values(without)) if package in clash[:2] and not clash[2]]
    for first, second, _ in apart:
        other = second if first == package else first
        for one, there in ((other, package), (package, other)):
            value = values.get(one)
            if isinstance(value, Exact) and isinstance(release, Exact) and there in verdicts.agreement.demands(one, value):
                return verdicts.agreement.told((one, there, ""), values)
    return ""


__all__ = ["ranked", "remedy"]
