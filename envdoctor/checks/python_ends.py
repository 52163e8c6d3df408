"""Releases whose import ends with the Python at hand, although their metadata admits it."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.declared_together import ranges_of, refusals
from envdoctor.checks.hit import Hit
from envdoctor.checks.pythons import minors_of
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.python_ends import PythonEnd, packages_with_an_end, python_end
from envdoctor.world.releases import releases

RULE = "import-ends-with-python"

_PACKAGE = "packages."
# It builds packages: that it is there says nothing of who loads it.
_BUILDS = frozenset(("setuptools",))


def imports_that_end(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that no Python of the situation can import, and that its metadata lets be installed."""
    minors = minors_of(facts)
    return tuple(_hits(facts, minors[0])) if minors else ()


def _hits(facts: Facts, oldest: int) -> Iterator[Hit]:
    unused = facts.value(NOT_LOADED)
    for fact_name, fact in facts.by_name.items():
        name = fact_name.removeprefix(_PACKAGE)
        if name == fact_name or name not in packages_with_an_end() or not isinstance(fact.value, Exact):
            continue
        if (isinstance(unused, tuple) and name in unused) or (facts.closed and name in _BUILDS):
            continue
        public = fact.value.text.partition("+")[0]
        end = python_end(name, public)
        if end is not None and oldest >= end.minor and not any(refusals(facts, {name: exact(public)})):
            yield _hit(facts, name, fact.value, end, oldest)


def _hit(facts: Facts, name: str, release: Exact, end: PythonEnd, oldest: int) -> Hit:
    place = facts[f"{_PACKAGE}{name}"].origin
    # What came before had met that Python no more than this one.
    known = [one for one in releases(name) if not one.yanked and _is_later(one.version, release)]
    fitting = ranges_of(
        [_goes_on(name, one.version, oldest) and not any(refusals(facts, {name: exact(one.version)})) for one in known],
        [one.version for one in known],
    )
    python = str(facts["python"].value).removeprefix("==").removesuffix(".*")
    said = f"{name} {release} cannot be imported with Python {python}"
    return Hit(
        RULE,
        True,
        ((f"{_PACKAGE}{name}", f"{end.path}: {end.why}"), ("python", f"3.{end.minor} or later")),
        detail=f"{end.path}: {end.why}; its metadata admits this Python all the same",
        packages=(name,),
        pins=((name, fitting),) if fitting else (),
        file=place.file,
        line=place.line,
        yields=True,
        edge=name,
        headline=said,
        witness=f"import {end.path.partition('/')[0].removesuffix('.py')}",
        advice="" if fitting else f"run it with Python 3.{end.minor - 1}",
    )


def _is_later(version: str, release: Exact) -> bool:
    key, other = exact(version).key, exact(release.text.partition("+")[0]).key
    return key is not None and other is not None and key > other


def _goes_on(name: str, release: str, oldest: int) -> bool:
    end = python_end(name, release)
    return end is None or oldest < end.minor


CHECKS = (imports_that_end,)
