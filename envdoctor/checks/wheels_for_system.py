"""Pinned releases that have wheels for Linux and none for the stated system, whatever the Python: nobody has to say which one it is."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.declared_together import ranges_of
from envdoctor.checks.hit import Hit
from envdoctor.checks.pythons import minors_of
from envdoctor.checks.wheels_for_python import COMPILED, NO_WHEEL, WORDS
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.world.wheel_pythons import SYSTEMS, Wheels, listed_releases, wheels_beside_source, wheels_of

_PACKAGE = "packages."
# PyTorch's own index has what the package index lacks for these on Windows.
_ELSEWHERE = frozenset(
    ("torch", "torchvision", "torchaudio", "torchtext", "functorch", "fbgemm-gpu", "torchao", "torchcodec", "torch-tensorrt", "xformers")
)
# Whose setup.py ends the build on a system: uvloop's, read in 0.11.0, 0.17.0 and 0.22.1.
_REFUSE_TO_BUILD = {"uvloop": "windows"}
_PLATFORMS = {"windows": "win32", "macos": "darwin", "linux": "linux"}


def wheels_for_system(facts: Facts) -> tuple[Hit, ...]:
    """Every release that is to be installed and has no wheel for the stated system under any Python."""
    system, machine = facts.text("os"), facts.text("machine")
    if facts.closed or system not in SYSTEMS or system == "linux" or (machine not in (None, "x86_64", "amd64") and system != "macos"):
        return ()
    return tuple(_hits(facts, system))


def _hits(facts: Facts, system: str) -> Iterator[Hit]:
    present = facts.value("present")
    there = frozenset(present) if isinstance(present, tuple) else frozenset()
    for fact_name, fact in facts.by_name.items():
        name = fact_name.removeprefix(_PACKAGE)
        if name == fact_name or name in there or name in _ELSEWHERE or fact.origin.source.startswith(("installed", "a wheel, ")):
            continue
        release = _lacking(name, fact.value, system)
        if release is None:
            continue
        compiled = wheels_of(name, release) is None
        if compiled or not minors_of(facts):  # beside a stated Python it is told with that
            yield _hit(facts, name, release, system, compiled=compiled)


def _lacking(name: str, value: object, system: str) -> str | None:
    """The release without a wheel for the system: the pinned one, or the newest of a range of which none has one."""
    if isinstance(value, Exact):
        return value.text if _is_lacking(name, value.text, system) else None
    if not isinstance(value, Ranged):
        return None
    admits = version_condition(value.text).admits
    admitted = [one for one in listed_releases(name) if admits(exact(one))]
    return admitted[-1] if admitted and all(_is_lacking(name, one, system) for one in admitted) else None


def _is_lacking(name: str, release: str, system: str) -> bool:
    """Whether a release has wheels for Linux, and none for the system."""
    return _is_served(name, release, "linux") and not _is_served(name, release, system)


def _is_served(name: str, release: str, system: str) -> bool:
    found = wheels_of(name, release) or wheels_beside_source(name, release)
    return found is not None and _is_there(found, system)


def _is_there(wheels: Wheels, system: str) -> bool:
    return system in wheels.minors or system in wheels.since


def _hit(facts: Facts, name: str, release: str, system: str, *, compiled: bool) -> Hit:
    known = listed_releases(name)
    fitting = ranges_of([_is_served(name, one, system) for one in known], known)
    refuses = _REFUSE_TO_BUILD.get(name) == system
    where, place = WORDS[system], facts[f"{_PACKAGE}{name}"].origin
    source = (
        "and its setup.py refuses to be built there"
        if refuses
        else "so that its source is compiled"
        if compiled
        else "and no source archive"
    )
    return Hit(
        COMPILED if compiled and not refuses else NO_WHEEL,
        True,
        ((f"{_PACKAGE}{name}", f"no wheel for {where}"), ("os", where)),
        detail=f"{name} {release} has wheels for Linux and none for {where}, {source}",
        packages=(name,),
        pins=((name, fitting),) if fitting else (),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=f"{name} {release} has no wheel for {where}"
        + (": its source refuses it" if refuses else ": it is compiled" if compiled else ""),
        advice="" if fitting else f'{name}; sys_platform != "{_PLATFORMS[system]}" in the requirements: no release has a wheel for {where}',
    )


CHECKS = (wheels_for_system,)
