"""Pinned releases that have no wheel for the Python at hand: an installer ends as if they did not exist, or compiles them.

What ``Requires-Python`` refuses is told elsewhere: it names the oldest Python, and wheels end at the newest one of their day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from envdoctor.checks.declared_together import ranges_of, refusals
from envdoctor.checks.hit import Hit
from envdoctor.checks.pythons import minors_of
from envdoctor.facts.fact import REQUIRED, Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.records import dataclass
from envdoctor.world.releases import releases
from envdoctor.world.wheel_pythons import SYSTEMS, Wheels, wheels_beside_source, wheels_of

NO_WHEEL = "no-wheel-for-this-python"
COMPILED = "compiled-for-this-python"

_PACKAGE = "packages."
# setup.py of numba 0.56.4 ends the build under a Python that the release has no wheels for; of 0.62.1
# https://github.com/librosa/librosa/issues/1989 shows it.
_REFUSE_TO_BUILD = frozenset(("numba",))
WORDS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
# Labels of PyTorch's own index, which has its wheels for the same Pythons.
_PYTORCH_LABEL = re.compile(r"(?:cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two families: its rule, where the wheels of a release stand, and when they do not serve."""

    rule: str
    find: Callable[[str, str], Wheels | None]
    lacks: Callable[[Wheels, Sequence[int], Sequence[str]], bool]
    source: str


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
        name, source = fact_name.removeprefix(_PACKAGE), fact.origin.source
        if name == fact_name or name in there or source.startswith(("installed", "a wheel, ")):
            continue
        if isinstance(fact.value, Ranged):
            yield from _of_range(facts, name, fact.value, minors, systems)
            continue
        if not isinstance(fact.value, Exact):
            continue
        public, _, label = fact.value.text.partition("+")
        for kind in _KINDS if _PYTORCH_LABEL.fullmatch(label) else ():
            wheels = kind.find(name, public)
            if wheels is not None and kind.lacks(wheels, minors, systems) and not any(refusals(facts, {name: exact(public)})):
                yield _hit(facts, kind, name, wheels, minors, systems)


def _of_range(facts: Facts, name: str, wanted: Ranged, minors: Sequence[int], systems: Sequence[str]) -> Iterator[Hit]:
    """The newest release that a range admits, where no release of the range has a wheel: ``numpy<1.24`` under Python 3.12."""
    if not wanted.text:
        return
    admits = version_condition(wanted.text).admits
    first: tuple[_Kind, Wheels, str] | None = None
    for one in reversed([one for one in releases(name) if not one.yanked]):
        if not admits(exact(one.version)) or any(refusals(facts, {name: exact(one.version)})):
            continue
        found = next(((kind, wheels) for kind in _KINDS if (wheels := kind.find(name, one.version)) is not None), None)
        if found is None or not found[0].lacks(found[1], minors, systems):
            return
        first = first or (*found, one.version)
    if first is not None:
        kind, wheels, newest = first
        yield _hit(facts, kind, name, wheels, minors, systems, newest=newest)


def _lack(wheels: Wheels, minors: Sequence[int], systems: Sequence[str]) -> bool:
    return not any(wheels.suit(minor, system) for minor in minors for system in systems)


def _end_before(wheels: Wheels, minors: Sequence[int], systems: Sequence[str]) -> bool:
    """Whether the newest wheels are for older Pythons; for an older one than they are for, a release is refused or was easily built."""
    newest = [wheels.newest(system) for system in systems if system in wheels.minors]
    return bool(newest) and _lack(wheels, minors, systems) and all(one is not None and one < min(minors) for one in newest)


_KINDS = (
    _Kind(NO_WHEEL, wheels_of, _lack, "and no source archive"),
    _Kind(COMPILED, wheels_beside_source, _end_before, "so that its source is compiled"),
)


