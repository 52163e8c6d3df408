"""Pinned releases that have wheels alone, and none for the Python at hand: an installer ends as if they did not exist.

What ``Requires-Python`` refuses is told elsewhere: it names the oldest Python, and wheels end at the newest one of their day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from envdoctor.checks.declared_together import ranges_of, refusals
from envdoctor.checks.hit import Hit
from envdoctor.checks.pythons import minors_of
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact
from envdoctor.world.releases import releases
from envdoctor.world.wheel_pythons import SYSTEMS, Wheels, wheels_of

RULE = "no-wheel-for-this-python"

_PACKAGE = "packages."
_WORDS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# Labels of PyTorch's own index, which has its wheels for the same Pythons.
_PYTORCH_LABEL = re.compile(r"(?:cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu)?", re.ASCII)


def wheels_for_python(facts: Facts) -> tuple[Hit, ...]:
    """Every release that is to be installed and that has no wheel for any Python that the situation admits.

    What is there already came from somewhere, and conda has builds of its own.
    """
    minors, systems = minors_of(facts), _systems(facts)
    if facts.closed or not minors or not systems:
        return ()
    return tuple(_hits(facts, minors, systems))


def _hits(facts: Facts, minors: Sequence[int], systems: Sequence[str]) -> Iterator[Hit]:
    present = facts.value("present")
    there = frozenset(present) if isinstance(present, tuple) else frozenset()
    for fact_name, fact in facts.by_name.items():
        name = fact_name.removeprefix(_PACKAGE)
        source = fact.origin.source
        if name == fact_name or not isinstance(fact.value, Exact) or name in there or source.startswith(("installed", "a wheel, ")):
            continue
        public, _, label = fact.value.text.partition("+")
        wheels = wheels_of(name, public) if _PYTORCH_LABEL.fullmatch(label) else None
        lacks = wheels is not None and not any(wheels.suit(minor, system) for minor in minors for system in systems)
        if wheels is not None and lacks and not any(refusals(facts, {name: exact(public)})):
            yield _hit(facts, name, fact.value, wheels, lambda other: _serves(other, minors, systems), systems)


def _serves(wheels: Wheels | None, minors: Sequence[int], systems: Sequence[str]) -> bool:
    return wheels is None or any(wheels.suit(minor, system) for minor in minors for system in systems)


def _hit(facts: Facts, name: str, release: Exact, wheels: Wheels, serves: Callable[[Wheels | None], bool], systems: Sequence[str]) -> Hit:
    python, place = facts["python"].value, facts[f"{_PACKAGE}{name}"].origin
    known = [one for one in releases(name) if not one.yanked]
    fitting = ranges_of(
        [serves(wheels_of(name, one.version)) and not any(refusals(facts, {name: exact(one.version)})) for one in known],
        [one.version for one in known],
    )
    where = f" on {_WORDS[systems[0]]}" if len(systems) == 1 else ""
    newest = max((wheels.newest(system) or 0 for system in systems), default=0)
    until = f"its newest wheels are for Python 3.{newest}" if newest else f"it has none{where} at all"
    said = f"{name} {release} has no wheel for Python {_plain(python)}{where}"
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", f"wheels alone, and {until}"), ("python", "none for it")),
        detail=f"{said}, and no source archive: {until}",
        packages=(name,),
        pins=((name, fitting),) if fitting else (),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=said,
        advice=f"install under Python 3.{newest}" if newest and not fitting else "",
    )


def _plain(python: object) -> str:
    return str(python).removeprefix("==").removesuffix(".*")


def _systems(facts: Facts) -> tuple[str, ...]:
    """The systems that it may be; none where the wheels of that machine are not in the table."""
    stated, machine = facts.text("os"), facts.text("machine")
    if machine not in (None, "x86_64", "amd64") and stated != "macos":
        return ()
    return tuple(SYSTEMS) if stated is None else (stated,) if stated in SYSTEMS else ()


CHECKS = (wheels_for_python,)
