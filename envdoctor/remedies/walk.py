"""The walk over sets of changes, cheapest first: what it comes upon first is the smallest, and what follows are the next ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from envdoctor.checks.declared_together import CONTRADICT
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.records import dataclass
from envdoctor.remedies.agreement import Clash
from envdoctor.remedies.domains import Domains
from envdoctor.remedies.goals import Goal, accused, stands, suspects
from envdoctor.remedies.universe import FAMILY, Option, State, Universe
from envdoctor.remedies.verdicts import Verdicts

Cost: TypeAlias = "tuple[int, int, int, int, int, int, int, int, int]"
"""What makes a set worse, in this order: errors left, warnings left, packages removed, packages changed (one that goes back two years and
more counts for as many more), packages changed whose own declaration is what is not met, steps, whether torch is among them (all that is
compiled goes with it), packages that go back, days."""

_YEAR = 365
_FAR = 2

Ways: TypeAlias = "list[tuple[str, Sequence[Option]]]"
"""The packages one of which has to change, with what each may become for that."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that is still wrong. ``goal`` is the place of the goal that may be given up instead of being cleared."""

    ways: Ways
    goal: int | None = None

    def width(self) -> int:
        return sum([len(options) for _, options in self.ways])


@dataclass(frozen=True, slots=True)
class Set:
    """A set of changes under which nothing is brought and no goal stands that was not given up."""

    state: State
    left: frozenset[int]
    cost: Cost


@dataclass(slots=True)
class _Node:
    state: Mapping[str, Option]
    left: frozenset[int]
    package: str = ""
    parent: _Node | None = None
    brought: Sequence[str] = ()
    clashes: Sequence[Clash] = ()
    obstacles: list[Obstacle] | None = None


def declaring(verdicts: Verdicts) -> frozenset[str]:
    """The packages of which a release declares what another one that is there does not meet.

    An installer that is given such a release moves what it requires; so does the cure, of two that move as few. Most that is declared of
    torch makes it no easier to move; what requires one release of it was compiled for that one, and stays. Where torchvision or
    torchaudio is of the torch that is there, these hold it.
    """
    held = any(name in verdicts.values({}) and not _at_odds(name, verdicts) for name in FAMILY[1:])
    return frozenset(
        first
        for first, second, third in verdicts.clashes_before
        if not third and (second != FAMILY[0] or (not held and first not in FAMILY and _requires_one(first, second, verdicts)))
    )


def _at_odds(name: str, verdicts: Verdicts) -> bool:
    return any(not third and {first, second} == {name, FAMILY[0]} for first, second, third in verdicts.clashes_before)


def _requires_one(first: str, second: str, verdicts: Verdicts) -> bool:
    """Whether a release that is there requires one single release of another package."""
    value = verdicts.values({}).get(first)
    told = verdicts.agreement.demands(first, value).get(second, ()) if isinstance(value, Exact) else ()
    return any(specifier.startswith("==") and "*" not in specifier for specifier in told)


def years_back(option: Option) -> int:
    """How many years a package goes back; 0 where it is a step that somebody takes who has to go back."""
    years = 0 if option.upward else option.days // _YEAR
    return years if years >= _FAR else 0


