"""Stated companions of a library that lie outside what its extras declare: who installs the two by themselves is never told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.checks.declared_together import demands_hold
from envdoctor.checks.hit import Hit
from envdoctor.checks.soft_minimums import EXTRA
from envdoctor.checks.stated_together import stated_releases
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.world.dependencies import Dependency, dependencies, of_extras, releases_around
from envdoctor.world.releases import releases

_PACKAGE = "packages."
# What the first of each pair holds back from above is what its own tests ran with that month. In the eleven used sets of stated stacks
# and the shared cases such a cap was passed 14 times, and was what failed in one of them (accelerate with deepspeed).
_OF_TESTS = frozenset((("trl", "bitsandbytes"), ("accelerate", "deepspeed"), ("transformers", "timm"), ("transformers", "tensorflow")))
# Where something certain is told, a sign is not.
_UNLESS = ("import-breaks", "part-breaks", "declared-requirement-unmet")


def extras_together(facts: Facts) -> tuple[Hit, ...]:
    """Every stated release that no extra of another stated one admits, of those that name it and that does not require it in any case."""
    return tuple(_hits(facts))


def _hits(facts: Facts) -> Iterator[Hit]:
    stated = dict(stated_releases(facts))
    for name, value in stated.items():
        release = value.text.partition("+")[0]
        # A development release most likely asks what the releases before and after it both do.
        for refused in _refused_by_all(facts, name, releases_around(name, release) or (release,), stated):
            yield _hit(facts, name, *refused)


def _refused_by_all(facts: Facts, name: str, texts: tuple[str, ...], stated: Mapping[str, Exact]) -> Iterator[tuple[str, Dependency, str]]:
    """The companions that all of these releases refuse: the extra that says so, what it asks, and which release it is of."""
    found = [dict(_refused(facts, name, text, stated)) for text in texts]
    for companion, (extra, one) in found[-1].items():
        if all(companion in some for some in found):
            yield extra, one, texts[-1] if len(texts) > 1 else ""


def _refused(facts: Facts, name: str, release: str, stated: Mapping[str, Exact]) -> Iterator[tuple[str, tuple[str, Dependency]]]:
    asked: dict[str, list[tuple[str, Dependency]]] = {}
    for extra, one in of_extras(name, release):
        if one.specifier and one.name in stated and demands_hold(facts, one.marker):
            asked.setdefault(one.name, []).append((extra, one))
    always = {one.name for one in dependencies(name, release, unbound=True) or ()} if asked else set()
    for companion, ranges in asked.items():
        public = exact(stated[companion].text.partition("+")[0])
        if companion in always or any(version_condition(one.specifier).admits(public) for _, one in ranges):
            continue
        if (name, companion) not in _OF_TESTS or any(_is_below(one.specifier, public) for _, one in ranges):
            yield companion, min(ranges, key=lambda entry: entry[0] != companion)


def _is_below(specifier: str, release: Exact) -> bool:
    """Whether a release is older than a range begins."""
    floors = [part for part in specifier.split(",") if part.strip().startswith((">", "~="))]
    return any(not version_condition(floor).admits(release) for floor in floors)


def _hit(facts: Facts, name: str, extra: str, wanted: Dependency, leads_to: str) -> Hit:
    release, found = facts[f"{_PACKAGE}{name}"].value, facts[f"{_PACKAGE}{wanted.name}"].value
    place = facts[f"{_PACKAGE}{name}"].origin
    says = f"{name} {release} leads to {leads_to}, which declares" if leads_to else f"{name} {release} declares"
    return Hit(
        EXTRA,
        True,
        (
            (f"{_PACKAGE}{name}", f"its extra {extra} requires {wanted.name}{wanted.specifier}"),
            (f"{_PACKAGE}{wanted.name}", f"not {wanted.specifier}"),
        ),
        detail=f"{says} {wanted.name}{wanted.specifier} for its extra {extra}, and {wanted.name} {found} is stated",
        packages=(name, wanted.name),
        pins=(*_back(facts, name, wanted.name), (wanted.name, wanted.specifier)),
        file=place.file,
        line=place.line,
        yields=True,
        unless=_UNLESS,
        edge=f"{name}:{wanted.name}",
    )


def _back(facts: Facts, name: str, companion: str) -> Iterator[tuple[str, str]]:
    """The nearest earlier release that goes with the companion, where that requires it: it was brought along, and moved by itself."""
    value, there = facts[f"{_PACKAGE}{name}"].value, facts[f"{_PACKAGE}{companion}"].value
    if not isinstance(value, Exact) or not isinstance(there, Exact):
        return
    public = exact(there.text.partition("+")[0])
    asked = [one for one in dependencies(companion, public.text, unbound=True) or () if one.name == name]
    known = (exact(one.version) for one in reversed(releases(name)) if not one.yanked) if asked else ()
    below = version_condition(f"<{value.text.partition('+')[0]}")
    for release in filter(below.admits, known):
        ranges = [one for _, one in of_extras(name, release.text) if one.name == companion and one.specifier]
        admitted = not ranges or any(version_condition(one.specifier).admits(public) for one in ranges)
        if admitted and all(version_condition(one.specifier).admits(release) for one in asked):
            yield name, f"=={release}"
            return


CHECKS = (extras_together,)
