"""The numbers of a training log: when the loss falls to zero or is no number any more, and what stood before.

Numbers may be printed or quoted (``'loss': '0.0'``), as Trainers, loggers and progress bars write them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

_LOSS = re.compile(
    r"(?<![a-z_])(eval_loss|train_loss|loss|grad_norm)['\"]?\s{0,3}[:=]?\s{0,3}['\"]?(nan|-?inf|-?\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?)(?![a-z0-9.])"
)
# What no healthy curve has, at the speed of a search in bytes.
_SUSPECT = re.compile(rb"(?:oss|OSS|norm)['\"]?\s{0,3}[:=]?\s{0,3}['\"]?(?:[nN][aA][nN]|-?inf|-?0(?:\.0*)?(?![0-9.eE]))")
_MOST_BEFORE, _MOST_AFTER = 4, 2
EVENTS = ("loss falls to 0.0", "loss is nan", "grad_norm is nan", "eval_loss is nan", "train_loss is nan")


class LossCurve:
    """Events of a training log that no single fragment shows: told as lines of their own, each once."""

    def __init__(self) -> None:
        self.was_positive = False
        self.zeros = 0
        self.told: dict[str, int] = {}
        self._before: deque[tuple[int, str]] = deque(maxlen=_MOST_BEFORE)
        self._around: list[tuple[int, str]] = []
        self._after = 0

    def read_block(self, lines: Sequence[bytes], numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The events of some lines that speak of a loss or a norm, each with its line."""
        if not lines:
            return
        if not _SUSPECT.search(b"\n".join(lines)) and not self._wants_more():
            self.was_positive, self.zeros = True, 0
            for number, line in zip(numbers[-_MOST_BEFORE:], lines[-_MOST_BEFORE:], strict=True):
                self._before.append((number, _shown(line.decode("utf-8", "replace").lower())))
            return
        for number, raw in zip(numbers, lines, strict=True):
            if len(self.told) == len(EVENTS) and not self._wants_more():
                return
            text = raw.decode("utf-8", "replace").lower()
            for event in self.read(text, number):
                yield number, event

    def read(self, line: str, number: int = 0) -> Iterator[str]:
        """``loss falls to 0.0``, ``loss is nan``, ``grad_norm is nan``, ``eval_loss is nan``: each once. ``line`` is in lower case."""
        if "loss" not in line and "grad_norm" not in line:
            return
        pairs = _LOSS.findall(line)
        if not pairs:
            return
        before = len(self.told)
        for name, text in pairs:
            value = float(text)
            if value != value:
                yield from self._tell(f"{name} is nan", number)
            elif name == "loss" and value == 0.0:
                self.zeros += 1
                if self.zeros >= 2 or (self.was_positive and self.zeros) or "grad_norm is nan" in self.told or "nan" in line:
                    yield from self._tell("loss falls to 0.0", number)
            elif name == "loss":
                self.was_positive = self.was_positive or value > 0
                self.zeros = 0
        self._remember(number, ", ".join(f"{name} {text}" for name, text in pairs), begins=before == 0 and bool(self.told))

    def history(self) -> str:
        """The numbers around the first event, in words; empty where there is none."""
        return "; ".join(f"line {number}: {text}" for number, text in self._around)

    def _wants_more(self) -> bool:
        return bool(self._around) and self._after < _MOST_AFTER

    def _remember(self, number: int, words: str, *, begins: bool) -> None:
        if begins:
            self._around = [*self._before, (number, words)]
        elif self._wants_more():
            self._around.append((number, words))
            self._after += 1
        else:
            self._before.append((number, words))

    def _tell(self, event: str, number: int) -> Iterator[str]:
        if event not in self.told:
            self.told[event] = number
            yield event


def _shown(line: str) -> str:
    return ", ".join(f"{name} {text}" for name, text in _LOSS.findall(line))
