"""Where the statements of a requirements file stand in its text: the same lines that are read of it, each with its place."""

from __future__ import annotations

import os
import os.path
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.edits.specifier import Written, written
from envdoctor.edits.splice import Document, document_of, newline_of
from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.declared.requirement_options import UnknownOptionError, options_of, split_options
from envdoctor.sources.declared.requirement_text import MOST_BYTES

_MOST_INCLUDES = 50
MOST_LINES = 20_000
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_COMMENT_LINE = re.compile(r"\s*#")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
_HASH = re.compile(r"--hash(?:=|\s+)\S+")
# A symbolic link that git wrote as text, where links cannot be made.
_LINK = re.compile(r"[^\s:#=<>~!;\\\0]{1,400}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Placed:
    """A logical line: its text, without comment, and the offsets in the file that its pieces came from.

    ``start`` and ``end`` enclose all of its physical lines, the last one's end with them.
    """

    number: int
    text: str
    pieces: tuple[tuple[int, int], ...]
    start: int
    end: int

    def at(self, index: int) -> int:
        """The offset in the file of a character of the text."""
        before = [piece for piece in self.pieces if piece[0] <= index]
        first, offset = before[-1] if before else self.pieces[0]
        return offset + index - first

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the text stands in the file; an empty one stands behind the character before it."""
        if start == end:
            place = self.at(start - 1) + 1 if start else self.at(0)
            return place, place
        return self.at(start), self.at(end - 1) + 1


@dataclass(frozen=True, slots=True)
class Statement:
    """One requirement in a file. ``hashes`` are the spans, within the line's text, of its ``--hash`` options."""

    line: Placed
    requirement: Written
    expanded: Written
    hashes: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        return self.expanded.name


@dataclass(slots=True)
class RequirementsFile:
    """One file of a tree: what it states, and what it says of indexes and hashes.

    ``linked`` is the file that is read in its place, where it is a link written as text.
    """

    path: Path
    before: bytes
    document: Document
    constraint: bool
    statements: list[Statement] = field(default_factory=list)
    indexes: set[str] = field(default_factory=set)
    includes: list[tuple[str, bool]] = field(default_factory=list)
    no_index: bool = False
    hashing: bool = False
    linked: bool = False
    lines: int = 0

    @property
    def newline(self) -> str:
        return newline_of(self.document.text)


def read_file(path: Path, *, constraint: bool = False) -> RequirementsFile:
    """One file, without those that it includes.

    Raises:
        EnvdoctorError: it cannot be read, or not be written back.
    """
    place = plain(str(path), 4096)
    try:
        data = read_bounded(path, MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a readable requirements file", next_step="check the path") from None
    return understood(path, data, document_of(data, place), constraint=constraint)


def understood(path: Path, data: bytes, document: Document, *, constraint: bool = False) -> RequirementsFile:
    """What the text of a file states."""
    file = RequirementsFile(path, data, document, constraint)
    text = document.text
    if _LINK.fullmatch(text) and (text.endswith((".txt", ".in", ".pip")) or "/" in text):
        file.linked = True
        file.includes.append((text, constraint))
        return file
    for line in placed_lines(text):
        file.lines += 1
        if file.lines > MOST_LINES:
            break
        _understand(line, file)
    return file


def read_tree(path: Path) -> list[RequirementsFile]:
    """A file and all that it includes, in the order in which they are met; what is not there is passed over.

    Raises:
        EnvdoctorError: the first of them cannot be read, or not be written back.
    """
    first = read_file(path)
    found = {str(real_path(path)): first}
    waiting = [first]
    while waiting:
        file = waiting.pop(0)
        for name, constraint in file.includes:
            target = file.path.parent / name
            identity = str(real_path(target))
            known = found.get(identity)
            if known is not None:
                if known.constraint and not constraint:
                    known.constraint = False
                    waiting.append(known)
            elif len(found) < _MOST_INCLUDES:
                try:
                    found[identity] = read_file(target, constraint=constraint)
                except EnvdoctorError:
                    continue
                waiting.append(found[identity])
    return list(found.values())


def placed_lines(text: str) -> Iterator[Placed]:
    r"""The logical lines of a text as pip joins them over a ``\``, each with its places; empty ones are left out."""
    pending: list[tuple[str, int]] = []
    first = start = at = 0
    for number, (line, kept) in enumerate(zip(text.splitlines(), text.splitlines(keepends=True), strict=True), start=1):
        offset, at = at, at + len(kept)
        comment = _COMMENT_LINE.match(line) is not None
        if not pending:
            first, start = number, offset
        if line.endswith("\\") and not comment:
            bare = line.lstrip("\\")
            pending.append((bare.rstrip("\\"), offset + len(line) - len(bare)))
            continue
        pieces = [*pending, (" ", offset), (line, offset)] if pending and comment else [*pending, (line, offset)]
        pending = []
        yield from _placed(pieces, first, start, at)
    if pending:
        yield from _placed(pending, first, start, at)


def _placed(pieces: list[tuple[str, int]], number: int, start: int, end: int) -> Iterator[Placed]:
    joined = "".join(piece for piece, _ in pieces)
    bare = _COMMENT.sub("", joined) if "#" in joined else joined
    text = bare.strip()
    if not text:
        return
    lead = len(bare) - len(bare.lstrip())
    places: list[tuple[int, int]] = []
    at = -lead
    for piece, offset in pieces:
        if piece:
            places.append((at, offset))
        at += len(piece)
    yield Placed(number, text, tuple(places), start, end)


def _understand(line: Placed, file: RequirementsFile) -> None:
    text, rest = split_options(line.text)
    if text:
        if text.strip().rstrip(";").strip():
            _state(line, text, rest, file)
        return
    try:
        options = tuple(options_of(rest))
    except UnknownOptionError:
        return
    for option in options:
        if option.name in ("requirement", "constraint"):
            name = expanded(option.value, os.environ)
            if "\0" not in name and not re.match(r"https?://", name):
                file.includes.append((name.removeprefix("file://"), option.name == "constraint"))
        elif option.name in ("index-url", "extra-index-url", "find-links"):
            file.indexes.add(option.value.rstrip("/"))
        elif option.name == "no-index":
            file.no_index = True
        elif option.name == "require-hashes":
            file.hashing = True
        elif option.name == "editable":
            stated = written(option.value)
            if stated is not None and stated.direct:
                file.statements.append(Statement(line, stated, stated))


def _state(line: Placed, text: str, rest: str, file: RequirementsFile) -> None:
    start = len(line.text) - len(rest)
    hashes = tuple((start + found.start(), start + found.end()) for found in _HASH.finditer(rest))
    file.hashing = file.hashing or bool(hashes)
    stated = written(text)
    meant = written(expanded(text, os.environ)) if "${" in text and "://" not in text else stated
    if meant is not None:
        file.statements.append(Statement(line, stated or meant, meant, hashes))


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with the variables that pip puts in; one that is not set stays."""
    return _VARIABLE.sub(lambda found: environment.get(found[1]) or found[0], text) if "${" in text else text


__all__ = ["MOST_LINES", "Placed", "RequirementsFile", "Statement", "expanded", "placed_lines", "read_file", "read_tree", "understood"]
