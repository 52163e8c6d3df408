"""The Python of a script or a notebook as one syntax tree, with the place that each line comes from."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from envdoctor.facts.fact import Origin, Skip
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.scripts.excerpts import Excerpt, read_excerpt
from envdoctor.syntax.parsing import SOURCE_LIMIT, NoPythonError, marks, parse_python, too_dense

# Cell magics whose cell is Python all the same.
_PYTHON_CELLS = frozenset(("capture", "time", "timeit", "prun", "python3", "skip"))
_SHELL_CELLS = frozenset(("bash", "sh", "shell", "script", "!"))
_LONGEST_PLACE = 4096


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A command that a notebook hands to a shell, or a line magic: ``pip install peft``. ``sure`` says that no ``if`` stands above it.

    ``cell`` is the line on which the cell begins that it is a line of, where that is a script of a shell's; 0 for all others.
    """

    text: str
    line: int
    sure: bool
    cell: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of Python that is parsed by itself: a file, or the cell of that number. ``lines`` are those of its lines in the file."""

    text: str
    lines: tuple[int, ...] | None = None
    cell: int | None = None


@dataclass(slots=True)
class Source:
    """Trees of all pieces in one, lines counted through; ``origin`` and ``place`` tell where a line stands."""

    path: str
    body: list[ast.stmt] = field(default_factory=list)
    shell: list[ShellLine] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    text: str = ""
    # A part of it was no Python, so that what it does not show is not known.
    cut: bool = False
    _starts: list[int] = field(default_factory=list)
    _pieces: list[Piece] = field(default_factory=list)

    def origin(self, line: int, said: str = "") -> Origin:
        """The origin of what stands on a line; ``said`` replaces the name of the source."""
        place = plain(self.path, _LONGEST_PLACE)
        piece, number = self._find(line)
        told = f"{place}, code cell {piece.cell}, line {number}" if piece.cell else place
        return Origin(said or told, place, self._in_file(piece, number))

    def place(self, line: int) -> str:
        """A line as a person would look it up: ``train.py:12``, ``train.ipynb, code cell 3, line 2``."""
        place = plain(self.path, _LONGEST_PLACE)
        piece, number = self._find(line)
        return f"{place}, code cell {piece.cell}, line {number}" if piece.cell else f"{place}:{number}"

    def short(self, line: int) -> str:
        """The place of a line inside the file."""
        piece, number = self._find(line)
        return f"code cell {piece.cell}, line {number}" if piece.cell else f"line {number}"

    def places(self) -> list[list[object]]:
        """Where each piece begins, its cell and its lines in the file: all that the place of a line needs."""
        return [[start, piece.cell, piece.lines] for start, piece in zip(self._starts, self._pieces, strict=True)]

    @classmethod
    def at(cls, path: str, body: list[ast.stmt], places: Sequence[Sequence[Any]]) -> Source:
        """A file of which a part of the tree is known, and where its lines stand."""
        pieces = [Piece("", None if lines is None else tuple(lines), cell) for _, cell, lines in places]
        return cls(path, body, _starts=[row[0] for row in places], _pieces=pieces)

    def _find(self, line: int) -> tuple[Piece, int]:
        index = max(bisect_right(self._starts, line) - 1, 0)
        return self._pieces[index], line - self._starts[index] + 1

    def _in_file(self, piece: Piece, number: int) -> int:
        return number if piece.lines is None else piece.lines[min(max(number, 1), len(piece.lines)) - 1] if piece.lines else 1


def read_pieces(path: str, pieces: list[Piece]) -> Source:
    """Parse the pieces one by one; one that is no Python of this interpreter's release is a skip and does not hide the others."""
    source = Source(path)
    start, seen, texts = 1, 0, []
    for piece in pieces:
        data = piece.text.encode("utf-8", "surrogatepass")
        source._starts.append(start)
        source._pieces.append(piece)
        if len(data) > SOURCE_LIMIT or too_dense(data, seen):
            source.skips.append(Skip(_whole(source, piece), "not parsed: too much code for one script", lost=True))
        else:
            seen += marks(data)
            _parse(source, piece, start)
            texts.append(piece.text)
        start += piece.text.count("\n") + 1
    source.text = "\n".join(texts)
    return source


def _whole(source: Source, piece: Piece) -> str:
    place = plain(source.path, _LONGEST_PLACE)
    return f"{place}, code cell {piece.cell}" if piece.cell else place


def _parse(source: Source, piece: Piece, start: int) -> None:
    tree, error = _tree(piece.text)
    excerpt: Excerpt | None = None
    if tree is None:
        text, shell, why = _without_magics(piece.text)
        if why is not None:
            source.skips.append(Skip(_whole(source, piece), why, lost=True))
            return
        tree, _ = _tree(text) if shell else (None, None)
        excerpt = read_excerpt(text) if tree is None else None
        if tree is not None or excerpt is not None:
            for line in shell:
                source.shell.append(replace(line, line=start + line.line - 1, cell=start + line.cell - 1 if line.cell else 0))
    if tree is None:
        what = source.place(start + error.line - 1) if error.line else _whole(source, piece)
        told = "" if excerpt is None else "; the statements that are whole were read"
        source.skips.append(Skip(what, plain(f"no Python 3 that can be parsed: {error.found}") + told, lost=not piece.cell))
        if excerpt is None:
            return
        tree, source.cut = excerpt.tree, True
    if start > 1:
        ast.increment_lineno(tree, start - 1)
    source.body += tree.body


def _tree(text: str) -> tuple[ast.Module | None, NoPythonError]:
    try:
        return parse_python(text), NoPythonError("")
    except NoPythonError as error:
        return None, error


def _without_magics(text: str) -> tuple[str, list[ShellLine], str | None]:
    """The text with what IPython alone understands taken out, line by line; the commands taken out; why it is no Python at all."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    shell: list[ShellLine] = []
    if lines[first].startswith("%%"):
        magic = lines[first][2:].split(maxsplit=1)[0] if lines[first][2:].strip() else ""
        if magic in _SHELL_CELLS:
            rows = [(number, line.strip()) for number, line in enumerate(lines) if number > first]
            return "", [ShellLine(row, number + 1, True, first + 1) for number, row in rows if row], None
        if magic not in _PYTHON_CELLS:
            return "", [], plain(f"a cell of %%{magic}: no Python of the notebook's own")
        lines[first] = ""
        shell.append(ShellLine("", first + 1, True))
    number = 0
    while number < len(lines):
        line = lines[number]
        bare = line.lstrip()
        assigned = re.match(r"\s*[\w, ]{1,80}=\s*[!%]", line)
        if bare[:1] in ("!", "%", "?") or assigned or (bare.endswith("?") and not bare.startswith("#")):
            indent = line[: len(line) - len(bare)]
            whole, last = bare, number
            while whole.endswith("\\") and last + 1 < len(lines):
                last += 1
                whole = whole[:-1] + " " + lines[last].strip()
                lines[last] = ""
            shell.append(ShellLine(whole.strip(), number + 1, not indent))
            lines[number] = f"{line[: line.index('=')]}= __shell__()" if assigned else f"{indent}pass"
            number = last
        number += 1
    return "\n".join(lines), shell, None
