"""What a remedy may be made of: the packages that can move, and the releases that each can move to with their distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from envdoctor.checks.hit import Hit
from envdoctor.engine.outcomes import Outcomes
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.records import dataclass
from envdoctor.remedies.candidates import Listed, distances, pinned
from envdoctor.remedies.installable import FAMILY, Requires
from envdoctor.remedies.remembered import memory_of
from envdoctor.rules.conditions import Known
from envdoctor.rules.rule import Rule
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import Release

_BUILD_OF = "+"


@dataclass(frozen=True, slots=True)
class Problem:
    """What the search needs to judge a candidate: stated facts (not derived ones), rules and checks.

    A check of a package sees its releases through the rules' conditions, what it told of before, and, of torch, by their minor releases.
    ``releases`` and ``requires`` are the bundled tables where none are given.
    """

    stated: Facts
    rules: Sequence[Rule]
    checks: Sequence[Callable[[Facts], tuple[Hit, ...]]]
    known: Known
    outcomes: Outcomes | None = None
    releases: Listed | None = None
    requires: Requires | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that a package may become: a release, or gone (None).

    ``step`` is its distance in releases, ``days`` in days of release, and ``upward`` whether it comes after what is there.
    ``day`` is that of the release, counted from the year 1; 0 where it is not known. ``number`` tells options of one search apart.
    """

    package: str
    release: Exact | None
    step: int
    days: int
    upward: bool
    day: int
    number: int


State: TypeAlias = "Mapping[str, Option]"
"""The packages that change, each with what becomes of it."""


class Universe:
    """The packages of a problem and their releases; every option is made once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        requires: Requires = problem.requires or dependencies
        self.memory = memory_of(problem.outcomes, problem.releases, requires, problem.known, problem.stated)
        self.listing = self.memory.listing
        self._raw: dict[str, tuple[Option, ...]] = {}
        self._made = 0
        stated = [name.removeprefix("packages.") for name in problem.stated if name.startswith("packages.")]
        self.present = tuple(name for name in stated if isinstance(self.value(name), (Exact, Ranged)))
        self.movable = frozenset(name for name in self.present if self.installable(name))

    def value(self, package: str) -> Exact | Ranged | None:
        """What is stated of a package; None where it is not there or nothing is known of it."""
        value = self.problem.stated.value(f"packages.{package}")
        return value if isinstance(value, (Exact, Ranged)) else None

    def installable(self, package: str) -> tuple[Exact, ...]:
        return self.listing.installable(package)

    def option(self, package: str, release: Exact | None, step: int = 0, days: int = 0, *, upward: bool = False) -> Option:
        self._made += 1
        day = 0 if release is None else self.listing.days(package).get(release.text.partition(_BUILD_OF)[0], 0)
        return Option(package, release, step, days, upward, day, self._made)

    def built(self, package: str, public: str, label: str) -> Option | None:
        """The same release of a package, built with a label; None for one that is not listed."""
        release = next((one for one in self.installable(package) if same(one, exact(public))), None)
        return None if release is None else self.option(package, exact(f"{release.text}+{label}"))

    def options(self, package: str) -> tuple[Option, ...]:
        """Every release that a package may move to, nearest first; of two as near the later."""
        if package not in self._raw:
            known, days = self.installable(package), self.listing.days(package)
            value = self.value(package)
            start = self._day_of(package, value, known)
            steps = distances(value, known) if value is not None else self._from_the_rest(known, days)
            found = []
            for release, step in zip(known, steps, strict=True):
                if isinstance(value, Exact) and same(release, value):
                    continue
                upward = _is_above(value, release) if isinstance(value, Exact) else True
                day = days.get(release.text)
                found.append(self.option(package, release, step, abs(day - start) if day and start else 0, upward=upward))
            self._raw[package] = tuple(sorted(found, key=lambda one: (one.step, one.days, -one.day, -one.number)))
        return self._raw[package]

    def _day_of(self, package: str, value: Exact | Ranged | None, known: Sequence[Exact]) -> int:
        """The day from which days are counted: of a version that is not listed, that of the release before it; 0 for none."""
        days = self.listing.days(package)
        if isinstance(value, Exact):
            below = [one for one in known if same(one, value) or not _is_above(value, one)]
            return next((days[one.text] for one in reversed(below) if one.text in days), 0)
        if value is None:
            return self._youngest()
        admitted = version_condition(value.text)
        return next((days[one.text] for one in reversed(known) if one.text in days and admitted.admits(one)), 0)

    def _from_the_rest(self, known: Sequence[Exact], days: Mapping[str, int]) -> list[int]:
        """Of a package that is to be added: how far from the newest release of the days of the youngest one that is stated."""
        until = self._youngest()
        in_time = [place for place, release in enumerate(known) if days.get(release.text, 0) <= until] if until else []
        place = in_time[-1] if in_time else len(known) - 1 if not until else 0
        return [abs(index - place) + 1 for index in range(len(known))]

    def _youngest(self) -> int:
        found = [0]
        for name in self.present:
            value = self.value(name)
            if isinstance(value, Exact):
                found.append(self.listing.days(name).get(value.text.partition(_BUILD_OF)[0], 0))
        return max(found)

    def pin(self, option: Option, state: State) -> str:
        """The exact pin of an option, empty to remove the package."""
        if option.release is None:
            return ""
        torch = state.get(FAMILY[0])
        return pinned(option.package, option.release, self.problem.stated, None if torch is None else torch.release)


def split(state: State) -> tuple[dict[str, Exact], tuple[str, ...]]:
    """The releases that packages move to, and the packages that go."""
    pins = {name: option.release for name, option in state.items() if option.release is not None}
    return pins, tuple(name for name, option in state.items() if option.release is None)


def same(release: Exact, current: Exact) -> bool:
    """Whether a release is that of a version, whatever its build."""
    return release.text == current.text.partition(_BUILD_OF)[0] or (release.key is not None and release.key == current.key)


def _is_above(value: Exact, release: Exact) -> bool:
    return version_condition(f">{value.text.partition(_BUILD_OF)[0]}").admits(release)


def named(specifier: str) -> Exact | None:
    """The one version that ``==1.2`` names; None for any other specifier."""
    text = specifier.replace(" ", "")
    if not text.startswith("==") or text.startswith("===") or "," in text or "|" in text or "*" in text:
        return None
    return exact(text.removeprefix("=="))


def packages_of(facts: Iterable[str]) -> tuple[str, ...]:
    """The packages that facts are about, without repeats."""
    return tuple(dict.fromkeys(name.removeprefix("packages.") for name in facts if name.startswith("packages.")))


__all__ = [
    "FAMILY", "Option", "Problem", "Release", "Requires", "State", "Universe", "named", "packages_of", "same", "split",
]  # fmt: skip
