"""A TOML file of a project, as a table whose every key has a line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.files.toml import parse_toml_text

if TYPE_CHECKING:
    from envdoctor.files import toml_spans

MANIFEST_LIMIT = 4 * 2**20
LOCK_LIMIT = 32 * 2**20
# Each line may be a table of its own, which takes a kilobyte; the locks of the largest projects have some 30,000.
_MOST_LINES = 200_000
_LINE = re.compile(r"[^\n]+")
_MOST_KEY_PARTS = 40
_KEY_PART = r"""(?:"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*"""
_VERSION = re.compile(r"[ \t]*version[ \t]*=")


class TomlDocument:
    """A parsed TOML text. The lines are looked for when the first one is asked for."""

    def __init__(self, path: Path, table: Mapping[str, object], text: str) -> None:
        self.path = path
        self.file = str(path)
        self.table = table
        self.text = text
        self._lines: Mapping[toml_spans.Path, int] | None = None

    def line(self, *keys: str | int) -> int | None:
        """The line of a key path; of the nearest table around it, where the key itself is not written."""
        if self._lines is None:
            from envdoctor.files.toml_spans import toml_lines

            self._lines = toml_lines(self.text)
        return next((self._lines[keys[:end]] for end in range(len(keys), 0, -1) if keys[:end] in self._lines), None)

    def place(self, *keys: str | int) -> str:
        """``pyproject.toml:12``, as skips name it."""
        line = self.line(*keys)
        return self.file if line is None else f"{self.file}:{line}"

    def line_beside_packages(self, *keys: str | int) -> int | None:
        """As ``line``, for a key of a lock that stands apart from the packages: only the part around it is scanned."""
        from envdoctor.files.toml_spans import toml_lines

        start = 0 if len(keys) == 1 else self.text.find(f"\n[{keys[0]}]") + 1
        found = toml_lines(self.text[start : self.text.find("\n[[package", start) + 1 or None]).get(keys)
        return self.line(*keys) if found is None else found + self.text.count("\n", 0, start)

    def entry_lines(self, name: str) -> list[int | None]:
        """For every ``[[name]]`` of a lock the line of its version, or its header's; found without a scan of the whole text."""
        from envdoctor.files.toml_spans import block_lines

        entries = self.table.get(name)
        if not isinstance(entries, list):
            return []
        headers = block_lines(self.text, name, len(entries))
        if headers is None:
            return [self.line(name, place, "version") for place in range(len(entries))]
        rows = self.text.split("\n")
        versions = [number for number, row in enumerate(rows, start=1) if _VERSION.match(row)]
        lines: list[int | None] = []
        for header, following in zip(headers, [*headers[1:], len(rows) + 1], strict=False):
            at = bisect_left(versions, header)
            told = versions[at] if at < len(versions) and versions[at] < following else header
            lines.append(told if "[" not in "".join(row.lstrip()[:1] for row in rows[header : told - 1]) else header)
        return lines


def read_document(path: Path, limit: int = MANIFEST_LIMIT) -> TomlDocument:
    """A TOML file, read within bounds.

    Raises:
        EnvdoctorError: unreadable, larger than the limit, not UTF-8 or no TOML; the place has line and column.
    """
    try:
        data = read_bounded(path, limit)
    except UnreadableError as error:
        raise EnvdoctorError(str(path), found=str(error), expected="a readable TOML file", next_step="check the path") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _position(data, error.start)
        place = f"{path}, line {line}, column {column}"
        raise EnvdoctorError(place, found="bytes that are not UTF-8", expected="TOML in UTF-8", next_step="save it as UTF-8") from error
    # A character beyond Latin makes four bytes of each: a large file is held once.
    del data
    _refuse_long_keys(text, path)
    if text.count("\n") > _MOST_LINES:
        raise EnvdoctorError(
            str(path), found=f"more than {_MOST_LINES:,} lines", expected="a lock of a project", next_step="check what wrote it"
        )
    try:
        table = parse_toml_text(text, str(path))
    except EnvdoctorError as error:
        told = re.search(r"\(at line (\d+), column (\d+)\)", error.found)
        if told is None and "(at end of document)" in error.found:
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
            place = f"{path}, line {line}, column {column}"
        else:
            place = f"{path}, line {told[1]}, column {told[2]}" if told else str(path)
        raise EnvdoctorError(place, found=plain(error.found), expected=error.expected, next_step=error.next_step) from error
    return TomlDocument(path, table, text)


def _position(data: bytes, at: int) -> tuple[int, int]:
    return data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at)


def _refuse_long_keys(text: str, path: Path) -> None:
    """A dotted key of very many parts, for which the parser takes quadratic time."""
    if not any(line[0].count(".") > _MOST_KEY_PARTS for line in _LINE.finditer(text)):
        return
    found = re.search(rf"(?<![A-Za-z0-9_\-.\"'])(?:{_KEY_PART}\.[ \t]*){{{_MOST_KEY_PARTS},}}", text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise EnvdoctorError(
            f"{path}, line {line}, column {found.start() - text.rfind(chr(10), 0, found.start())}",
            found=f"a key of more than {_MOST_KEY_PARTS} parts",
            expected="TOML as projects write it",
            next_step="check what wrote the file",
        )


def table_of(value: object) -> Mapping[str, object]:
    """The value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def strings_of(value: object) -> list[str]:
    """The strings of a list; of any other value none."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""
