"""The releases that have what a run lacked, as specifiers for its cure."""

from __future__ import annotations

from collections.abc import Sequence

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers
from envdoctor.logs.asked import ATTRIBUTE, MODULE, NAME, Asked
from envdoctor.world.releases import release_texts


def certain(there: int, volume: Volume, place: int) -> list[str]:
    """Those ``there``; up to the last that was read, where others were released before the first that lacks it."""
    released = release_texts(volume.name)
    for _, last in stretches(there):
        ends = volume.releases[last : last + 2]
        if len(ends) == 2 and set(ends) <= set(released) and released.index(ends[1]) - released.index(ends[0]) > 1:
            return on_both_sides(there, volume, place)
    return good_specifiers(volume, volume.all & ~there, place)


def on_both_sides(there: int, volume: Volume, place: int) -> list[str]:
    """Those ``there``, the nearest to ``place`` first; beside a release that was not read nobody knows where a change came."""
    found = []
    for first, last in stretches(there):
        upper = f",<={volume.releases[last]}" if last + 1 < len(volume.releases) else ""
        found.append((min(abs(first - place), abs(last - place)), f">={volume.releases[first]}{upper}"))
    return [one for _, one in sorted(found)]


def before_it_came(asked: Asked, where: Sequence[int]) -> list[int]:
    """Releases before the first that has a field of a configuration for certain: it takes any keyword, so that files do not tell."""
    of_configuration = asked.family == ATTRIBUTE and asked.symbol.rpartition(".")[0].endswith("Config")
    return [one for one in where if of_configuration and asked.there and one < stretches(asked.there)[0][0]]


def absent_everywhere(asked: Asked) -> str:
    """In words, that none of the releases that were read has what was asked for; where its module came later, when."""
    volume = asked.bound.volume
    if asked.family == NAME and (between := _of_the_module(asked)):
        return f"of the releases that were read none has it, and its module came after {between[0]}: it is of a release before {between[1]}"
    words = f"of the releases that were read none has it, from {volume.releases[0]} on"
    return f"{words}: it is of an older or a newer one, or mistyped" if asked.family == MODULE else words


def older_or_between(asked: Asked) -> list[str]:
    """Where a name may be that no release that was read has: before the first, or between the two between which its module came."""
    between = _of_the_module(asked)
    if not between:
        return [f"<{asked.bound.volume.releases[0]}"]
    released = release_texts(asked.bound.volume.name)
    apart = set(between) <= set(released) and released.index(between[1]) - released.index(between[0]) > 1
    return [f">{between[0]},<{between[1]}"] if apart else []


def _of_the_module(asked: Asked) -> tuple[str, str] | tuple[()]:
    """The last release without the module of a name, and the first with it, where the first that was read lacks it."""
    module = asked.symbol.rpartition(".")[0]
    told = look_up(module) if "." in module else None
    if told is None or not told.there or not told.gone & 1:
        return ()
    first, releases = stretches(told.there)[0][0], asked.bound.volume.releases
    return (releases[first - 1], releases[first]) if first and told.gone >> (first - 1) & 1 else ()


def likely_place(asked: Asked) -> int:
    """Where the releases without it begin that are the most recent: code that asks for it was written before them.

    Of a name that was not found in its module, releases without the module are out: they would say that.
    """
    module = look_up(asked.symbol.rpartition(".")[0]) if asked.family == NAME else None
    gone = asked.gone & module.there if module is not None else 0
    return stretches(gone or asked.gone)[-1][0]
