"""Renames in somebody's own Python: keywords of calls, and the modules that names are imported from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from envdoctor.atlas.renames import Rename
from envdoctor.edits.edit import Edited
from envdoctor.edits.splice import Document, Splice, document_of, newline_of, spliced
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.syntax.parsing import NoPythonError, parse_python

_LARGEST = 4 * 2**20
_LINE = re.compile(r"\r\n|\r|\n")


def edit_code(path: Path, renames: Iterable[Rename]) -> tuple[Edited, tuple[Rename, ...]] | None:
    """A file with those renames that can be made without a doubt, and which these are; None for one that cannot be written back."""
    try:
        data = read_bounded(path, _LARGEST)
    except UnreadableError:
        return None
    document = document_of(data, str(path))
    text = document.text
    done: list[Rename] = []
    # From below, so that the lines above stay where they are.
    for one in sorted(renames, key=lambda rename: -rename.line):
        changed = renamed_text(text, one)
        if changed is not None:
            text = changed
            done.append(one)
    return Edited(path, data, _encoded(document, text), lines=tuple(sorted({one.line for one in done}))), tuple(done)


def _encoded(document: Document, text: str) -> bytes:
    return document.encoded(text)


def renamed_text(text: str, rename: Rename) -> str | None:
    """The text with one rename; None where it does not show where, or would not be Python any more."""
    tree = _parsed(text)
    if tree is None:
        return None
    splices = _imports(text, tree, rename) if rename.name else _keywords(text, tree, rename)
    changed = spliced(text, splices) if splices else text
    return changed if splices and _parsed(changed) is not None else None


def _parsed(text: str) -> ast.Module | None:
    try:
        return parse_python(text)
    except NoPythonError:
        return None


class _Places:
    """Offsets in a text of what a tree tells by line and by bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in _LINE.finditer(text))]

    def at(self, line: int, column: int) -> int:
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return start + len(self.text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))

    def start(self, node: ast.alias | ast.keyword | ast.stmt) -> int:
        return self.at(node.lineno, node.col_offset)

    def end(self, node: ast.alias | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.end_lineno, node.end_col_offset)


def _keywords(text: str, tree: ast.Module, rename: Rename) -> list[Splice]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.lineno == rename.line]
    found = [(call, item) for call in calls for item in call.keywords if item.arg == rename.old]
    if len(found) != 1 or any(item.arg == rename.new for item in found[0][0].keywords):
        return []
    start = _Places(text).start(found[0][1])
    return [Splice(start, start + len(rename.old), rename.new)] if text.startswith(rename.old, start) else []


def _imports(text: str, tree: ast.Module, rename: Rename) -> list[Splice]:
    found = [
        (node, alias)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.lineno == rename.line and not node.level and node.module == rename.old
        for alias in node.names
        if alias.name == rename.name
    ]
    if len(found) != 1:
        return []
    node, alias = found[0]
    places = _Places(text)
    start = places.start(node)
    if len(node.names) == 1:
        head = re.compile(rf"from[ \t]+({re.escape(rename.old)})(?![\w.])").match(text, start)
        return [] if head is None else [Splice(head.start(1), head.end(1), rename.new)]
    return _moved(text, places, node, alias, rename)


def _moved(text: str, places: _Places, node: ast.ImportFrom, alias: ast.alias, rename: Rename) -> list[Splice]:
    """One of several names of a statement in a statement of its own below it."""
    at = node.names.index(alias)
    start, end = places.start(node), places.end(node)
    indent = text[places.starts[node.lineno - 1] : start]
    rest = _LINE.split(text[end:], maxsplit=1)[0]
    if at + 1 < len(node.names):
        gap = (places.start(alias), places.start(node.names[at + 1]))
    else:
        gap = (places.end(node.names[at - 1]), places.end(alias))
    if indent.strip() or (rest.strip() and not rest.lstrip().startswith("#")) or "#" in text[slice(*gap)] or "\\" in text[start:end]:
        return []
    newline = newline_of(text)
    name = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    return [Splice(*gap, ""), Splice(end + len(rest), end + len(rest), f"{newline}{indent}from {rename.new} import {name}")]
