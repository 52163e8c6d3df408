"""A log in one pass, at the speed of its bytes: what is worth a closer look is kept, and nothing is looked at twice.

A line without its digits is a *shape*. A training log of a million lines has few shapes: each is judged once, and a block of lines
whose shapes are all known and say nothing is passed over as a whole.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from envdoctor.logs.loss_curve import LossCurve
from envdoctor.logs.signatures import Candidate, Signatures
from envdoctor.logs.unwrapping import LONGEST_LINE, last_state, plain_line, without_escapes
from envdoctor.records import dataclass

_DIGITS = b"0123456789"
_TELLING = re.compile(
    rb"error|exception|traceback|\.py\b|\.so\b|warn|fail|cannot|could not|unable|abort|killed|signal|out of memory"
    rb"|memory in use|conflict|depend|requir"
    rb"|no solution|version|install|because|glibc|import|not (?:found|supported|available|implemented)|undefined symbol|nccl|\bin <|\^\^",
)
# Letters in lower case, and a blank for all else: the words of a line, as anchors of symptoms are.
_LETTERS = bytes(byte if 97 <= byte <= 122 or byte == 95 else byte + 32 if 65 <= byte <= 90 else 32 for byte in range(256))
# Of one shape no more lines are kept than these: of one that may tell something, and of any other.
_MOST_TELLING, _MOST_ALIKE = 200, 6
_MOST_KEPT, _MOST_LAST = 4000, 60
# Shapes are remembered up to this many bytes: a log without repetition must not fill the memory.
_MOST_REMEMBERED = 1 << 24


@dataclass(frozen=True, slots=True)
class Kept:
    """A line that may matter, as it stands in the log; ``number`` counts from 1."""

    number: int
    text: str


class _Shape:
    __slots__ = ("candidates", "left", "of_loss")

    def __init__(self, candidates: list[Candidate], left: int, *, of_loss: bool) -> None:
        self.candidates, self.left, self.of_loss = candidates, left, of_loss


class Skim:
    """Reads a log by blocks of whole lines. ``signatures`` gets what rules look for; ``kept`` are the lines for everybody else."""

    def __init__(self, signatures: Signatures) -> None:
        self.signatures = signatures
        self.curve = LossCurve()
        self.lines = 0
        self._head: list[Kept] = []
        self._tail: deque[Kept] = deque(maxlen=_MOST_KEPT)
        self._last: deque[Kept] = deque(maxlen=_MOST_LAST)
        self._shapes: dict[bytes, _Shape] = {}
        self._of_loss: set[bytes] = set()
        self._settled: set[bytes] = set()
        self._remembered = 0
        self._anchors = {word.encode() for word in signatures.by_anchor}

    def read(self, blocks: Iterable[bytes]) -> None:
        """Look at a log, whose blocks end where lines end."""
        for block in blocks:
            self._read_block(block)

    def kept(self) -> tuple[Kept, ...]:
        """The lines worth a closer look, in order: the first of every kind, all that speak of errors (within bounds), the last ones."""
        found = {one.number: one for one in (*self._head, *self._tail, *self._last)}
        return tuple(found[number] for number in sorted(found))

    def _read_block(self, block: bytes) -> None:
        if b"\x1b" in block:
            block = without_escapes(block)
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        changed = False
        if b"\r" in block:
            lines, changed = [last_state(line) if b"\r" in line else line for line in lines], True
        if len(block) > LONGEST_LINE and max(map(len, lines), default=0) > LONGEST_LINE:
            half = LONGEST_LINE // 2
            lines, changed = [line if len(line) <= LONGEST_LINE else line[:half] + b" " + line[-half:] for line in lines], True
        shapes = (b"\n".join(lines) if changed else block).translate(None, _DIGITS).split(b"\n")[: len(lines)]
        present = set(shapes)
        open_ = present - self._settled
        first = self.lines + 1
        if open_:
            for place, shape in enumerate(shapes):
                if shape in open_ and self._look(first + place, lines[place], shape):
                    open_.discard(shape)
        if not self._of_loss.isdisjoint(present):
            places = [place for place, shape in enumerate(shapes) if shape in self._of_loss]
            for number, event in self.curve.read_block([lines[place] for place in places], [first + place for place in places]):
                self.signatures.match(event, number, lines[number - first].decode("utf-8", "replace"))
        for place in range(max(0, len(lines) - _MOST_LAST), len(lines)):
            self._last.append(Kept(first + place, lines[place].decode("utf-8", "replace")))
        self.lines += len(lines)

    def _look(self, number: int, line: bytes, shape: bytes) -> bool:
        """Take a line in; whether no other line of its shape need be looked at."""
        known = self._shapes.get(shape)
        if known is None:
            known = self._learn(line, shape)
        if known.candidates:
            text = line.decode("utf-8", "replace")
            known.candidates = self.signatures.try_candidates(known.candidates, plain_line(text), number, text)
        if known.left > 0:
            known.left -= 1
            one = Kept(number, line.decode("utf-8", "replace"))
            if len(self._head) < _MOST_KEPT:
                self._head.append(one)
            else:
                self._tail.append(one)
        if not known.candidates and known.left <= 0 and shape in self._shapes:
            self._settled.add(shape)
            del self._shapes[shape]
            return True
        return False

    def _learn(self, line: bytes, shape: bytes) -> _Shape:
        lower = shape.lower()
        telling = not shape.strip() or _TELLING.search(lower) is not None
        of_loss = b"loss" in lower or b"grad_norm" in lower
        candidates: list[Candidate] = []
        if not self._anchors.isdisjoint(lower.translate(_LETTERS).split()):
            candidates = self.signatures.candidates(plain_line(line.decode("utf-8", "replace")))
        known = _Shape(candidates, _MOST_TELLING if telling else _MOST_ALIKE, of_loss=of_loss)
        if self._remembered + len(shape) <= _MOST_REMEMBERED:
            self._remembered += len(shape) + 100
            self._shapes[shape] = known
            if of_loss:
                self._of_loss.add(shape)
        return known