def _hit(facts: Facts, kind: _Kind, name: str, wheels: Wheels, minors: Sequence[int], systems: Sequence[str], *, newest: str = "") -> Hit:
    """``newest`` is the last release that a range admits, which is what an installer takes."""
    python, release, place = facts["python"].value, facts[f"{_PACKAGE}{name}"].value, facts[f"{_PACKAGE}{name}"].origin
    known = [one for one in releases(name) if not one.yanked]
    fitting = ranges_of(
        [_serves(facts, kind, name, one.version, minors, systems) for one in known],
        [one.version for one in known],
    )
    where = f" on {WORDS[systems[0]]}" if len(systems) == 1 else ""
    last = max((wheels.newest(system) or 0 for system in systems), default=0)
    until = f"its newest wheels are for Python 3.{last}" if last else f"it has none{where} at all"
    said = f"{name} {newest or release} has no wheel for Python {_plain(python)}{where}"
    refused = kind.rule == COMPILED and name in _REFUSE_TO_BUILD
    source = "and its setup.py refuses to be built under it" if refused else kind.source
    built = "" if kind.rule == NO_WHEEL else ": its source refuses it" if refused else ": it is compiled"
    return Hit(
        kind.rule,
        True,
        ((f"{_PACKAGE}{name}", until), ("python", "none for it")),
        detail=f"{said}, {source}: {until}" + (f"; it is the newest that {name}{release} admits" if newest else ""),
        packages=(name,),
        pins=((name, fitting),) if fitting else (),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=said + built,
        advice=_without(facts, kind, name, minors, systems) or (f"install under Python 3.{last}" if last and not fitting else ""),
    )


def _without(facts: Facts, kind: _Kind, name: str, minors: Sequence[int], systems: Sequence[str]) -> str:
    """For what no line names and another package requires: the nearest release of that one with which an installer finds a wheel, or none
    is needed; a later one before an earlier one."""
    from envdoctor.world.dependencies import dependencies

    source = facts[f"{_PACKAGE}{name}"].origin.source
    by = source.removeprefix(REQUIRED).partition(" ")[0] if source.startswith(REQUIRED) else ""
    there = facts.value(f"{_PACKAGE}{by}")
    if not by or not isinstance(there, Exact):
        return ""
    served = [exact(one.version) for one in releases(name) if not one.yanked and _serves(facts, kind, name, one.version, minors, systems)]
    later = version_condition(f">{there.text.partition('+')[0]}")
    known = [one.version for one in releases(by) if not one.yanked]
    above = [text for text in known if later.admits(exact(text))]
    for text in (*above, *(text for text in reversed(known) if text not in above)):
        asked = [one.specifier for one in dependencies(by, text) or () if one.name == name]
        admitted = all(any(version_condition(one).admits(release) for release in served) for one in asked)
        if admitted and dependencies(by, text) is not None and not any(refusals(facts, {by: exact(text)})):
            which = "or a later one, which requires" if text in above else "which requires"
            return f"take {by} {text}, {which} {'another' if asked else 'no'} {name}"
    return ""


def _serves(facts: Facts, kind: _Kind, name: str, release: str, minors: Sequence[int], systems: Sequence[str]) -> bool:
    """Whether a release has a wheel, or may; of packages that are compiled without one, it must have one."""
    wheels = kind.find(name, release)
    served = not kind.lacks(wheels, minors, systems) if wheels is not None else kind.rule == NO_WHEEL
    return served and not any(refusals(facts, {name: exact(release)}))


def _plain(python: object) -> str:
    return str(python).removeprefix("==").removesuffix(".*")


def _systems(facts: Facts) -> tuple[str, ...]:
    """The systems that it may be; none where the wheels of that machine are not in the table."""
    stated, machine = facts.text("os"), facts.text("machine")
    if machine not in (None, "x86_64", "amd64") and stated != "macos":
        return ()
    return tuple(SYSTEMS) if stated is None else (stated,) if stated in SYSTEMS else ()


CHECKS = (wheels_for_python,)
