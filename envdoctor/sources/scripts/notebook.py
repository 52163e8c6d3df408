"""The code cells of a Jupyter notebook, each with the lines of the file that its lines stand on."""

from __future__ import annotations

import json
from collections.abc import Mapping

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import JsonError, parse_json
from envdoctor.files.text import plain
from envdoctor.sources.scripts.source import Piece

# A cell whose text is not found as it was written (escapes spelled otherwise) sends the search through the whole file.
_MOST_MISSES = 50


def read_cells(data: bytes, place: str) -> list[Piece] | None:
    """The code cells of nbformat 3 and 4; None for JSON that is no notebook.

    Raises:
        EnvdoctorError: no JSON.
    """
    try:
        document = parse_json(data)
    except JsonError as error:
        raise EnvdoctorError(
            f"{place}, line {error.line}, column {error.column}",
            found=plain(error.found),
            expected=plain(error.expected),
            next_step="save the notebook again",
        ) from None
    cells = _cells(document.value)
    if cells is None:
        return None
    pieces: list[Piece] = []
    finder = _Lines(document.text, old=isinstance(document.value, Mapping) and "worksheets" in document.value)
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        lines = _lines(source)
        found = finder.lines(source, len(lines))
        if cell.get("cell_type") == "code":
            pieces.append(Piece("\n".join(lines), tuple(found), len(pieces) + 1))
    return pieces


def _cells(notebook: object) -> list[Mapping[str, object]] | None:
    if not isinstance(notebook, Mapping):
        return None
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        sheets = notebook.get("worksheets")
        if not isinstance(sheets, list):
            return None
        cells = [cell for sheet in sheets if isinstance(sheet, Mapping) for cell in _listed(sheet.get("cells"))]
    return [cell for cell in cells if isinstance(cell, Mapping)]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _lines(source: object) -> list[str]:
    text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
    return text.split("\n") if isinstance(text, str) else [""]


class _Lines:
    """Finds in a notebook's text the lines that sources stand on, going forward only."""

    def __init__(self, text: str, *, old: bool) -> None:
        self.text = text
        self.old = old
        self.position = 0
        self.line = 1
        self.misses = 0
        self.escaped = False

    def lines(self, source: object, count: int) -> list[int]:
        """The line of the file for each line of a source; the nearest known one where it cannot be found."""
        parts = [part for part in source if isinstance(part, str)] if isinstance(source, list) else [source]
        found: list[int] = []
        self._go_to('"input"' if self.old else '"source"')
        for part in parts:
            if isinstance(part, str):
                self._go_to(json.dumps(part, ensure_ascii=self.escaped), part)
                found += [self.line] * (part.count("\n") + (not part.endswith("\n")))
        return (found + [self.line] * count)[:count]

    def _go_to(self, spelling: str, part: str = "") -> None:
        if self.misses >= _MOST_MISSES:
            return
        position = self.text.find(spelling, self.position)
        if position < 0 and not part.isascii():
            self.escaped = not self.escaped
            position = self.text.find(json.dumps(part, ensure_ascii=self.escaped), self.position)
        if position < 0:
            self.misses += 1
            return
        self.line += self.text.count("\n", self.position, position)
        self.position = position + 1
