"""Byte-exact replacement: what is not replaced stays as it is, in any encoding and with any line ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.declared.requirement_text import CODING, MARKS

_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file that can be written back: its bytes are the mark and the encoded text.

    Bytes that are none of the encoding stand as lone surrogates, as PEP 383 has them.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    def encoded(self, text: str) -> bytes:
        """The bytes of this file with another text.

        Raises:
            UnicodeEncodeError: the text has a character that the encoding has not.
        """
        return self.mark + text.encode(self.encoding, _handler(self.encoding))


@dataclass(frozen=True, slots=True, order=True)
class Splice:
    """What stands between two offsets of a text becomes another text; equal offsets insert."""

    start: int
    end: int
    new: str


def _handler(encoding: str) -> str:
    return "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"


def document_of(data: bytes, place: str, *, coding_line: bool = True) -> Document:
    """The text of a file: by its byte order mark, its coding line (PEP 263) if there may be one, its zeros, else UTF-8.

    Raises:
        EnvdoctorError: its encoding does not exist, or cannot give the same bytes again.
    """
    mark, encoding = _encoding(data, coding_line=coding_line)
    try:
        document = Document(data[len(mark) :].decode(encoding, _handler(encoding)), encoding, mark)
        same = document.encoded(document.text) == data
    except (LookupError, ValueError):
        same = False
    if not same:
        raise EnvdoctorError(
            place, found=f"bytes that are no {encoding} text", expected="a text that can be written back", next_step="save it as UTF-8"
        )
    return document


def encoding_of(data: bytes) -> str:
    """The encoding that a file's bytes are shown in."""
    return _encoding(data, coding_line=True)[1]


def _encoding(data: bytes, *, coding_line: bool) -> tuple[bytes, str]:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return mark, encoding
    for line in data.split(b"\n", 2)[:2] if coding_line else ():
        stated = CODING.search(line) if line.startswith(b"#") else None
        if stated is not None:
            return b"", stated[1].decode("ascii", "replace")
    start = data[:400]
    if coding_line and len(start) >= 4 and start.count(0) * 5 >= len(start) * 2:
        return b"", "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    return b"", "utf-8"


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """A text with spans replaced. Of insertions at one place the first named comes first.

    Raises:
        ValueError: two spans overlap.
    """
    parts: list[str] = []
    at = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        if splice.start < at:
            raise ValueError(f"two changes overlap at {splice.start}")
        parts += [text[at : splice.start], splice.new]
        at = splice.end
    return "".join((*parts, text[at:]))


def lines_of(text: str, splices: Sequence[Splice], lines: Sequence[str]) -> tuple[int, ...]:
    """The numbers, from 1, of the lines that spans touch; ``lines`` are those of the text, with their ends.

    What is added after the last line counts as that one; in an empty text there is none, and it counts as 0.
    """
    starts: list[int] = []
    at = 0
    for line in lines:
        starts.append(at)
        at += len(line)
    touched: set[int] = set()
    for splice in splices:
        last = max(splice.start, splice.end - 1)
        touched.update(range(bisect_right(starts, splice.start), bisect_right(starts, last) + 1))
    return tuple(sorted(touched))


def lines_at_newline(text: str) -> list[str]:
    r"""The lines of a text with their ends, where ``\n`` alone ends one, as it does to docker, diff and patch."""
    lines: list[str] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        lines.append(text[at:end])
        at = end
    return lines


def newline_of(text: str) -> str:
    """How a text ends its lines: as its last line that is ended does."""
    found = "\n"
    at = max(text.rfind("\n"), text.rfind("\r"))
    if at >= 0:
        ended = _END.search(text, at - 1 if text[at] == "\n" and text[at - 1 : at] == "\r" else at)
        found = ended[0] if ended is not None else found
    return found


__all__ = ["Document", "Splice", "document_of", "encoding_of", "lines_at_newline", "lines_of", "newline_of", "spliced"]
