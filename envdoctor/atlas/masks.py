"""Sets of a package's releases as whole numbers, one bit a release in order; and as text: ``4.30.2-4.48.3,5.0.0-``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def stretches(mask: int) -> list[tuple[int, int]]:
    """First and last position of every stretch, both counted in."""
    found = []
    place = 0
    while mask:
        skip = (mask & -mask).bit_length() - 1
        mask >>= skip
        place += skip
        length = (~mask & (mask + 1)).bit_length() - 1
        found.append((place, place + length - 1))
        mask >>= length
        place += length
    return found


def write(mask: int, releases: Sequence[str]) -> str:
    """A set as text; a stretch that reaches the newest release is left open, so that a release that changes nothing changes no line."""
    newest = len(releases) - 1
    parts = []
    for first, last in stretches(mask):
        end = "-" if last == newest else "" if first == last else f"-{releases[last]}"
        parts.append(releases[first] + end)
    return ",".join(parts)


def read(text: str, places: Mapping[str, int]) -> int:
    """What ``write`` made; ``places`` are the positions of the releases.

    Raises:
        KeyError: a release that is not among them.
    """
    mask = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = places[first]
        end = places[last] if last else len(places) - 1 if dash else start
        mask |= (1 << end + 1) - (1 << start)
    return mask


def fill(mask: int, known: int) -> int:
    """A set with the positions between two of its stretches of which none is ``known``: nobody looked, and both sides say the same."""
    found = stretches(mask)
    for (_, last), (first, _) in pairwise(found):
        hole = (1 << first) - (1 << last + 1)
        mask |= 0 if hole & known else hole
    return mask


def write_unread(mask: int, releases: Sequence[str], published: Sequence[str]) -> str:
    """The same as ``write``, each stretch as far as the last ``published`` release before the next that was read, which it tells, and from
    the first that was not read of the series (1.2) in which it begins: what is new comes with a series."""
    parts, notes = [], []
    for first, last in stretches(mask):
        start, end = releases[first], "" if last == len(releases) - 1 else releases[last]
        if before := [one for one in _between(first - 1, releases, published) if _series(one) == _series(releases[first])]:
            start = before[0]
            notes.append(f"{releases[first - 1]} does not say it, and between it and {releases[first]} none was read")
        if behind := _between(last, releases, published):
            end = behind[-1]
            notes.append(f"{releases[last + 1]} says it no longer, and between it and {releases[last]} none was read")
        parts.append(start if start == end else f"{start}-{end}")
    return f"{','.join(parts)}{f' ({notes[-1]})' if notes else ''}"


def _between(place: int, releases: Sequence[str], published: Sequence[str]) -> Sequence[str]:
    """The published releases between the one at a place and the next that was read."""
    if not 0 <= place < len(releases) - 1 or not {releases[place], releases[place + 1]} <= set(published):
        return ()
    return published[published.index(releases[place]) + 1 : published.index(releases[place + 1])]


def _series(release: str) -> list[str]:
    return release.split(".")[:2]
