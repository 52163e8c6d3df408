"""Lines that many entries share, kept once: an entry is the numbers of its lines.

The imports of a package lead to much the same: transformers has 960 entries of 360,000 lines, of which 36,000 are different. Numbers are
told by the gap to the one before and, behind ``+``, how many follow each other: ``3+1 0 10`` is 3, 4, 5, 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAGE = 1500
"""How many lines stand in one chunk."""


def number_lines(entries: Iterable[Sequence[str]]) -> list[str]:
    """All lines in the order in which every entry has them."""
    return sorted({line for lines in entries for line in lines}, key=_place)


def _place(line: str) -> tuple[int, int, tuple[str, ...]]:
    """What is taken comes first, by its number; then what is crossed to, then what nobody has: as the survey writes them."""
    kind, _, rest = line.partition(" ")
    if kind.isdigit():
        spans, _, guard = rest.partition(" ")
        return 0, int(kind), (guard, spans)
    if kind == "+":
        name, spans, *guards = rest.split(" ", 2)
        return 1, 0, (name, *(guards or [""]), spans)
    top, spans, place, *guards = rest.split(" ", 3)
    return 2, 0, (top, *(guards or [""]), place, spans)


def written(numbers: Iterable[int]) -> str:
    """Rising numbers as text."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][0] + runs[-1][1] + 1:
            runs[-1][1] += 1
        else:
            runs.append([number, 0])
    words, end = [], 0
    for first, more in runs:
        words.append(f"{first - end}+{more}" if more else f"{first - end}")
        end = first + more + 1
    return " ".join(words)


def numbers_in(text: str) -> list[int]:
    """The numbers of a text."""
    found: list[int] = []
    at = 0
    for word in text.split():
        gap, plus, more = word.partition("+")
        at += int(gap)
        if plus:
            end = at + int(more) + 1
            found.extend(range(at, end))
            at = end
        else:
            found.append(at)
            at += 1
    return found
