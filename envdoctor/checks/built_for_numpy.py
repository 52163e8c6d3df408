"""Packages whose compiled part was built for numpy 1, beside numpy 2: no metadata says so, and the import fails."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.releases import releases

RULE = "built-for-numpy-1"

_PACKAGE = "packages."
_TWO = version_condition(">=2")


def built_for_numpy(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that was compiled for numpy 1, where numpy 2 is stated and no script shows that the package is not loaded."""
    numpy = facts.value(f"{_PACKAGE}numpy")
    if not isinstance(numpy, Exact) or not _TWO.admits(exact(numpy.text.partition("+")[0])):
        return ()
    return tuple(_hits(facts, numpy))


def _hits(facts: Facts, numpy: Exact) -> Iterator[Hit]:
    from envdoctor.world.built_for_numpy import built_for_numpy as table

    unused = facts.value(NOT_LOADED)
    idle = frozenset(map(str, unused)) if isinstance(unused, tuple) else frozenset()
    for name, row in table().items():
        fact = facts.by_name.get(f"{_PACKAGE}{name}")
        if fact is None or name in idle or not isinstance(fact.value, Exact):
            continue
        if not version_condition(f"<={row.last}").admits(fact.value) or not _has_a_wheel(name, fact.value):
            continue
        yield Hit(
            RULE,
            True,
            ((f"{_PACKAGE}{name}", "compiled for numpy 1"), (f"{_PACKAGE}numpy", ">=2")),
            detail=f"the wheels of {name} fit numpy 1 alone up to {row.last}: with numpy {numpy} `import {row.module}` fails",
            packages=(name, "numpy"),
            pins=((name, f">={row.first}"), ("numpy", "<2")),
            file=fact.origin.file,
            line=fact.origin.line,
            yields=True,
            edge=name,
            headline=f"{name} {fact.value} was compiled for numpy 1, not for {numpy}",
            witness=f"import {row.module}",
        )


def _has_a_wheel(name: str, release: Exact) -> bool:
    """Whether a release came as a wheel: what is only a source archive is compiled against whatever numpy its builder took."""
    return any(one.wheel and exact(one.version).key == release.key for one in releases(name))


CHECKS = (built_for_numpy,)
