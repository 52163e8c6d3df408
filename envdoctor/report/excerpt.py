"""The line of a file that a finding is about, and which part of it is at fault."""

from __future__ import annotations

import re
from pathlib import Path

from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import dataclass
from envdoctor.report.plain import printable

# What follows a package's name where its release is stated: extras, the quotes and signs of several formats, and the versions.
_STATED = (
    r"""(?:\[[^\]\n]*\])?['"]?\s*"""
    r"""(?:[=:@]\s*)?['"]?\s*(?:[=<>!~^]=?=?\s*)?v?\d[\w.*+!]*(?:\s*,\s*[=<>!~]=?=?\s*\d[\w.*+!]*)*['"]?"""
)
_CREDENTIALS = re.compile(r"(?<=//)[^/\s@]+@")
_COMMENT = re.compile(r"\s+#.*$|\s+//.*$")
_TAB = 4
_MOST = 1 << 23


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of a file, fit to print, without what sets it in; ``start`` and ``end`` are the columns of what is at fault."""

    text: str
    start: int
    end: int

    def within(self, width: int) -> Excerpt:
        """As much of the line as fits, with what is at fault in it."""
        if len(self.text) <= width:
            return self
        first = max(0, min(self.start - width // 4, len(self.text) - width))
        before, after = "..." if first else "", "..." if first + width < len(self.text) else ""
        shown = before + self.text[first + len(before) : first + width - len(after)] + after
        return Excerpt(shown, max(self.start - first, len(before)), min(self.end - first, width - len(after)))

    def underline(self) -> str:
        """Carets below what is at fault; characters that are two columns wide have two."""
        return " " * _columns(self.text[: self.start]) + "^" * max(_columns(self.text[self.start : self.end]), 1)


class Sources:
    """The files that a report names, each read once; a file that cannot be read has no lines."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def excerpt(self, file: str, line: int, fact: str, value: str) -> Excerpt | None:
        """The line, with the part that states the fact; None where it cannot be shown."""
        lines = self._lines(file)
        if not 0 < line <= len(lines):
            return None
        text = _CREDENTIALS.sub("***@", lines[line - 1].expandtabs(_TAB)).strip()
        found = printable(text)
        if not found:
            return None
        start, end = _part(found, fact, value)
        return Excerpt(found, start, end)

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            try:
                data = read_bounded(Path(file), _MOST)
            except UnreadableError:
                data = b""
            encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
            self._files[file] = data.decode(encoding, errors="replace").split("\n")
        return self._files[file]


def _part(text: str, fact: str, value: str) -> tuple[int, int]:
    """The columns of a fact's statement in a line: a package with its release, else all but a comment."""
    if fact.startswith("packages."):
        name = r"[-_.]+".join(map(re.escape, re.split(r"[-_.]+", fact.removeprefix("packages."))))
        stated = re.search(rf"(?<![\w.-])({name})(?:{_STATED}|(?![\w-]))", text, re.IGNORECASE)
        if stated is not None:
            return stated.start(), _closed(text, stated.start(), stated.end())
        stated = re.search(rf"(?<![\w.]){re.escape(value)}(?![\w])", text) if value else None
        if stated is not None:
            return stated.span()
    return 0, len(_COMMENT.sub("", text)) or len(text)


def _closed(text: str, start: int, end: int) -> int:
    """Without a quote that was opened before the name."""
    return end - 1 if text[end - 1] in "'\"" and text[start:end].count(text[end - 1]) % 2 else end


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


__all__ = ["Excerpt", "Sources"]
