"""What a package that nobody states requires of a stated one, where all of its releases that fit the one that requires it agree.

pyannote-audio 4 requires pyannote-core>=6.0.1, and every such release requires numpy>=2: whichever is taken, numpy 1 does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from envdoctor.checks.declared_together import REFUSES_PYTHON, compatible, demands_hold, pythons_of
from envdoctor.checks.files_for_pip import declared_packages
from envdoctor.checks.hit import Hit
from envdoctor.checks.requirements import UNMET
from envdoctor.checks.stated_together import stated_releases
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.world.dependencies import Dependency, dependencies
from envdoctor.world.releases import as_of, release_texts, releases, requires_python

_PACKAGE = "packages."
# So many releases that fit leave room for one that does not agree; and what is asked of torch's parts depends on its build.
_MOST = 80
_OF_A_BUILD = ("triton", "nvidia-", "cuda-")


def required_through(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that no release of an unstated package suits, while another stated one requires that package."""
    return () if facts.closed else tuple(_hits(facts))


def _hits(facts: Facts) -> Iterator[Hit]:
    stated = dict(stated_releases(facts)) | {name: value for name, value in declared_packages(facts).items() if isinstance(value, Exact)}
    present = facts.value("present")
    there = frozenset(present) if isinstance(present, tuple) else frozenset()
    pythons: Sequence[str] = ()
    python = facts.value("python")
    told: set[tuple[str, str]] = set()
    for name, value in stated.items():
        own = () if "+" in value.text else dependencies(name, value.text) or ()
        # What it says of a package itself is told as that.
        direct = {one.name for one in own if one.name in stated and _refuse(one.name, (one,), stated[one.name])}
        for one in own:
            if not one.specifier or f"{_PACKAGE}{one.name}" in facts or one.name in there:
                continue
            if isinstance(python, Exact) and _refuses(one, python) and demands_hold(facts, one.marker, (_minor(python),)):
                yield _refused_by_python(facts, name, value, one, python)
                continue
            agreed = _agreed(one.name, one.specifier, as_of())
            for third, wanted in agreed.items():
                other = stated.get(third)
                if other is None or third in (name, *direct) or (name, third) in told or not _refuse(third, wanted, other):
                    continue
                pythons = pythons or pythons_of(facts, stated) or pythons_of(facts, {})
                held = all(demands_hold(facts, some.marker, pythons) for some in (one, *wanted))
                if held and _fits_a_python(one, pythons):
                    told.add((name, third))
                    yield _hit(facts, name, value, one, third, other, wanted)


@lru_cache(maxsize=2048)
def _agreed(name: str, specifier: str, day: str) -> Mapping[str, tuple[Dependency, ...]]:
    """What each release of a package that a specifier admits requires, of those packages of which all of them require something."""
    admits = version_condition(specifier).admits
    fitting = [one.version for one in releases(name) if not one.yanked and admits(exact(one.version))]
    if not 0 < len(fitting) <= _MOST:
        return {}
    needs = [dependencies(name, version) for version in fitting]
    if any(some is None for some in needs):
        return {}
    by_name = [{one.name: one for one in some or () if one.specifier} for some in needs]
    shared = set(by_name[0]).intersection(*by_name[1:])
    return {third: tuple(some[third] for some in by_name) for third in sorted(shared) if not third.startswith(_OF_A_BUILD)}


def _refuse(third: str, wanted: Sequence[Dependency], other: Exact) -> bool:
    pin = f"=={other.text.partition('+')[0]}"
    return not any(compatible(third, specifier, pin, release_texts(third)) for specifier in {one.specifier for one in wanted})


def _fits_a_python(one: Dependency, pythons: Sequence[str]) -> bool:
    """Whether some release that fits runs on a Python of the situation: where none does, that is what is told."""
    admits = version_condition(one.specifier).admits
    asked = {requires_python(one.name, text) for text in release_texts(one.name) if admits(exact(text))}
    return not pythons or any(
        not text or version_condition(text.replace(" ", "")).admits(exact(f"{python}.99")) for text in asked for python in pythons
    )


def _refuses(one: Dependency, python: Exact) -> bool:
    """Whether releases are known that fit, and none of them runs on this Python."""
    admits = version_condition(one.specifier).admits
    return any(admits(exact(text)) for text in release_texts(one.name)) and not _fits_a_python(one, (_minor(python),))


def _minor(python: Exact) -> str:
    return ".".join(python.text.split(".")[:2])


def _refused_by_python(facts: Facts, name: str, value: Exact, one: Dependency, python: Exact) -> Hit:
    """A stated release that requires a package of which no release that fits runs on the stated Python."""
    place = facts[f"{_PACKAGE}{name}"].origin
    return Hit(
        REFUSES_PYTHON,
        True,
        ((f"{_PACKAGE}{name}", f"requires {one.name}{one.specifier}"), ("python", python.text)),
        detail=f"{name} {value} requires {one.name}{one.specifier}, of which no release runs on Python {python.text}",
        packages=(name,),
        file=place.file,
        line=place.line,
        yields=True,
        edge=f"{name}:{one.name}",
    )


def _hit(facts: Facts, name: str, value: Exact, one: Dependency, third: str, other: Exact, wanted: Sequence[Dependency]) -> Hit:
    place, newest = facts[f"{_PACKAGE}{third}"].origin, wanted[-1].specifier
    same = all(some.specifier == newest for some in wanted)
    every = f"every release requires {third}{newest}" if same else f"no release goes with it: the newest requires {third}{newest}"
    through = f"requires {one.name}{one.specifier}, of which {every}"
    return Hit(
        UNMET,
        True,
        ((f"{_PACKAGE}{name}", through), (f"{_PACKAGE}{third}", f"not {newest}")),
        detail=f"{name} {value} {through}; {third} {other} is stated",
        packages=(name, third),
        pins=((third, newest),),
        file=place.file,
        line=place.line,
        yields=True,
        headline=f"{name} {value} does not go with {third} {other}: {one.name}, which it requires, asks for {third}{newest}",
    )


CHECKS = (required_through,)
