"""The releases that have what a run lacked, as specifiers for its cure."""

from __future__ import annotations

from envdoctor.atlas.masks import stretches
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers
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
