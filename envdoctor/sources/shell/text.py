"""Text whose every part remembers the line that it stood on."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text, and the line (from 1) that each of its parts stood on."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        return self.lines[max(bisect_right(self.starts, offset) - 1, 0)]

    def after(self, offset: int) -> Text:
        """The text from an offset on."""
        first = max(bisect_right(self.starts, offset) - 1, 0)
        starts = (0, *(start - offset for start in self.starts[first + 1 :]))
        return Text(self.text[offset:], starts, self.lines[first:])


def whole_text(text: str, line: int = 1) -> Text:
    """Text that stands in a file as it is, from ``line`` on."""
    starts = (0, *accumulate(len(row) + 1 for row in text.split("\n")[:-1]))
    return Text(text, starts, tuple(range(line, line + len(starts))))


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A text that a command is given; ``expand`` says that its delimiter was not quoted."""

    name: str
    expand: bool
    body: Text


@dataclass(frozen=True, slots=True)
class Argument:
    """A word as a command is given it."""

    text: str
    line: int