class Walk:
    """Sets of changes for some goals, in the order of their cost.

    Every set that differs from one in which something is wrong, and in which that is mended, changes one of the packages that it is
    about: so from each only these steps are made, and none is missed. What is left to do costs at least one change for every two
    obstacles that have no package in common.
    """

    def __init__(
        self, universe: Universe, verdicts: Verdicts, domains: Domains, goals: Sequence[Goal], floors: Mapping[str, Mapping[str, Exact]]
    ) -> None:
        self._universe, self._verdicts, self._domains = universe, verdicts, domains
        self._goals, self._floors = goals, floors
        self._kept: dict[tuple[Clash, str, str, int], list[Option]] = {}
        self._otherwise: dict[tuple[str, str], Sequence[Option]] = {}
        self._least: dict[int, tuple[Sequence[Option], int]] = {}
        self._declaring = declaring(verdicts)
        self.looked_at = 0

    def sets(self, given_up: Iterable[int] = (), *, most: int, further: int = 0) -> Iterator[Set | None]:
        """All sets, cheapest first, from goals of which some are given up from the start.

        None, and nothing after it, says that more than ``most`` had to be looked at, or more than ``further`` for one that costs more
        than the first.
        """
        start = frozenset(given_up)
        number = 0
        queue: list[tuple[Cost, int, _Node]] = [(self._cost({}, frozenset()), number, _Node({}, start))]
        seen: set[tuple[frozenset[int], frozenset[int]]] = set()
        looked_at = 0
        first: Cost | None = None
        ties = True
        while queue:
            cost, _, node = heappop(queue)
            if ties and first is not None and cost > first:
                ties, most = False, min(most, looked_at + further)
            if node.obstacles is None:
                looked_at += 1
                self.looked_at += 1
                if looked_at > most:
                    yield None
                    return
                node.obstacles = self._obstacles(node)
                better = self._bound(node.state, node.left - start, node.obstacles)
                if better > cost:
                    number += 1
                    heappush(queue, (better, number, node))
                    continue
            if not node.obstacles:
                if first is None:
                    first = cost
                yield Set(node.state, node.left - start, cost)
                continue
            for child in self._children(node):
                key = frozenset(option.number for option in child.state.values()), child.left
                if key not in seen:
                    seen.add(key)
                    number += 1
                    heappush(queue, (max(cost, self._cost(child.state, child.left - start)), number, child))

    def _children(self, node: _Node) -> Iterator[_Node]:
        """One obstacle is taken, the one with the fewest ways out."""
        assert node.obstacles
        obstacle = min(node.obstacles, key=Obstacle.width)
        for package, options in obstacle.ways:
            for option in options:
                yield _Node({**node.state, package: option}, node.left, package, node)
        if obstacle.goal is not None:
            yield _Node(node.state, node.left | {obstacle.goal}, "", node)

    def _cost(self, state: State, left: frozenset[int]) -> Cost:
        errors = removed = against = steps = back = days = 0
        changed = len(state)
        for goal in left:
            errors += self._goals[goal].level == 0
        for option in state.values():
            steps += option.step
            days += option.days
            removed += option.release is None
            against += option.package in self._declaring
            back += not option.upward
            changed += years_back(option)
        return errors, len(left) - errors, removed, changed, against, steps, int(FAMILY[0] in state), back, days

    def _bound(self, state: State, left: frozenset[int], obstacles: Sequence[Obstacle]) -> Cost:
        """No set that comes of this one by further changes, and gives up no more, costs less."""
        errors, warnings, removed, changed, against, steps, torch, back, days = self._cost(state, left)
        taken: set[str] = set()
        for obstacle in sorted(obstacles, key=Obstacle.width):
            packages = {package for package, _ in obstacle.ways}
            if packages and taken.isdisjoint(packages):
                taken |= packages
                changed += 1
                steps += min([self._least_step(options) for _, options in obstacle.ways if options])
                against += min([package in self._declaring for package, _ in obstacle.ways])
        return (errors, warnings, removed, changed, against, steps, torch, back, days)

    def _least_step(self, options: Sequence[Option]) -> int:
        # By identity: what a package may become is looked at in set after set. What is kept stays alive.
        found = self._least.get(id(options))
        if found is None:
            found = self._least[id(options)] = (options, min([option.step for option in options]))
        return found[1]

    def _obstacles(self, node: _Node) -> list[Obstacle]:
        """What is wrong under the changes. Checks, which cost most, are asked where nothing else is."""
        state, left, before = node.state, node.left, node.parent
        if before is None:
            node.clashes = self._verdicts.all_clashes(state)
        elif node.package:
            node.brought = self._verdicts.joins(node.package, state, before.brought)
            node.clashes = self._verdicts.all_clashes(state, node.package, before.clashes)
        else:
            node.brought, node.clashes = before.brought, before.clashes
        found: list[Obstacle] = []
        asked_last: list[int] = []
        for place, goal in enumerate(self._goals):
            if place in left:
                continue
            if goal.by == "check":
                asked_last.append(place)
            elif stands(goal, state, self._verdicts):
                found.append(Obstacle(self._of_goal(goal, state), place))
        found += [Obstacle(self._of_rule(name, state)) for name in node.brought]
        for clash in node.clashes:
            is_new = self._verdicts.is_new(clash, state)
            told = next((place for place in asked_last if self._tells(self._goals[place], clash)), None)
            if is_new or told is not None:
                found.append(Obstacle(self._of_clash(clash, state), None if is_new else told))
        found += [Obstacle(self._of_goal(goal, state)) for goal in self._below_floor(state, left)]
        if found:
            return found
        for place in asked_last:
            if stands(self._goals[place], state, self._verdicts):
                found.append(Obstacle(self._of_goal(self._goals[place], state), place))
        return found + [Obstacle(self._any(suspects(hit), state)) for hit in self._verdicts.brought_hits(state)]

    def _tells(self, goal: Goal, clash: Clash) -> bool:
        """Whether a finding about requirements is about these two packages."""
        return goal.name == CONTRADICT and {name for name in clash if name} <= {*goal.finding.packages}

    def _below_floor(self, state: State, left: frozenset[int]) -> Iterator[Goal]:
        """Findings that stay, and of which a pin goes below what their fixes require."""
        for place in left:
            goal = self._goals[place]
            for package, lowest in self._floors.get(goal.name, {}).items():
                release = state[package].release if package in state else None
                if release is not None and version_condition(f"<{lowest.text}").admits(release) and stands(goal, state, self._verdicts):
                    yield goal
                    break

    def _of_goal(self, goal: Goal, state: State) -> Ways:
        if goal.by == "rule":
            return self._of_rule(goal.name, state)
        return self._any(accused(goal, self._verdicts), state)

    def _any(self, packages: Iterable[str], state: State) -> Ways:
        return [(name, options) for name in packages if name not in state and (options := self._domains.of(name))]

    def _of_rule(self, rule: str, state: State) -> Ways:
        """The releases that one of the rule's conditions sees otherwise than what is there."""
        ways: Ways = []
        for package in self._verdicts.live[rule]:
            if package in state:
                continue
            key = (rule, package)
            if key not in self._otherwise:
                self._otherwise[key] = self._seen_otherwise(rule, package)
            if self._otherwise[key]:
                ways.append((package, self._otherwise[key]))
        return ways

    def _seen_otherwise(self, rule: str, package: str) -> Sequence[Option]:
        options, there = self._domains.of(package), self._verdicts.look_now(rule, package)
        return options if there is None else [one for one in options if self._verdicts.look(rule, one) != there]

    def _of_clash(self, clash: Clash, state: State) -> Ways:
        """Of two packages the first one moves to what admits the other as it is, or the other one moves anywhere.

        Where one of them has moved already, the other has to follow it. Pinning a third one settles what they require of it.
        """
        first, second, third = clash
        ways: Ways = []
        for name, other in ((first, second), (second, first)):
            if name in state:
                continue
            options: Sequence[Option] = self._domains.of(name)
            if name == first or not self._domains.of(first) or first in state:
                options = self._agreeing(clash, name, other, state)
            if options:
                ways.append((name, options))
        return ways + self._any([third] if third else [], state)

    def _agreeing(self, clash: Clash, name: str, other: str, state: State) -> Sequence[Option]:
        """What one package of a clash may become that admits the other one as it is."""
        torch = state.get(FAMILY[0])
        there = self._verdicts.values(state).get(other)
        key = (clash, name, "" if there is None else there.text, 0 if torch is None else torch.number)
        found = self._kept.get(key)
        if found is None:
            values = {} if there is None else {other: there}
            found = self._kept[key] = [one for one in self._domains.of(name) if self._agrees(one, clash, values, state)]
        return found

    def _agrees(self, option: Option, clash: Clash, there: Mapping[str, Exact | Ranged], state: State) -> bool:
        if option.release is None:
            return True
        return self._verdicts.agreement.agree({**there, option.package: self._verdicts.value(option, state)}, clash)


__all__ = ["Cost", "Obstacle", "Set", "Walk"]
