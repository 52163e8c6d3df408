"""A TOML file under change: an entry set, taken out or added, all other bytes as they were, and the parsed value held against it."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path as FilePath
from typing import Any

from envdoctor.edits.draft import Draft
from envdoctor.edits.edit import RefusedError
from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml
from envdoctor.files.toml_spans import BLANK, Path, Spans, toml_spans
from envdoctor.sources.declared.toml_document import read_document

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]*")


class TomlDraft:
    """``table`` is what the file would say by now.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or no TOML.
    """

    def __init__(self, path: FilePath) -> None:
        document = read_document(path)
        self.path = path
        self.before = path.read_bytes()
        self.draft = Draft(self.before, str(path))
        self.table: dict[str, Any] = dict(document.table)
        if self.draft.text != document.text:
            raise EnvdoctorError(str(path), found="a file that changes while it is read", expected="a file at rest", next_step="try again")

    def copy(self) -> TomlDraft:
        other = object.__new__(TomlDraft)
        other.path, other.before = self.path, self.before
        other.draft, other.table = self.draft.copy(), copy.deepcopy(self.table)
        return other

    def verify(self) -> None:
        """Hold the text against what it is to say.

        Raises:
            RefusedError: it is no TOML, or says something else.
        """
        try:
            said: object = parse_toml(self.draft.encoded(), str(self.path)) if self.draft.lines else self.table
        except EnvdoctorError:
            said = None
        if said != self.table:
            raise RefusedError("the file is written in a way that this change would damage")

    def get(self, *keys: str | int) -> Any:
        """The value at a path; None where nothing is."""
        value: Any = self.table
        for key in keys:
            listed = isinstance(value, list) and isinstance(key, int) and key < len(value)
            if not listed and not (isinstance(value, dict) and key in value):
                return None
            value = value[key]
        return value

    def line(self, path: Path) -> int:
        """The line that a key or item has in the original."""
        spans = toml_spans(self.draft.text)
        span = spans.keys.get(path) or spans.values.get(path) or spans.headers.get(path) or (0, 0)
        return self.draft.line_of(span[0])

    def set(self, path: Path, text: str) -> None:
        """Put a text in the place of another, with its kind of quotes."""
        start, end = toml_spans(self.draft.text).values[path]
        self.draft.replace(start, end, _literal(text, self.draft.text[start:end]))
        self.get(*path[:-1])[path[-1]] = text

    def remove(self, path: Path) -> None:
        """Take an item out of an array, or a ``key = value`` out of its table, with its line where it has one of its own.

        Raises:
            RefusedError: it is a table with a header, or shares its line with other keys.
        """
        spans = toml_spans(self.draft.text)
        if isinstance(path[-1], int) and path in spans.values:
            self._remove_item(path, spans)
        elif path in spans.keys and path in spans.values:
            self._remove_key(path, spans)
        else:
            raise RefusedError(f"line {self.line(path)}: a table of its own, which is to be taken out by hand")
        del self.get(*path[:-1])[path[-1]]

    def _remove_item(self, path: Path, spans: Spans) -> None:
        draft, text = self.draft, self.draft.text
        items, place = spans.items(path[:-1]), int(path[-1])
        start, end = items[place]
        comma = self._comma_after(end)
        line = draft.line_start(start)
        behind = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\r?\n)").match(text, comma or end)
        # A comma may also lead the line of what follows it.
        if behind and (not text[line:start].strip() or (text[line:start].strip() == "," and not comma)):
            draft.replace(line, behind.end(), "")
        elif place + 1 < len(items) and comma:
            following = items[place + 1][0]
            between = text[comma:following]
            draft.replace(start, following if not between.strip() and "\n" not in between else comma, "")
        elif place and not text[items[place - 1][1] : start].replace(",", "").strip():
            draft.replace(items[place - 1][1], end, "")
        else:
            opening, closing = spans.values[path[:-1]]
            alone = len(items) == 1 and not (text[opening + 1 : start] + text[comma or end : closing - 1]).strip()
            draft.replace(*((opening + 1, closing - 1) if alone else (start, comma or end)), "")

    def _remove_key(self, path: Path, spans: Spans) -> None:
        draft, text = self.draft, self.draft.text
        start, end = spans.keys[path][0], spans.values[path][1]
        line = draft.line_start(start)
        behind = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)").match(text, end)
        if text[line:start].strip() or behind is None:
            raise RefusedError(f"line {self.line(path)}: it shares its line with other keys; take it out by hand")
        draft.replace(line, behind.end(), "")

    def _comma_after(self, at: int) -> int:
        """Where the comma behind an item ends; 0 where none is."""
        match = BLANK.match(self.draft.text, at)
        at = match.end() if match else at
        return at + 1 if self.draft.text.startswith(",", at) else 0

    def append(self, path: Path, text: str) -> None:
        """Add a text to an array in the style of its entries: one a line, or all on one."""
        spans = toml_spans(self.draft.text)
        opening, closing = spans.values[path]
        items = spans.items(path)
        if items:
            self._append_after(items, (opening, closing), text)
        else:
            inner = self.draft.text[opening + 1 : closing - 1]
            newline = self.draft.newline
            indent = re.match(r"[ \t]*", self.draft.text[self.draft.line_start(opening) :])
            if "\n" in inner:
                self.draft.replace(opening + 1, opening + 1, f"{newline}{indent[0] if indent else ''}    {_literal(text, chr(34))},")
            else:
                self.draft.replace(opening + 1, closing - 1, _literal(text, '"'))
        self.get(*path).append(text)

    def _append_after(self, items: list[tuple[int, int]], around: tuple[int, int], new: str) -> None:
        draft, text = self.draft, self.draft.text
        start, end = items[-1]
        literal = _literal(new, text[start:end])
        comma = self._comma_after(end)
        own_line = not text[draft.line_start(start) : start].strip()
        if not own_line:
            leads = re.fullmatch(r"[ \t]*,[ \t]*", text[draft.line_start(start) : start]) if not comma else None
            gap = f"{draft.newline}{leads[0]}" if leads else ", "
            draft.replace(comma or end, comma or end, f" {literal}," if comma else f"{gap}{literal}")
            return
        indent = text[draft.line_start(start) : start]
        trailing = "," if comma else ""
        rest = draft.line_end(comma or end)
        if rest < around[1]:  # the array goes on below: the new line comes behind the comment of this one
            draft.replace(rest, rest, f"{draft.newline}{indent}{literal}{trailing}")
            if not comma:
                draft.replace(end, end, ",")
        else:
            draft.replace(comma or end, comma or end, f"{'' if comma else ','}{draft.newline}{indent}{literal}{trailing}")

    def add(self, table: Path, key: str, value: str | list[str], after: str = "") -> None:
        """Add ``key = value`` at the end of a table with a header, or behind one of its keys.

        Raises:
            RefusedError: the table has no header of its own.
        """
        spans = toml_spans(self.draft.text)
        if table not in spans.ends or (table and table not in spans.headers):
            raise RefusedError(f"[{'.'.join(map(str, table))}] is not written as a table")
        beside = spans.values.get((*table, after)) if after else None
        at = beside[1] if beside is not None else spans.ends[table]
        siblings = [span for path, span in spans.keys.items() if path[:-1] == table and len(path) == len(table) + 1]
        last = siblings[-1][0] if siblings else 0
        indent = self.draft.text[self.draft.line_start(last) : last] if siblings else ""
        written = key if _BARE.fullmatch(key) else json.dumps(key)
        quote = '"'
        if siblings and self.draft.text[at - 1 : at] == "'":
            quote = "'"
        told = _literal(value, quote) if isinstance(value, str) else f"[{', '.join(_literal(item, quote) for item in value)}]"
        end = self.draft.line_end(at)
        self.draft.replace(end, end, f"{self.draft.newline}{indent if not indent.strip() else ''}{written} = {told}")
        self.get(*table)[key] = value


def _literal(text: str, like: str) -> str:
    """A TOML string in the quotes of another, where the text may stand in them."""
    quote = next((mark for mark in ('"""', "'''", '"', "'") if like.startswith(mark)), '"')
    if quote[0] == "'" and "'" not in text and _PLAIN.fullmatch(text):
        return f"{quote}{text}{quote}"
    if quote[0] == "'":
        quote = '"'
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
    return f"{quote}{escaped}{quote}"


__all__ = ["TomlDraft"]
