"""What cannot be imported together, computed from the releases themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache

from envdoctor.atlas.shelf import files_of, package_names
from envdoctor.atlas.stack import Stack, places
from envdoctor.checks.hit import Hit
from envdoctor.checks.kept import keep, key, recall
from envdoctor.checks.whole_lists import lacks_few, scanned_names
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import Exact
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.files.user_cache import cache_directory
from envdoctor.world import tables

IMPORT_BREAKS = "import-breaks"
PACKAGE_MISSING = "import-needs-package"
PART_BREAKS = "part-breaks"

_PACKAGE = "packages."
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "Darwin"}
_HERE = os.path.dirname(os.path.dirname(__file__))
_WORLD = tuple(os.path.join("world", name) for name in ("dependencies.py", "standard_library.py"))
DECIDING = tuple(os.path.join(_HERE, part) for part in ("atlas", "checks", *_WORLD))


def atlas_breaks(facts: Facts) -> tuple[Hit, ...]:
    """Every pair of stated releases of which one cannot be imported beside the other, and what a complete list lacks for an import."""
    stack = stack_of(facts)
    # A script, or a plan's own code, says which parts of the packages are used.
    main = CODE_USES not in facts and NOT_LOADED not in facts
    # What pins would make of an environment is judged by the hundred; what is installed, and what a script uses of it, stays for weeks.
    if stack.scanned and len(stack.scanned) == len(stack.releases):
        return _installed_hits(stack, main=main)
    return hits_of(stack, (), main=main)


def stack_of(facts: Facts) -> Stack:
    """The stack that facts state, as far as its releases are known."""
    releases = {}
    for name, fact in facts.by_name.items():
        if name.startswith(_PACKAGE) and isinstance(fact.value, Exact):
            releases[name.removeprefix(_PACKAGE)] = fact.value.text
    unused = facts.value(NOT_LOADED)
    idle = frozenset(map(str, unused)) if isinstance(unused, tuple) else frozenset()
    python = facts.value("python")
    system = _SYSTEMS.get(facts.text("os") or "", "")
    return Stack(releases, facts.closed, python.text if isinstance(python, Exact) else "", system, scanned_names(facts), idle)


def hits_of(stack: Stack, entries: Sequence[tuple[str, str]], *, main: bool = False) -> tuple[Hit, ...]:
    """The breaks of a stack, one finding for each pair of packages; ``entries`` are imports of a script, ``main`` asks for main names."""
    known = [name for name in stack.releases if name in known_packages()]
    if len(known) < 2 and not (stack.closed and known):
        return ()
    # What was kept of an installed stack is said without the whole reader of the atlas.
    from envdoctor.checks.breaking_pairs import remembered_hits

    releases = tuple(sorted(stack.releases.items()))
    hits = remembered_hits(releases, stack.closed, stack.python, stack.system, tuple(entries), main=main, idle=stack.idle)
    if stack.scanned:
        hits = tuple(hit for hit in hits if hit.packages[1] in stack.releases or hit.packages[0] in stack.scanned)
    lacking = [hit.packages for hit in hits if hit.packages[1] not in stack.releases]
    absent, asking = ({pair[place] for pair in lacking} for place in (1, 0))
    whole = lacks_few(len(absent), len(stack.releases), asking=len(asking), read=bool(stack.scanned))
    return hits if whole else tuple(hit for hit in hits if hit.packages[1] in stack.releases)


def breaks_of(entries: Sequence[tuple[str, str]]) -> Callable[[Facts], tuple[Hit, ...]]:
    """A check of what these imports of a script lead to, each with its package: a pin has to cure it for the script as well."""
    return lambda facts: hits_of(stack_of(facts), entries)


def _installed_hits(stack: Stack, *, main: bool) -> tuple[Hit, ...]:
    """The breaks of an environment, kept until it, the atlas, what releases require or what judges it is another."""
    known = [name for name in sorted(stack.releases) if name in known_packages()]
    releases = [f"{name} {release}" for name, release in sorted(stack.releases.items())]
    judged = [repr((stack.closed, main, sorted(stack.idle))), stack.python, stack.system]
    of = key([*releases, *judged], (*DECIDING, *tables.files_of("dependencies"), *files_of(known)))
    before = recall(cache_directory(), of)
    if before is not None:
        return before[0]
    hits = hits_of(stack, (), main=main)
    keep(cache_directory(), of, hits, (), {})
    return hits


@lru_cache(maxsize=4096)
def is_unread(package: str, release: str) -> bool:
    """Whether a release of a package of the atlas is so far from those that were read that nothing is known of it."""
    from envdoctor.atlas.shelf import open_package

    bound = open_package(package)
    return bound is not None and not places(bound.volume, release)


@lru_cache(maxsize=1)
def known_packages() -> frozenset[str]:
    """The packages that the atlas has."""
    return frozenset(package_names())


CHECKS = (atlas_breaks,)
