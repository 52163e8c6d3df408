"""Rows of a training file, one after the other, in constant memory: JSON lines or one JSON array, plain or gzip."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

MOST_LINE = 8 << 20
"""Bytes of one row: two million tokens or so. A longer one is refused."""
MOST_SKIPPED = 1 << 30
"""Bytes without a line end after which a file is no JSON lines; also what a gzip bomb gets to unpack."""
_MOST_DIGITS = 4300
_CHUNK = 1 << 20
_BETWEEN: Any = re.compile(r"[ \t\r\n,]*")

if TYPE_CHECKING:
    Found = tuple[int, Any, str | None]
    """The number of the line or element from 1, the parsed value, and why there is none."""


class UnreadableFileError(Exception):
    """The file as a whole cannot be read on: what was found, and what to do."""

    def __init__(self, found: str, next_step: str) -> None:
        super().__init__(found)
        self.found = found
        self.next_step = next_step


class Rows:
    """Iterates over ``Found``; ``share`` says which part of the file has been read, 0 to 1."""

    def __init__(self, path: str, most_line: int = MOST_LINE, most_skipped: int = MOST_SKIPPED) -> None:
        self.path = path
        self.most_line = most_line
        self.most_skipped = most_skipped
        self.size = os.path.getsize(path)
        self.array = False
        self._raw: Any = None

    def share(self) -> float:
        return min(1.0, self._raw.tell() / self.size) if self._raw is not None and self.size else 0.0

    def __iter__(self) -> Iterator[Found]:
        with open(self.path, "rb") as self._raw:
            packed = self._raw.read(2) == b"\x1f\x8b"
            self._raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=self._raw) if packed else self._raw
            try:
                yield from self._rows(stream)
            except (EOFError, zlib.error) as error:
                raise UnreadableFileError(f"a gzip file that is cut short or damaged ({error})", "unpack or download it again") from None
            except OSError as error:
                raise UnreadableFileError(f"a file that cannot be read on ({error})", "check the disk, or unpack it first") from None

    def _rows(self, stream: IO[bytes]) -> Iterator[Found]:
        number, first = 0, True
        line = stream.readline(self.most_line + 1)
        if line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UnreadableFileError("text in UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8")
        if line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        while line:
            number += 1
            if first and line.strip():
                first = False
                if line.strip() == b"{":
                    raise UnreadableFileError("a JSON object over several lines", "write each row as one JSON object on a line of its own")
                self.array = _begins_array(line, self.path)
                if self.array:
                    yield from self._elements(line, stream)
                    return
            if len(line) > self.most_line:
                self._skip_line(line, stream)
                yield number, None, f"a line of more than {self.most_line >> 20} MiB"
            elif line.strip():
                value, why = parse(line)
                yield number, value, why
            line = stream.readline(self.most_line + 1)

    def _skip_line(self, line: bytes, stream: IO[bytes]) -> None:
        skipped = len(line)
        while line and not line.endswith(b"\n"):
            line = stream.readline(_CHUNK)
            skipped += len(line)
            if skipped > self.most_skipped:
                found = f"no line end within {self.most_skipped >> 20} MiB"
                raise UnreadableFileError(found, "write one JSON object on each line")

    def _elements(self, begun: bytes, stream: IO[bytes]) -> Iterator[Found]:
        """The elements of an array. A broken one ends it: where the next begins cannot be known."""
        decoder = json.JSONDecoder(parse_int=_integer)
        incremental = codecs.getincrementaldecoder("utf-8")()
        text, place, number, done = "", 0, 0, False
        chunk = begun.lstrip()[1:]
        while True:
            try:
                text, place = text[place:] + incremental.decode(chunk, final=done), 0
            except UnicodeDecodeError:
                raise UnreadableFileError(f"bytes that are no UTF-8 after element {number}", "write it as UTF-8") from None
            why = "the array is not closed"
            while True:
                place = _BETWEEN.match(text, place).end()
                if place == len(text):
                    break
                if text[place] == "]":
                    if text[place + 1 :].strip() or stream.read(_CHUNK).strip():
                        raise UnreadableFileError(f"more after an array of {number} elements", "write one JSON object on each line")
                    return
                try:
                    value, end = decoder.raw_decode(text, place)
                except RecursionError:
                    raise UnreadableFileError(f"element {number + 1} is nested too deeply", "write one flat object a line") from None
                except ValueError as error:
                    why = str(error)[:200]
                    break
                if end == len(text) and not done:
                    # A number that ends with the text may go on.
                    break
                number, place = number + 1, end
                yield number, value, None
            if done:
                raise UnreadableFileError(f"element {number + 1} is no JSON: {why}", "write one JSON object on each line")
            left = len(text) - place
            if left > self.most_line:
                found = f"element {number + 1} is no JSON, or longer than {self.most_line >> 20} MiB"
                raise UnreadableFileError(found, "write one JSON object on each line")
            # An element that was begun is parsed from its start again: twice as much, not one more piece.
            chunk = stream.read(max(_CHUNK, 2 * left))
            done = not chunk


def parse(line: bytes) -> tuple[Any, str | None]:
    """The value of one line, or why there is none."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return None, "no UTF-8"
    try:
        return json.loads(text, parse_int=_integer), None
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as error:
        cut_off = isinstance(error, json.JSONDecodeError) and (error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"))
        return None, "JSON that ends too early" if cut_off else "no JSON"


def _begins_array(line: bytes, path: str) -> bool:
    """Whether the file is one array: by the first line that says something. A list on a line of its own is no row."""
    head = line.strip()
    if not head.startswith(b"["):
        return False
    name = path.lower()
    name = name[:-3] if name.endswith(".gz") else name
    return name.endswith(".json") or parse(line)[1] is not None


def _integer(digits: str) -> int:
    """Python's own bound on the digits of a number, which 3.8 lacks: reading takes the square of their number."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)
