"""Renames in the code cells of a notebook: one line of a cell in its JSON, and nothing else of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from envdoctor.atlas.renames import Rename
from envdoctor.edits.code import renamed_text
from envdoctor.edits.edit import Edited
from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import replace
from envdoctor.sources.scripts.notebook import read_cells

_LARGEST = 32 * 2**20


def edit_notebook(path: Path, renames: Iterable[Rename]) -> tuple[Edited, tuple[Rename, ...]] | None:
    """A notebook with those renames that stay within a line of a cell, and which these are; None for one that cannot be written back.

    Lines are counted through all code cells.
    """
    try:
        data = read_bounded(path, _LARGEST)
        text = data.decode("utf-8")
        cells = read_cells(data, str(path)) or []
    except (UnreadableError, UnicodeDecodeError, EnvdoctorError):
        return None
    sources = [cell.text for cell in cells]
    done: list[Rename] = []
    places: set[int] = set()
    for one in renames:
        index, number = _cell_of(sources, one.line)
        lines = cells[index].lines if cells else None
        changed = None if lines is None else renamed_text(sources[index], replace(one, line=number))
        if changed is None or lines is None:
            continue
        before, after = sources[index].split("\n"), changed.split("\n")
        differ = [at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
        if len(before) != len(after) or len(differ) != 1 or differ[0] >= len(lines):
            continue
        at = differ[0]
        written = _written(text, lines[at], before[at], after[at])
        expected = [*sources[:index], changed, *sources[index + 1 :]]
        if written is not None and _reads(written, path) == expected:
            text, sources = written, expected
            done.append(one)
            places.add(lines[at])
    return Edited(path, data, text.encode("utf-8"), lines=tuple(sorted(places))), tuple(done)


def _cell_of(sources: Sequence[str], line: int) -> tuple[int, int]:
    """The cell that a line is in, and which of its lines that is."""
    start = 1
    for index, source in enumerate(sources):
        length = source.count("\n") + 1
        if line < start + length:
            return index, line - start + 1
        start += length
    return max(len(sources) - 1, 0), 0


def _written(text: str, number: int, old: str, new: str) -> str | None:
    """The file with a line of a cell replaced, which stands once on a line of the file; None where it does not."""
    rows = text.split("\n")
    if not 1 <= number <= len(rows):
        return None
    for ascii_only in (False, True):
        spelled, instead = (json.dumps(one, ensure_ascii=ascii_only)[1:-1] for one in (old, new))
        found = list(re.finditer(rf'(?:(?<=")|(?<=\\n)){re.escape(spelled)}(?=\\n|")', rows[number - 1]))
        if len(found) == 1:
            rows[number - 1] = rows[number - 1][: found[0].start()] + instead + rows[number - 1][found[0].end() :]
            return "\n".join(rows)
    return None


def _reads(text: str, path: Path) -> list[str]:
    try:
        return [cell.text for cell in read_cells(text.encode("utf-8"), str(path)) or []]
    except EnvdoctorError:
        return []
