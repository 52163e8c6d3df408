"""Releases that were not read, between two that differ: where one side breaks, and the release itself declares that it does not go with
what is there, it is taken to be of that side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from envdoctor.atlas.breaks import Break, import_breaks, takes_of
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, places
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import replace
from envdoctor.world.dependencies import dependencies


def leaning_breaks(stack: Stack, entries: Iterable[tuple[str, str]] = ()) -> Iterator[Break]:
    """What breaks by one of the two neighbours of a release that was not read, where its own declaration says so as well."""
    entries = tuple(entries)
    for package, provider, wanted in _unmet(stack):
        sides = [_places(package, stack), _places(provider, stack)]
        if not all(sides) or all(_is_read(one, stack) for one in (package, provider)):
            continue
        for ours, theirs in product(*sides):
            found = import_breaks(stack, entries, {package: (ours,), provider: (theirs,)})
            told = [one for one in found if (one.package, one.provider) == (package, provider) and one.certain]
            yield from (replace(one, at=theirs, wanted=wanted) for one in told)
            if told:
                break


def _places(package: str, stack: Stack) -> tuple[int, ...]:
    """The places of a release; of one that is older than all that were read that of the first of its own minor."""
    bound = open_package(package)
    if bound is None:
        return ()
    found = places(bound.volume, stack.releases[package])
    return found or ((0,) if _minor(stack.releases[package]) == _minor(bound.volume.releases[0]) else ())


def _is_read(package: str, stack: Stack) -> bool:
    bound = open_package(package)
    return bound is not None and len(places(bound.volume, stack.releases[package])) == 1


def _minor(release: str) -> list[str]:
    return release.split(".")[:2]


def _unmet(stack: Stack) -> Iterator[tuple[str, str, str]]:
    """A package that was read, another one that it requires in another release, and what it requires, whatever the machine."""
    for package, release in stack.releases.items():
        if takes_of(package) is None:
            continue
        wanted: dict[str, list[str]] = {}
        for one in dependencies(package, release.partition("+")[0]) or ():
            if one.name in stack.releases:
                wanted.setdefault(one.name, []).append(one.specifier)
        for provider, specifiers in wanted.items():
            there = exact(stack.releases[provider].partition("+")[0])
            if not any(version_condition(one).admits(there) for one in specifiers):
                yield package, provider, specifiers[-1]
