"""Packages that another one requires and never imports: they lie there for somebody's model, and what breaks in them nobody notices."""

from __future__ import annotations

import re
from functools import lru_cache

from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.distributions import tops_of
from envdoctor.atlas.stack import Stack
from envdoctor.world.dependencies import dependencies


def taken_by_none(package: str, stack: Stack) -> bool:
    """Whether a package is there because others require it, and no import of those, nor of any other, leads to it."""
    bringing = [name for name, release in stack.releases.items() if name != package and _requires(name, release, package)]
    found = takes_of(package)
    if not bringing or found is None or any(takes_of(name) is None for name in bringing):
        return False
    tops = tuple(tops_of(package, found[0].volume.tops))
    return not any(_crosses(name, tops) for name in stack.releases if name != package)


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


__all__ = ["taken_by_none"]
