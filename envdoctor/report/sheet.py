"""Lines for people, wrapped and coloured as rich does it, and mostly without importing it: that costs as much as reading all rules.

It is still asked where it knows more: of characters that are not one column wide, and of a headline that does not fit on a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from envdoctor.report.plain import printable

if TYPE_CHECKING:
    from rich.console import Console

Part: TypeAlias = "str | tuple[str, str]"
"""Words of a line, alone or with a style."""

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan", "possible": "magenta", "refuted": "dim"}
_CODES = {"bold": "1", "dim": "2", "bold red": "1;31", "yellow": "33", "magenta": "35", "cyan": "36"}
_LABEL = 11
_WORD = re.compile(r" *[^ ]+ *")


class Sheet:
    """What a report says so far; no line is wider than ``width`` unless it is one to paste."""

    def __init__(self, width: int, colour: bool, *, links: bool = False) -> None:
        self.width = width
        self._colour = colour
        self._links = links
        self._lines: list[str] = []

    def text(self) -> str:
        """All lines, without the spaces that end them."""
        return "".join(f"{line.rstrip()}\n" for line in self._lines)

    def blank(self) -> None:
        self._lines.append("")

    def line(self, text: str, indent: int = 0, style: str = "") -> None:
        """Words that go on below each other, set in."""
        self._lines += (f"{' ' * indent}{self._styled(part, style)}" for part in wrap(printable(text), self.width - indent))

    def headline(self, *parts: Part) -> None:
        """Words of several styles."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        plain = "".join(text for text, _ in pairs)
        if "\n" not in plain and _is_narrow(plain) and len(plain) <= self.width:
            self._lines.append("".join(self._styled(*pair) for pair in pairs))
        else:
            self._lines += _wrapped_by_rich(pairs, self.width, self._colour)

    def titled(self, label: tuple[str, str], title: str, ids: Sequence[str]) -> bool:
        """A title behind a label, wrapped; whether its second line had room for the rules' ids."""
        text, style = label
        first, *more = wrap(printable(f"{text} {title}"), self.width)
        if not first.startswith(text):  # wrapped within the label: there is no room at all
            self._lines += [first, *more]
            return False
        self._lines.append(self._styled(text, style) + self._styled(first[len(text) :].rstrip(), "bold"))
        self._lines += [self._styled(part.rstrip(), "bold") for part in more]
        fits = bool(more and ids) and len(more[-1].rstrip()) + 3 + len(", ".join(ids)) < self.width
        if fits:
            self._lines[-1] = f"{self._styled(more[-1].rstrip(), 'bold')} {self._tag(ids)}"
        return fits

    def item(self, label: str, text: str) -> None:
        """Words beside a label, which stands on the first line."""
        for number, part in enumerate(wrap(printable(text, keep_newlines=True), self.width - _LABEL)):
            self._lines.append(self._styled(f"  {label:<9}" if number == 0 else " " * _LABEL, "bold") + part)

    def paste(self, label: str, command: str) -> None:
        """A line to paste is never wrapped: a broken one would run as something else."""
        self._lines.append(self._styled(f"  {label:<9}", "bold") + printable(command))

    def unbroken(self, text: str) -> None:
        """A line as it is."""
        self._lines.append(printable(text))

    def raw(self, *parts: Part, ids: Sequence[str] = ()) -> None:
        """One line of parts that are fit to print and known to have room, and rules' ids at its end."""
        line = "".join(part if isinstance(part, str) else self._styled(*part) for part in parts)
        self._lines.append(line + (self._tag(ids) if ids else ""))

    def tagged(self, text: str, ids: Sequence[str]) -> None:
        """A line that ends in rules' ids, in brackets."""
        self.raw(text, ids=ids)

    def command(self, label: str, command: str) -> None:
        """A line to paste behind a label, never wrapped."""
        self._lines.append(self._styled(f"  {label}: ", "bold") + printable(command))

    def labelled(self, label: str, text: str) -> None:
        """Words behind a label, wrapped below it."""
        head = f"  {label}: "
        for number, part in enumerate(wrap(printable(text), self.width - len(head))):
            self._lines.append((self._styled(head, "bold") if number == 0 else " " * len(head)) + part)

    def _tag(self, ids: Sequence[str]) -> str:
        """Ids in brackets, each a link to its rule where the terminal makes links."""
        if not self._links:
            return self._styled(f"[{', '.join(ids)}]", "dim")
        from envdoctor.report.links import link

        return self._styled("[", "dim") + self._styled(", ", "dim").join(link(one) for one in ids) + self._styled("]", "dim")

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._colour and style and text else text


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text at a width; a word that is wider is cut."""
    if _is_narrow(text):
        return [part for line in text.split("\n") for part in _wrapped(line, width)]
    from rich.text import Text

    return [line.plain for line in Text(text).wrap(_console(width, colour=False), width)]


def _is_narrow(text: str) -> bool:
    """Whether every character takes one column, but for the ends of lines."""
    return text.isascii() and text.replace("\n", "").isprintable()


def _wrapped(line: str, width: int) -> Iterator[str]:
    start = 0
    for end in (*_breaks(line, width), len(line)):
        # A line may be wider for the spaces at its end alone.
        yield line[start:end][:width]
        start = end


def _breaks(line: str, width: int) -> Iterator[int]:
    """Where lines end."""
    if len(line) <= width:
        return
    column = 0
    for word in _WORD.finditer(line):
        start, end = word.span()
        length = len(word[0].rstrip(" "))
        if width - column >= length:
            column += end - start
        elif length > width:
            for place in range(start, end, width):
                if place:
                    yield place
                column = min(end - place, width)
        elif column and start:
            yield start
            column = end - start


def _wrapped_by_rich(parts: list[tuple[str, str]], width: int, colour: bool) -> list[str]:
    from rich.text import Text

    console = _console(width, colour)
    with console.capture() as capture:
        console.print(Text.assemble(*parts))
    return capture.get().removesuffix("\n").split("\n")


def _console(width: int, colour: bool) -> Console:
    import io

    from rich.console import Console

    return Console(
        file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


__all__ = ["STYLES", "Part", "Sheet", "wrap"]
