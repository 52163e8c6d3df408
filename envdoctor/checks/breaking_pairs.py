"""The breaks of a stack as findings: one for each pair of packages that cannot be imported together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from envdoctor.atlas.breaks import Break, import_breaks
from envdoctor.atlas.brought import loaded_by_none, taken_by_none
from envdoctor.atlas.leaning import leaning_breaks
from envdoctor.atlas.main_names import main_entries
from envdoctor.atlas.missing import by_body
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, places
from envdoctor.atlas.takes import module_at
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers, since, what, witness
from envdoctor.checks.atlas import IMPORT_BREAKS, PACKAGE_MISSING, PART_BREAKS
from envdoctor.checks.hit import Hit

_PACKAGE = "packages."


@lru_cache(maxsize=4096)
def remembered_hits(
    releases: tuple[tuple[str, str], ...],
    closed: bool,
    python: str,
    system: str,
    entries: tuple[tuple[str, str], ...],
    *,
    main: bool = False,
    idle: frozenset[str] = frozenset(),
) -> tuple[Hit, ...]:
    """The breaks of a stack, judged once: pins are proposed by the hundred.

    ``main``: nobody says what is taken of the packages. What only their main names reach is then told as well, as a warning.
    ``idle`` packages nobody imports.
    """
    stack = Stack(dict(releases), closed, python, system, idle=idle)
    supposed = main_entries(stack.releases) if main else ()
    pairs: dict[tuple[str, str], list[Break]] = {}
    parts: dict[tuple[str, str], list[Break]] = {}
    for one in import_breaks(stack, (*entries, *supposed)):
        if one.certain:
            reached = pairs if one.root or not supposed else parts
            reached.setdefault((one.package, one.provider), []).append(one)
    known = set(pairs)
    for one in leaning_breaks(stack, (*entries, *supposed)):
        reached = pairs if one.root or not supposed else parts
        if (one.package, one.provider) not in known:
            reached.setdefault((one.package, one.provider), []).append(one)
    asked = {package for package, _ in entries} | {one.package for found in pairs.values() for one in found if one.root != one.package}
    alone = {package for package, _ in pairs if package not in asked}
    left = {package for package in alone if taken_by_none(package, stack)}
    later = {package for package in alone - left if loaded_by_none(package, stack)}
    told = [(package, found) for (package, _), found in pairs.items() if package not in left]
    whole = (hit for package, found in told for hit in _hit(stack, found, PART_BREAKS if package in later else IMPORT_BREAKS))
    some = (found for pair, found in parts.items() if pair not in pairs and pair[1] in stack.releases)
    return (*whole, *(hit for found in some for hit in _hit(stack, found, PART_BREAKS)))


def _hit(stack: Stack, found: Sequence[Break], rule: str) -> Iterator[Hit]:
    # What the package itself runs into comes before what others reach in it.
    found = sorted(found, key=lambda one: (one.root != one.package, bool(one.call)))
    one = found[0]
    release = stack.releases[one.package]
    more = len({other.edge for other in found}) - 1
    others = f", and {more} more like it" if more else ""
    place = f"{one.path}:{one.line}" if one.path else "it"
    if one.provider not in stack.releases:
        if one.root == one.package:
            told = f"{one.package} {release} cannot be imported"
        else:
            told = f"{one.root} {stack.releases[one.root]} cannot be imported" if one.root else f"{_entry(one)} fails"
            told = f"{told}, since {one.package} {release} is reached"
        detail = f"{told}: {place} imports {one.name}, and {one.provider} is not installed"
        imports = ((f"{_PACKAGE}{one.package}", f"imports {one.name}"),)
        pair = (one.package, one.provider)
        needs = ((one.provider, one.wanted or ">=0"),)
        yield Hit(
            rule if rule == PART_BREAKS else PACKAGE_MISSING,
            True,
            imports,
            detail=detail,
            packages=pair,
            pins=needs,
            yields=True,
            edge=one.edge,
            headline=f"{one.package} {release} cannot be imported where it is first used" if rule == PART_BREAKS else "",
            witness=witness(one.name, ""),
        )
        return
    theirs = stack.releases[one.provider]
    bound = open_package(one.provider)
    assert bound is not None
    place_there = one.at if one.at >= 0 else places(bound.volume, theirs)[-1]
    bad = 0
    for other in found:
        bad |= other.bad
    when = since(bound.volume, one.bad, place_there, _known_there(one, bound.volume))
    reached = "" if one.root == one.package else f"{_entry(one)} reaches "
    detail = f"{reached}{place}{', which' if reached else ''} {what(one)}, {when}{others}"
    if one.at >= 0:
        detail += f"; {one.package} {release} was judged by the releases beside it, and requires {one.provider}{one.wanted}"
    because = ((f"{_PACKAGE}{one.package}", what(one)), (f"{_PACKAGE}{one.provider}", when))
    pins = tuple((one.provider, specifier) for specifier in good_specifiers(bound.volume, bad, place_there))
    pair = (one.package, one.provider)
    yield Hit(rule, True, because, detail=detail, packages=pair, pins=pins, yields=True, edge=one.edge,
              headline=_headline(stack, one), witness=_witness(one, bound.volume, place_there),
              entry="" if one.root else one.entry, edges=_edges(found, bound.volume, place_there))  # fmt: skip


def _known_there(one: Break, volume: Volume) -> int | None:
    """The releases that are known to have what is taken, which a module that makes names as it runs is not; None where it is a call."""
    if one.call:
        return None
    from envdoctor.atlas.answers import symbol_of  # only where something breaks

    return symbol_of(volume, one.name.replace(":", ".")).there & ~one.bad


def _edges(found: Sequence[Break], volume: Volume, place: int) -> tuple[str, ...]:
    """All that is not there; of what is taken of a module that is gone, the module."""
    modules = (one.name.partition(":")[0] for one in found)
    gone = (f"{one.package}:{module}" for one, module in zip(found, modules, strict=True) if not volume.has_module(module) >> place & 1)
    return tuple(dict.fromkeys((*(one.edge for one in found), *gone)))


def _witness(one: Break, volume: Volume, place: int) -> str:
    """The one line that shows it; of what a function's body refuses that is the import where it is called."""
    if one.call and by_body(volume, one.name, one.call, place):
        return f"import {module_at(one.path)}"
    return witness(one.name, one.call, one.path)


def _headline(stack: Stack, one: Break) -> str:
    """Who cannot be used, and which two releases are at odds."""
    package, provider = (f"{name} {stack.releases[name]}" for name in (one.package, one.provider))
    if one.root == one.package:
        return f"{package} cannot be imported beside {provider}"
    whole = f"{one.root} {stack.releases[one.root]} cannot be imported" if one.root else f"{_entry(one)} fails"
    return f"{whole}: {package} does not fit {provider}"


def _entry(one: Break) -> str:
    """What is asked of the package, by another one or by a script."""
    module, _, name = one.entry.partition(":")
    return f"from {module} import {name}" if name else f"import {module}"
