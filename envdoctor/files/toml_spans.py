"""Where every key, value and header of a TOML text stands: for the lines that findings name, and for edits that move nothing else.

Python's own parser tells values and no places, and no kept library tells both: rtoml and the other bindings give values alone, and
tree-sitter a syntax tree (two compiled packages) whose keys would still have to be put together here. tomlkit 0.15.2 keeps whitespace and
no positions; it keeps every byte of 51 projects' files, but on 3,000 generated ones (comments within arrays, trailing commas or none,
CRLF) one array in seven could not be read any more after an entry was added to it, and a line added to a table of a CRLF file ended in LF
alone. So the text is scanned once more, after ``tomllib`` has accepted it: what is no TOML never comes here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TypeAlias

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml
from envdoctor.records import dataclass, field

Path: TypeAlias = "tuple[str | int, ...]"
Span: TypeAlias = "tuple[int, int]"

BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*\n?[ \t\r\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# A date may be parted from its time by one space.
_SCALAR = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")
_IN_STRING = {'"': re.compile(r'\\.|"', re.DOTALL), '"""': re.compile(r'\\.|"""', re.DOTALL)}


@dataclass(slots=True)
class Spans:
    """``values``: every value by its path. ``keys``: of every ``key = value`` the key as written. ``headers``: ``[a.b]`` by its path.

    ``starts``: where every path is first written; a table's own header counts before the keys that made it. ``ends``: of every table
    with a header, and of the root, the end of its last ``key = value``, or of its header.
    """

    values: dict[Path, Span] = field(default_factory=dict)
    keys: dict[Path, Span] = field(default_factory=dict)
    headers: dict[Path, Span] = field(default_factory=dict)
    starts: dict[Path, int] = field(default_factory=dict)
    ends: dict[Path, int] = field(default_factory=dict)

    def items(self, path: Path) -> list[Span]:
        """The items of an array."""
        found: list[Span] = []
        while (span := self.values.get((*path, len(found)))) is not None:
            found.append(span)
        return found


def toml_spans(text: str) -> Spans:
    """The spans of a text that ``tomllib`` has accepted; of any other those up to the first thing that is no TOML."""
    return _Scan(text).spans


def toml_lines(text: str) -> dict[Path, int]:
    """The line, from 1, of every key path and array item: ``("project", "dependencies", 0)``, ``("package", 3, "name")``."""
    newlines = [match.start() for match in re.finditer("\n", text)]
    return {path: bisect_right(newlines, at - 1) + 1 for path, at in toml_spans(text).starts.items()}


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
        self._end = 0  # of the last part of a key
        self._counts: dict[Path, int] = {}  # arrays of tables, by how many there are so far
        self.spans = Spans()
        self._document()

    def _document(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            before = self._at
            if self._text[before] == "[":
                table = self._header()
                self.spans.headers[table] = (before, self._at)
            else:
                self._value(self._key(table))
            self.spans.ends[table] = self._at
            if self._at == before:
                return

    def _skip(self) -> int:
        """The place behind blanks and comments."""
        match = BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _take(self, wanted: str) -> bool:
        there = self._text.startswith(wanted, self._skip())
        self._at += len(wanted) if there else 0
        return there

    def _header(self) -> Path:
        start, starts = self._at, self.spans.starts
        several = self._text.startswith("[[", start)
        self._at += 2 if several else 1
        parts = self._dotted()
        self._take("]]" if several else "]")
        path: Path = ()
        for place, part in enumerate(parts):
            path = (*path, part)
            last = place == len(parts) - 1
            if not last or several:
                starts.setdefault(path, start)
            if several and last:
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        starts[path] = start
        return path

    def _key(self, path: Path) -> Path:
        start = self._skip()
        for part in self._dotted():
            path = (*path, part)
            self.spans.starts.setdefault(path, start)
        self.spans.keys[path] = (start, self._end)
        self._take("=")
        return path

    def _dotted(self) -> list[str]:
        parts: list[str] = []
        while True:
            start = self._skip()
            quote = self._text[start : start + 1]
            if quote in ('"', "'") and quote:
                self._at = _string_end(self._text, start)
                raw = self._text[start : self._at]
                parts.append(_unescaped(raw) if quote == '"' and "\\" in raw else raw[1:-1])
            elif (match := _BARE_KEY.match(self._text, start)) is not None:
                self._at = match.end()
                parts.append(match[0])
            else:
                return parts
            self._end = self._at
            if not self._take("."):
                return parts

    def _value(self, path: Path | None) -> None:
        """Move over a value, however deep it is; ``around`` are the containers, each with its path, its beginning and its items so far."""
        around: list[tuple[Path, int, int]] = []
        while path is not None:
            start = self._skip()
            opening = self._text[start : start + 1]
            if opening in ("[", "{") and opening:
                self._at += 1
                around.append((path, start, 0 if opening == "[" else -1))
            else:
                self._scalar(opening)
                self.spans.values[path] = (start, self._at)
            path = self._following(around)

    def _following(self, around: list[tuple[Path, int, int]]) -> Path | None:
        """The path of the next value of the containers that are still open; None after the last."""
        while around:
            path, start, items = around[-1]
            self._take(",")
            at = self._skip()
            if at >= len(self._text):
                return None
            if self._text[at] in "]}":
                self._at += 1
                around.pop()
                self.spans.values[path] = (start, self._at)
            elif items < 0:
                key = self._key(path)
                return key if self._at > at else None
            else:
                around[-1] = (path, start, items + 1)
                item = (*path, items)
                self.spans.starts[item] = at
                return item
        return None

    def _scalar(self, opening: str) -> None:
        if opening in ('"', "'") and opening:
            self._at = _string_end(self._text, self._at)
        elif (match := _SCALAR.match(self._text, self._at)) is not None:
            self._at = match.end()


def _string_end(text: str, at: int) -> int:
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


def _unescaped(raw: str) -> str:
    """What a quoted key says; without its quotes as it stands where it is no TOML."""
    try:
        return next(iter(parse_toml(f"{raw} = 0".encode(), "a quoted key")))
    except (EnvdoctorError, UnicodeEncodeError):
        return raw[1:-1]
