"""A text under change: what was replaced, and which lines of the original that touched.

Offsets are characters of ``text``, which has no byte order mark. Only ``\\n`` ends a line, so that ``\\r\\n`` stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from envdoctor.edits.edit import Edited, Pin, Refusal, RefusedError, Set
from envdoctor.errors import EnvdoctorError

_MARK = b"\xef\xbb\xbf"


class Draft:
    """A UTF-8 text that is edited in place.

    Raises:
        EnvdoctorError: bytes that are not UTF-8.
    """

    def __init__(self, data: bytes, place: str) -> None:
        self._mark = _MARK if data.startswith(_MARK) else b""
        try:
            self.text = data[len(self._mark) :].decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start + len(self._mark)) + 1
            raise EnvdoctorError(
                f"{place}, line {line}", found="bytes that are not UTF-8", expected="a text in UTF-8", next_step="save it as UTF-8"
            ) from None
        self._numbers = list(range(1, self.text.count("\n") + 2))  # of every line now there the number it had; 0 for a new one
        self._touched: set[int] = set()

    def copy(self) -> Draft:
        other = object.__new__(Draft)
        other._mark, other.text = self._mark, self.text
        other._numbers, other._touched = list(self._numbers), set(self._touched)
        return other

    def encoded(self) -> bytes:
        return self._mark + self.text.encode("utf-8")

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the original that were changed, or after which one was added."""
        return tuple(sorted(self._touched))

    def edited(self, path: Path, before: bytes, done: Sequence[Pin | Set], refused: Sequence[Refusal]) -> Edited:
        """The file as it was and as it is to be; one that came back to what it was has no changed line."""
        after = self.encoded()
        return Edited(path, before, after, tuple(done), tuple(refused), self.lines if after != before else ())

    @property
    def newline(self) -> str:
        """How lines of the text end: as the first of them does."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    def replace(self, start: int, end: int, new: str) -> None:
        """Put ``new`` in the place of a span."""
        if self.text[start:end] == new:
            return
        first, last = self.text.count("\n", 0, start), self.text.count("\n", 0, end)
        whole = self.begins_line(start) and self.begins_line(end) and (not new or new.endswith("\n"))
        kept = [] if whole else [self._numbers[first]]
        if whole and start == end:  # lines of their own, before the first or after another
            self._touched.add(next((number for number in reversed(self._numbers[:first]) if number), 1))
        last -= 1 if whole else 0
        self._touched.update(number for number in self._numbers[first : last + 1] if number)
        self._numbers[first : last + 1] = [*kept, *(0,) * new.count("\n")]
        self.text = self.text[:start] + new + self.text[end:]

    def begins_line(self, at: int) -> bool:
        return at == 0 or self.text[at - 1] == "\n"

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Where the line of an offset ends, before its line break."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > at and self.text[end - 1] == "\r" else end

    def after_line(self, at: int) -> int:
        """Where the next line begins."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def line_of(self, at: int) -> int:
        """The number, from 1, that the line of an offset had in the original, or that of the last one before it."""
        return next((number for number in reversed(self._numbers[: self.text.count("\n", 0, at) + 1]) if number), 1)


def edited_by(path: Path, before: bytes, pins: Sequence[Pin], give: Callable[[Draft, Pin], None]) -> tuple[Edited, ...]:
    """The file with every pin that could be given; one that is refused (RefusedError) leaves no trace.

    Raises:
        EnvdoctorError: bytes that are not UTF-8.
    """
    draft = Draft(before, str(path))
    done: list[Pin | Set] = []
    refused: list[Refusal] = []
    for pin in pins:
        attempt = draft.copy()
        try:
            give(attempt, pin)
        except RefusedError as error:
            refused.append(Refusal(pin, str(error)))
        else:
            draft = attempt
            done.append(pin)
    return (draft.edited(path, before, done, refused),)


__all__ = ["Draft"]
