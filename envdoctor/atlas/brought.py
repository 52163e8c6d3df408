"""Packages that another one requires and never imports: they lie there for somebody's model, and what breaks in them nobody notices."""

from __future__ import annotations

import re
from functools import lru_cache

from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.distributions import tops_of
from envdoctor.atlas.numbered import PAGE
from envdoctor.atlas.stack import Stack, places
from envdoctor.world.dependencies import dependencies


def taken_by_none(package: str, stack: Stack) -> bool:
    """Whether a package is there because others require it, and no import of those, nor of any other, leads to it."""
    bringing = [name for name, release in stack.releases.items() if name != package and _requires(name, release, package)]
    found = takes_of(package)
    if not bringing or found is None or any(takes_of(name) is None for name in bringing):
        return False
    tops = tuple(tops_of(package, found[0].volume.tops))
    return not any(_crosses(name, tops) for name in stack.releases if name != package)


def loaded_by_none(package: str, stack: Stack) -> bool:
    """Whether others require a package, and no import of theirs leads to it in these releases: they load it when something is called."""
    bringing = [name for name, release in stack.releases.items() if name != package and _requires(name, release, package)]
    found = takes_of(package)
    if not bringing or found is None or not all(_place(name, stack) for name in bringing):
        return False
    tops = tuple(tops_of(package, found[0].volume.tops))
    return not any(_crosses_in(name, tops, _place(name, stack)) for name in stack.releases if name != package)


def _place(name: str, stack: Stack) -> tuple[int, ...]:
    """Where the stated release of a package stands in the atlas; nowhere for one that was not read."""
    found = takes_of(name)
    return () if found is None else places(found[0].volume, stack.releases[name])


@lru_cache(maxsize=4096)
def _crosses_in(name: str, tops: tuple[str, ...], where: tuple[int, ...]) -> bool:
    """Whether an import of a package that was followed leads to one of these modules, in one of these releases."""
    found = takes_of(name) if where else None
    if found is None:
        return False
    kinds = re.compile(rf"[+?] (?:{'|'.join(map(re.escape, tops))})[ .:]")
    numbers = (
        at + PAGE * page for page, text in enumerate(found[1].pages()) for at, line in enumerate(text.split("\n")[1:]) if kinds.match(line)
    )
    return any(found[1].parsed(number)[2] >> place & 1 for number in numbers for place in where)


@lru_cache(maxsize=4096)
def _requires(name: str, release: str, package: str) -> bool:
    return any(one.name == package for one in dependencies(name, release.partition("+")[0], unbound=True) or ())


@lru_cache(maxsize=4096)
def _crosses(name: str, tops: tuple[str, ...]) -> bool:
    """Whether an import of a package that was followed leads to one of these modules, in any release."""
    found = takes_of(name)
    if found is None:
        return False
    pattern = re.compile(rf"(?m)^[+?] (?:{'|'.join(map(re.escape, tops))})[ .:]")
    return any(pattern.search(page) for page in found[1].pages())


__all__ = ["loaded_by_none", "taken_by_none"]
