"""Packages that move together: what a stated package requires of another one, and what the file that asks takes beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.guards import UNKNOWN
from envdoctor.atlas.stack import places
from envdoctor.atlas.takes import Take, Takes
from envdoctor.atlas.volume import Volume
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import Caller
from envdoctor.logs.specifiers import admits
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import release_texts

# They move with torch to the release that is built for it.
_GO_WITH_TORCH = frozenset(("torchvision", "torchaudio", "torchtext"))


def held_by(package: str, good: list[str], facts: Facts) -> tuple[tuple[str, str], ...]:
    """The stated packages that require a release of another one which does not cure it, in words."""
    return tuple(
        (name, f"{stated} requires {package}{spec}")
        for name, stated, spec in _holders(package, facts)
        if good and not (package == "torch" and name in _GO_WITH_TORCH) and not any(_meet(spec, one, package) for one in good)
    )


def within_required(package: str, good: list[str], facts: Facts) -> list[str]:
    """The specifiers of a cure, of whose releases a stated package may admit a part alone: ``torchvision 0.20.0`` only torch 2.5.0."""
    for _, _, spec in _holders(package, facts):
        met = [one for one in good if _meet(spec, one, package)]
        good = [one if _covers(spec, one, package) else f"{one},{spec}" for one in met] if met else good
    return good


def _holders(package: str, facts: Facts) -> Iterator[tuple[str, str, str]]:
    """The stated packages that require another one, each with its release and the specifier."""
    for fact in facts:
        stated = facts.value(fact) if fact.startswith("packages.") else None
        name = fact.removeprefix("packages.")
        for one in dependencies(name, stated.text.partition("+")[0]) or () if isinstance(stated, Exact) else ():
            if one.name == package and one.specifier:
                yield name, str(stated), one.specifier


def _meet(one: str, other: str, package: str) -> bool:
    return any(admits(one, text) and admits(other, text) for text in release_texts(package))


def _covers(spec: str, other: str, package: str) -> bool:
    return all(admits(spec, text) for text in release_texts(package) if admits(other, text))


def with_all_that_is_taken(symbol: str, caller: Caller, volume: Volume, facts: Facts) -> int:
    """The releases of a package that have all that the asking file takes of it in some release that asks on that very line, as a mask; 0
    where nobody knows."""
    path, _, line = caller.where.rpartition(":")
    found = takes_of(caller.package) if caller.package and path.endswith(".py") else None
    if found is None:
        return 0
    bound, takes = found
    parts = path.removesuffix(".py").replace("/", ".")
    module = next((one for one in takes.by_module() if parts == one or parts.endswith(f".{one}")), "")
    taken = [takes.take(number) for number in takes.by_module().get(module, ())]
    asked = [one for one in taken if (name := one.name.replace(":", ".")) == symbol or name.startswith(f"{symbol}.")]
    stated = facts.value(f"packages.{caller.package}")
    where = places(bound.volume, stated.text) if isinstance(stated, Exact) else range(len(bound.volume.releases))
    asking = [at for at in where if any(takes.line_of(one, at) for one in asked)]
    exact = [at for at in asking if line.isdigit() and any(takes.line_of(one, at) == int(line) for one in asked)]
    mask = 0
    for at in exact or asking:
        mask |= _having_all(taken, takes, at, volume)
    return mask


def with_all_of_callers(callers: Sequence[tuple[str, int]], volume: Volume) -> int:
    """The releases of a package that have all that a likely caller's modules take of it as they are imported, in the first and in the last
    of its releases that ask, as a mask; 0 where nobody knows. https://github.com/vllm-project/vllm/issues/22482"""
    mask = 0
    for package, asking in callers:
        found = takes_of(package)
        if found is None or not asking:
            continue
        takes = found[1]
        several = (takes.take(number) for numbers in takes.by_module().values() for number in numbers)
        taken = [one for one in several if not one.where and not one.call and UNKNOWN not in one.guard.split(" & ")]
        taken = [one for one in taken if (bound := owner_of(one.name)) is not None and bound.volume.name == volume.name]
        for at in {(asking & -asking).bit_length() - 1, asking.bit_length() - 1}:
            mask |= _having_all(taken, takes, at, volume)
    return mask


def _having_all(taken: list[Take], takes: Takes, at: int, volume: Volume) -> int:
    """What stands under a condition or a net is asked for where some release has it beside all the rest."""
    mask = volume.all
    for one in sorted(taken, key=lambda take: UNKNOWN in take.guard.split(" & ")):
        bound = owner_of(one.name) if takes.line_of(one, at) else None
        told = look_up(one.name) if bound is not None and bound.volume.name == volume.name and not one.call else None
        if told is not None:
            mask = mask & ~told.gone or mask
    return mask
