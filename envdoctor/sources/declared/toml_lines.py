"""On which line every key and every array item of a TOML text stands.

Python's own parser tells values and no places, and no kept library tells both: tomlkit keeps whitespace and no positions, rtoml and the
other bindings give values alone, and tree-sitter gives a syntax tree (two compiled packages) whose keys would still have to be put
together here. So the text is scanned once more, after ``tomllib`` has accepted it: what is no TOML never comes here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import TypeAlias

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml

Path: TypeAlias = "tuple[str | int, ...]"

BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*\n?[ \t\r\n]*)*")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# A date may be parted from its time by one space.
SCALAR = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")
_IN_STRING = {'"': re.compile(r'\\.|"', re.DOTALL), '"""': re.compile(r'\\.|"""', re.DOTALL)}


def toml_lines(text: str) -> Mapping[Path, int]:
    """The line, from 1, of every key path and array item: ``("project", "dependencies", 0)``, ``("package", 3, "name")``.

    A table's line is that of its own header, where it has one, else of the key that first made it. The text must be one that
    ``tomllib`` has accepted; of any other the lines up to the first thing that is no TOML are told.
    """
    return _Scan(text).lines()


def block_lines(text: str, name: str, count: int) -> list[int] | None:
    """The lines of the ``[[name]]`` headers of a lock, cheaply; None where they are not written so, or not ``count`` of them."""
    header = re.compile(rf"^[ \t]*\[\[[ \t]*{re.escape(name)}[ \t]*\]\]", re.MULTILINE)
    lines, line, last = [], 1, 0
    for match in header.finditer(text):
        line, last = line + text.count("\n", last, match.start()), match.start()
        lines.append(line)
    return lines if len(lines) == count else None


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # arrays of tables, by how many there are so far

    def lines(self) -> dict[Path, int]:
        prefix: Path = ()
        while self._skip_blank():
            before = self._at
            if self._text[self._at] == "[":
                prefix = self._header()
            else:
                path = self._key(prefix)
                self._take("=")
                self._value(path)
            if self._at == before:
                break
        return self._lines

    def _line(self, at: int) -> int:
        return bisect_right(self._newlines, at - 1) + 1

    def _skip_blank(self) -> bool:
        """Move over blanks and comments; whether anything is left."""
        match = BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._text)

    def _take(self, wanted: str) -> bool:
        self._skip_blank()
        there = self._text.startswith(wanted, self._at)
        self._at += len(wanted) if there else 0
        return there

    def _header(self) -> Path:
        line = self._line(self._at)
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        parts = self._dotted()
        self._take("]]" if several else "]")
        path: Path = ()
        for place, part in enumerate(parts):
            path = (*path, part)
            last = place == len(parts) - 1
            if not last or several:
                self._lines.setdefault(path, line)
            if several and last:
                self._tables[path] = self._tables.get(path, 0) + 1
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
        self._lines[path] = line
        return path

    def _key(self, prefix: Path) -> Path:
        line = self._line(self._at)
        for part in self._dotted():
            prefix = (*prefix, part)
            self._lines.setdefault(prefix, line)
        return prefix

    def _dotted(self) -> list[str]:
        parts = []
        while True:
            self._skip_blank()
            start, quote = self._at, self._text[self._at : self._at + 1]
            if quote in ('"', "'") and quote:
                self._string()
                raw = self._text[start : self._at]
                parts.append(unescaped(raw) if quote == '"' and "\\" in raw else raw[1:-1])
            elif (match := BARE_KEY.match(self._text, start)) is not None:
                self._at = match.end()
                parts.append(match[0])
            else:
                return parts
            if not self._take("."):
                return parts

    def _value(self, path: Path) -> None:
        """Move over a value, however deep it is; ``open_`` are the containers around, each with its path and its items so far."""
        open_: list[tuple[Path, int]] = []
        while True:
            self._skip_blank()
            opening = self._text[self._at : self._at + 1]
            if opening == "[":
                self._at += 1
                open_.append((path, 0))
            elif opening == "{":
                self._at += 1
                open_.append((path, -1))
            else:
                self._scalar()
            following = self._following(open_)
            if following is None:
                return
            path = following

    def _following(self, open_: list[tuple[Path, int]]) -> Path | None:
        """The path of the next value of the containers that are still open; None after the last."""
        while open_:
            path, items = open_[-1]
            self._take(",")
            self._skip_blank()
            if self._at >= len(self._text):
                return None
            if self._text[self._at] in "]}":
                self._at += 1
                open_.pop()
            elif items < 0:
                before = self._at
                key = self._key(path)
                self._take("=")
                return key if self._at > before else None
            else:
                open_[-1] = (path, items + 1)
                item = (*path, items)
                self._lines[item] = self._line(self._at)
                return item
        return None

    def _scalar(self) -> None:
        if self._text.startswith(('"', "'"), self._at):
            self._string()
        elif (match := SCALAR.match(self._text, self._at)) is not None:
            self._at = match.end()

    def _string(self) -> None:
        self._at = string_end(self._text, self._at)


def string_end(text: str, at: int) -> int:
    """The place behind a string of any of TOML's four kinds that begins here; the end of the text where it is not closed."""
    quote = text[at]
    long = text.startswith(quote * 3, at)
    delimiter = quote * 3 if long else quote
    start = at + len(delimiter)
    if quote == "'":
        end = text.find(delimiter, start)
    else:
        closing = _IN_STRING[delimiter].finditer(text, start)
        end = next((match.start() for match in closing if match[0] == delimiter), -1)
    behind = len(text) if end < 0 else end + len(delimiter)
    if long:  # up to two quotes may stand before the closing three
        for _ in range(2):
            behind += 1 if text.startswith(quote, behind) else 0
    return behind


def unescaped(raw: str) -> str:
    """What a quoted key says; without its quotes as it stands where it is no TOML."""
    try:
        return next(iter(parse_toml(f"{raw} = 0".encode(), "a quoted key")))
    except (EnvdoctorError, UnicodeEncodeError):
        return raw[1:-1]
