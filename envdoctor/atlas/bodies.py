"""What runs where something of a package is made or called: the bodies that its source shows, and what they take of others.

The import of a package says nothing of it: trl 0.12 is imported beside transformers 4.45, and no SFTTrainer of it can be made.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.atlas.breaks import Break, provider_of, takes_of
from envdoctor.atlas.callables import sheet_of
from envdoctor.atlas.decisions import decide
from envdoctor.atlas.guards import BRANCH
from envdoctor.atlas.masks import read
from envdoctor.atlas.missing import split
from envdoctor.atlas.own_code import refused_keywords
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, holds, places, standing
from envdoctor.atlas.takes import Take
from envdoctor.atlas.volume import Volume

_MADE = ("__new__", "__init__", "__post_init__")
_DEEPEST = 8
# Each of their constructors calls its base once, under no condition: read in every class Trainer of 0.7.11 to 0.26.2.
_ONE_WAY = frozenset(("trl",))


def body_breaks(stack: Stack, name: str) -> Iterator[Break]:
    """What certainly fails where ``package:Class`` is made, or a function or method is called; ``name`` is as a script takes it."""
    package = provider_of(name, stack)
    found = None if package is None else takes_of(package)
    if package is None or found is None:
        return
    bound, takes = found
    where = places(bound.volume, stack.releases[package])
    for module, function in bodies(bound.volume, name, where[-1]) if where else ():
        for number in takes.by_module().get(module, ()):
            take = takes.take(number)
            if take.where != function or not all(takes.line_of(take, place) for place in where):
                continue
            provider = provider_of(take.name, stack)
            if provider is None or provider == package or not _is_reached(take, stack, one_way=package in _ONE_WAY):
                continue
            bad = _lacking(take, provider, stack)
            if bad:
                line = takes.line_of(take, where[-1])
                call = _refused(take, provider, stack)
                yield Break(package, provider, take.name, call, take.path, line, f"{module}:{function}", "", True, bad)


def bodies(volume: Volume, name: str, place: int) -> tuple[tuple[str, str], ...]:
    """The functions that run where a name is called, as the modules that have them and their names there."""
    module, first, rest = split(volume, name)
    found = volume.follow(module, first, place) if first and len(rest) < 2 else None
    if found is None:
        return ()
    chunk = volume.chunk(found[0])
    if chunk is None or found[1] not in chunk.classes:
        return (found,) if not rest else ()
    asked = rest if rest else _MADE
    told = (_definer(volume, f"{found[0]}:{found[1]}", method, place) for method in asked)
    return tuple((one[0], f"{one[1]}.{method}") for one, method in zip(told, asked, strict=True) if one is not None)


def _definer(volume: Volume, link: str, method: str, place: int) -> tuple[str, str] | None:
    """The class that has a method for another one, as Python looks for it among the first bases; None where it is of another package."""
    for _ in range(_DEEPEST):
        there = sheet_of(volume, link, place)
        if there is None:
            return None
        module, sheet = there
        if any(mask >> place & 1 for mask in sheet.methods.get(method, {}).values()):
            found = volume.follow(link.partition(":")[0], link.rpartition(":")[2].rpartition(".")[2], place)
            return (module, found[1]) if found is not None else None
        bases = next((bases for bases, mask in sheet.bases.items() if mask >> place & 1), ())
        if len(bases) != 1 or ":" not in bases[0]:
            return None
        link = bases[0]
    return None


def _is_reached(take: Take, stack: Stack, *, one_way: bool) -> bool:
    """Whether a body comes to a line whatever it is given: past conditions that may end it, a constructor calls that of its base."""
    base = bool(take.call) and take.name.endswith(".__init__") and take.where.endswith(".__init__")
    if base and one_way:
        return True
    return decide(" & ".join(atom for atom in take.guard.split(" & ") if not (base and atom == BRANCH)), stack) is True


def _refused(take: Take, provider: str, stack: Stack) -> str:
    """Of a call the keywords that are refused, where it is for them."""
    theirs = open_package(provider) if take.call else None
    where = standing(theirs.volume, stack.releases[provider]) if theirs is not None else ()
    keywords = refused_keywords(theirs.volume, take.name, take.call, where[-1]) if theirs is not None and where else ()
    return ",".join(("0", *(f"{one}=" for one in keywords))) if keywords else take.call


def _lacking(take: Take, provider: str, stack: Stack) -> int:
    """The releases of a provider that lack what is taken, where the stated one does; none where no release ever had it."""
    theirs = open_package(provider)
    if theirs is None:
        return 0
    volume = theirs.volume
    bad = read(take.bad, volume.places) | (volume.all & ~volume.has_module(take.name.partition(":")[0]))
    return bad if holds(bad, standing(volume, stack.releases[provider])) and volume.all & ~bad else 0


__all__ = ["bodies", "body_breaks"]
