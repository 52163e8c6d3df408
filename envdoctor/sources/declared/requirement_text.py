"""The text of a requirements file: its encoding, and the logical lines that pip makes of it.

The order of pip: a byte order mark, a coding line (PEP 263) among the first two, UTF-8. Where bytes do not decode, the
lines that have them are known, and the others are read.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.records import dataclass

MOST_BYTES = 4 * 2**20
# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CODING = re.compile(rb"coding[:=]\s*([-\w.]+)")
# One blank before the sign: with all of them, a line of nothing but blanks would be tried from each.
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_COMMENT_LINE = re.compile(r"\s*#")
_REPLACED = "\ufffd"


@dataclass(frozen=True, slots=True)
class RequirementsText:
    """``damaged`` says that some bytes are none of the encoding; U+FFFD stands for them. ``unmarked`` is the encoding of a
    text in UTF-16 without a byte order mark, which pip takes for UTF-8."""

    text: str
    damaged: bool = False
    unmarked: str = ""


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """A line as pip sees it, without its comment; ``number`` is that of its first physical line.

    ``damage`` is where bytes could not be decoded: ``text``, ``comment`` or nowhere.
    """

    number: int
    text: str
    damage: str = ""


def read_text(path: Path) -> RequirementsText:
    """The text of a file of at most 4 MiB.

    Raises:
        EnvdoctorError: unreadable, larger, or of an encoding that does not exist.
    """
    try:
        data = read_bounded(path, MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(
            plain(str(path), 4096), found=str(error), expected="a readable requirements file", next_step="check the path"
        ) from None
    return decode(data, plain(str(path), 4096))


def decode(data: bytes, place: str) -> RequirementsText:
    """The text of a requirements file's bytes.

    Raises:
        EnvdoctorError: a coding line names an encoding that does not exist, or that is none of texts.
    """
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    for number, line in enumerate(data.split(b"\n", 2)[:2], start=1):
        stated = CODING.search(line) if line.startswith(b"#") else None
        if stated is not None:
            name = stated[1].decode("ascii", "replace")
            try:
                return _decoded(data, name)
            except (LookupError, ValueError):
                raise EnvdoctorError(
                    f"{place}, line {number}", found=f"the encoding {name!r}", expected="an encoding of text", next_step="save it as UTF-8"
                ) from None
    unmarked = _unmarked(data)
    return RequirementsText(data.decode(unmarked, "replace"), unmarked=unmarked) if unmarked else _decoded(data, "utf-8")


def _decoded(data: bytes, encoding: str) -> RequirementsText:
    try:
        return RequirementsText(data.decode(encoding))
    except UnicodeDecodeError:
        return RequirementsText(data.decode(encoding, "replace"), damaged=True)


def _unmarked(data: bytes) -> str:
    """The UTF-16 that bytes look like: every other of them is zero."""
    start = data[:400]
    if start.count(0) * 5 < len(start) * 2 or len(start) < 4:
        return ""
    return "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"


def logical_lines(source: RequirementsText) -> Iterator[LogicalLine]:
    r"""Lines joined over a ``\`` at their end, as pip joins them: before comments are taken away, and nothing put between.

    A comment needs a blank before its ``#``; a line that is only a comment is never continued.
    """
    pending: list[str] = []
    first = 0
    for number, line in enumerate(source.text.splitlines(), start=1):
        comment = _COMMENT_LINE.match(line) is not None
        if line.endswith("\\") and not comment:
            first = first if pending else number
            pending.append(line.strip("\\"))
            continue
        if pending:
            line, number, pending = "".join((*pending, " " * comment, line)), first, []
        yield from _without_comment(line, number, source.damaged)
    if pending:
        yield from _without_comment("".join(pending), first, source.damaged)


def _without_comment(line: str, number: int, damaged: bool) -> Iterator[LogicalLine]:
    text = _COMMENT.sub("", line).strip() if "#" in line else line.strip()
    damage = ""
    if damaged and _REPLACED in line:
        damage = "text" if _REPLACED in text else "comment"
    if text or damage:
        yield LogicalLine(number, text, damage)
