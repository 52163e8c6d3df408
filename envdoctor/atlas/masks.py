"""Sets of a package's releases as whole numbers, one bit a release in order; and as text: ``4.30.2-4.48.3,5.0.0-``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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
