"""What is drawn at random for executed stacks: a consumer's release and its Python, and the providers that are moved."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from stack_tables import CONSUMERS, PROVIDERS, PYTHONS, TORCH, Consumer, TorchBuild

from envdoctor.records import dataclass
from envdoctor.world.releases import Release, releases

FIRST_DAY, LAST_DAY = "2022-01-01", "2026-11-15"
# A provider that the consumer itself declares is this much likelier than one that only came along.
DECLARED = 4
_TRIES = 200
# Old metadata holds requirements that packaging refuses as a whole.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Draw:
    """One drawing of bases: its seed, set down before the first run, which releases of torch it may need, and the moves out of a base."""

    seed: int
    torch: tuple[TorchBuild, ...]
    moves: int = 10
    moves_with_torch: int = 8


# The later ones are kept as a whole, each for one judgement. An environment with an older torch takes gigabytes: they have the last alone.
# The fourth has few moves out of many bases: moves out of one base often fail for one and the same cause.
DRAWS = {
    1: Draw(20261123, TORCH),
    2: Draw(20261126, TORCH[-1:]),
    3: Draw(20261127, TORCH[-1:]),
    4: Draw(20261231, TORCH[-1:], 4, 4),
    5: Draw(20271129, TORCH[-1:], 4, 4),
    6: Draw(20271229, TORCH[-1:], 4, 4),
    7: Draw(20271307, TORCH[-1:], 4, 4),
    8: Draw(20271605, TORCH[-1:], 4, 4),
}


@dataclass(frozen=True, slots=True)
class Base:
    """What is installed before anything is moved: ``version`` is None where the newest release of the day is taken."""

    number: int
    consumer: Consumer
    version: str | None
    day: str
    python: str
    torch: TorchBuild | None


@dataclass(frozen=True, slots=True)
class Move:
    """One package put at another release."""

    provider: str
    before: str
    after: str


def draw_base(number: int, draw: Draw = DRAWS[1], before: Collection[tuple[str, str]] = ()) -> Base:
    """The base of this number: the same in every run, as long as the bundled list of releases is.

    ``before`` are consumers with a release or a day that an earlier drawing had: they are passed over.
    """
    chance = random.Random(f"{draw.seed}:{number}")
    while True:
        consumer = chance.choices(CONSUMERS, [one.weight for one in CONSUMERS])[0]
        first = max(FIRST_DAY, draw.torch[0].since) if consumer.torch else FIRST_DAY
        days = [release for release in releases(consumer.package) if _in_time(release, consumer, first)]
        if not releases(consumer.package):
            day, version, wanted = _any_day(chance, first), None, None
        elif days:
            release = chance.choice(days)
            day, version, wanted = release.date or "", release.version, release.requires_python
        else:
            continue
        if (consumer.package, version or day) in before:
            continue
        build = next((one for one in reversed(draw.torch) if one.since <= day), None) if consumer.torch else None
        pythons = [build.python] if build else [one for one in PYTHONS[day[:4]] if _runs(wanted, one)]
        if pythons and _runs(wanted, python := chance.choice(pythons)):
            return Base(number, consumer, version, day, python, build)


def draw_moves(
    base: Base,
    installed: Mapping[str, str],
    requires: Collection[str],
    count: int,
    full: Collection[tuple[str, str]] = (),
    draw: Draw = DRAWS[1],
) -> Iterator[Move]:
    """Different moves of packages that are installed; pairs of consumer and provider that are full are passed over."""
    chance = random.Random(f"{draw.seed}:{base.number}:moves")
    declared = {canonicalize_name(name[0]) for line in requires if (name := _NAME.match(line))}
    own = canonicalize_name(base.consumer.package)
    weights = {
        name: weight * (DECLARED if name in declared else 1)
        for name, weight in PROVIDERS.items()
        if name in installed and name != own and (own, name) not in full
    }
    seen: set[tuple[str, str]] = set()
    for _ in range(_TRIES if weights else 0):
        provider = chance.choices(list(weights), list(weights.values()))[0]
        up = chance.random() < 0.5
        targets = _targets(provider, installed[provider], base.python)
        there = [one for one in targets if (Version(one) > Version(installed[provider])) == up] or targets
        if not there:
            continue
        after = chance.choice(there)
        if (provider, after) not in seen:
            seen.add((provider, after))
            yield Move(provider, installed[provider], after)
        if len(seen) == count:
            return


def _in_time(release: Release, consumer: Consumer, first: str) -> bool:
    return release.date is not None and first <= release.date <= LAST_DAY and not release.yanked and (release.wheel or consumer.builds)


def _any_day(chance: random.Random, first: str) -> str:
    """A month's first day."""
    months = [f"{year}-{month:02}-01" for year in range(2022, 2027) for month in range(1, 13)]
    return chance.choice([day for day in months if first <= day <= LAST_DAY])


def _runs(requires_python: str | None, python: str) -> bool:
    return requires_python is None or SpecifierSet(requires_python).contains(f"{python}.9")


def _targets(provider: str, version: str, python: str) -> list[str]:
    """The last release of each minor version since the first day, other than the installed one, that this Python may install."""
    last: dict[tuple[int, int], str] = {}
    for release in releases(provider):
        number = Version(release.version)
        if release.date is None or not FIRST_DAY <= release.date <= LAST_DAY or release.yanked or not release.wheel:
            continue
        if _runs(release.requires_python, python):
            last[number.major, number.minor] = release.version
    return [one for one in last.values() if Version(one) != Version(Version(version).public)]
