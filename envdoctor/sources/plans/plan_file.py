"""A plan file in JSON or YAML, with the line of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import JsonError, UnreadableError, line_of_key, parse_json, read_bounded
from envdoctor.files.text import plain
from envdoctor.files.yaml_nodes import NestedTooDeeplyError, refuse_depth, yaml_loader
from envdoctor.records import dataclass, field

# A training plan is a page of text; YAML's parser needs about a second for each of these.
PLAN_LIMIT = 2**20
_DEPTH = 3
_DEEPEST = 100
# A file in which everything is an alias of everything has more paths than lines.
_MOST_LINES = 50_000
_MOST_DOCUMENTS = 100
_EXPECTED = "a mapping of settings in JSON or YAML"
_NEXT = "give the plan that the run uses"


class Unresolved(str):
    """The text of a value that only another program can make: of a custom tag, or of a template."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What one document says. ``value`` is whatever it is; ``lines`` are those of keys by their path.

    ``whole`` is the line of what follows from all of it, where it is no file of its own: a command in a script.
    """

    value: object
    text: str
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    start: int = 1
    whole: int | None = None

    def line_of(self, *keys: str) -> int | None:
        """The line, from 1, of the setting at a path of keys."""
        return self.lines.get(keys) if self.lines else line_of_key(self.text, keys[-1])


@dataclass(frozen=True, slots=True)
class PlanText:
    """The documents of a file, and what in it only another program can read: lines, from 1, and reasons."""

    documents: tuple[PlanFile, ...]
    notes: tuple[tuple[int, str], ...] = ()


def read_plan(path: Path) -> PlanFile:
    """The first document of a plan file; ``.json`` as JSON, everything else as YAML.

    Raises:
        EnvdoctorError: unreadable, empty, or of no such syntax, with line and column.
    """
    read = read_documents(path)
    if not read.documents:
        line, why = read.notes[0]
        raise _syntax(plain(str(path)), line, 1, why, "YAML")
    return read.documents[0]


def read_documents(path: Path) -> PlanText:
    """All documents of a plan file: one of JSON, any number of YAML; none of a template that is no YAML yet.

    Raises:
        EnvdoctorError: unreadable, empty, or of no such syntax, with line and column.
    """
    place = plain(str(path))
    try:
        data = read_bounded(path, PLAN_LIMIT)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected=_EXPECTED, next_step="check the path") from None
    if not data.strip():
        raise EnvdoctorError(place, found="an empty file", expected=_EXPECTED, next_step=_NEXT)
    return PlanText((_json(data, place),)) if path.suffix.lower() == ".json" else _yaml(data, place)


def _json(data: bytes, place: str) -> PlanFile:
    try:
        document = parse_json(data)
    except JsonError as error:
        raise _syntax(place, error.line, error.column, error.found, error.expected) from None
    from envdoctor.files.json_spans import key_lines

    return PlanFile(document.value, document.text, key_lines(document.text, _DEPTH, _MOST_LINES))


def _syntax(place: str, line: int, column: int, found: str, expected: str) -> EnvdoctorError:
    return EnvdoctorError(f"{place}, line {line}, column {column}", found=plain(found), expected=expected, next_step="correct the file")


def _yaml(data: bytes, place: str) -> PlanText:
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _syntax(place, line, column, f"the byte 0x{data[error.start]:02x}, which is no UTF-8", "YAML in UTF-8") from None
    documents: list[PlanFile] = []
    notes: list[tuple[int, str]] = []
    try:
        refuse_depth(text, _DEEPEST)
        loader = yaml_loader()(text)
        rows = text.split("\n")
        while loader.check_node():
            if len(documents) == _MOST_DOCUMENTS:
                notes.append((documents[-1].start, f"more than {_MOST_DOCUMENTS} documents: the rest is not read"))
                break
            node: Any = loader.get_node()
            lines = _Lines()
            lines.mark(node, ())
            builder = _Builder(loader, rows)
            documents.append(PlanFile(builder.value(node), text, lines.found, node.start_mark.line + 1))
            notes += builder.notes
    except NestedTooDeeplyError as error:
        raise _syntax(place, error.line, error.column, str(error), f"at most {_DEEPEST} levels") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        if "{{" in text or "{%" in text:
            return PlanText((), ((line, "a template: no YAML before it is filled in"),))
        problem = (error.problem or "something that is no YAML").removeprefix("but ").removeprefix("found ")
        raise _syntax(place, line, column, problem, "YAML") from None
    except yaml.YAMLError as error:
        raise _syntax(place, 1, 1, getattr(error, "reason", None) or "something that is no YAML", "YAML") from None
    if not documents:
        raise EnvdoctorError(place, found="nothing but comments", expected=_EXPECTED, next_step=_NEXT)
    return PlanText(tuple(documents), tuple(notes))


_YAML = "tag:yaml.org,2002:"
_MERGE = f"{_YAML}merge"


class _Builder:
    """Plain values of one document's nodes.

    PyYAML's own constructor refuses a whole file for one tag that it does not know, and copies the
    settings of merge keys as often as they are merged.
    """

    def __init__(self, loader: Any, rows: list[str]) -> None:
        self._loader = loader
        self._rows = rows
        self._made: dict[int, object] = {}
        self._brought = 0
        self.notes: list[tuple[int, str]] = []

    def value(self, node: Any) -> object:
        # An alias is the node itself: what was made of it once is used again, also while it is being made.
        made = self._made.get(id(node))
        return self._make(node) if made is None else made

    def _make(self, node: Any) -> object:
        tag, kind = node.tag, node.id
        if kind == "scalar":
            return self._scalar(node)
        if kind == "sequence" and tag == f"{_YAML}seq":
            items: list[object] = []
            self._made[id(node)] = items
            items += [self.value(item) for item in node.value]
            return items
        if kind == "mapping" and tag == f"{_YAML}map" and not self._template(node):
            return self._mapping(node)
        made = Unresolved(plain(f"{self._shown(tag)} {self._written(node)}".strip()))
        self._made[id(node)] = made
        if tag not in (f"{_YAML}map", f"{_YAML}seq"):
            self._note(node, f"the tag {self._shown(tag)} is for another program: its value is unknown")
        return made

    def _mapping(self, node: Any) -> dict[object, object]:
        made: dict[object, object] = {}
        self._made[id(node)] = made
        own: dict[object, object] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged = self.value(value)
                for part in merged if isinstance(merged, list) else [merged]:
                    if isinstance(part, dict):
                        self._brought += len(part)
                        if self._brought > _MOST_LINES:
                            self._note(key, "more settings are merged than are read: they are unknown here")
                            break
                        for name, inner in list(part.items()):
                            made.setdefault(name, inner)
            elif key.id == "scalar":
                own[self._scalar(key)] = self.value(value)
            else:
                self._note(key, "a key that is no word: its setting is unknown")
        made.update(own)
        return made

    def _scalar(self, node: Any) -> object:
        tag = node.tag
        if tag == f"{_YAML}str":
            return str(node.value)
        kind = tag.removeprefix(_YAML)
        if kind in ("null", "bool", "int", "float"):
            try:
                value: object = self._loader.yaml_constructors[tag](self._loader, node)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                # An explicit tag promises what the text does not hold: !!int x.
                self._note(node, f"{plain(node.value, 40)} is no {kind}: the value is unknown")
                return Unresolved(plain(node.value))
            return value
        if kind in ("timestamp", "value", "merge"):
            return str(node.value)
        self._note(node, f"the tag {self._shown(tag)} is for another program: its value is unknown")
        return Unresolved(plain(f"{self._shown(tag)} {node.value}".strip()))

    @staticmethod
    def _shown(tag: str) -> str:
        return plain(f"!!{tag.removeprefix(_YAML)}" if tag.startswith(_YAML) else tag, 80)

    def _written(self, node: Any) -> str:
        """What a collection on one line looks like; of another, that there is more."""
        mark = node.start_mark
        return self._rows[mark.line][mark.column : mark.column + 200].strip() if node.flow_style and mark.line < len(self._rows) else "..."

    @staticmethod
    def _template(node: Any) -> bool:
        """``{{ name }}`` without quotes is a mapping whose key is a mapping."""
        return bool(node.flow_style) and len(node.value) == 1 and node.value[0][0].id == "mapping"

    def _note(self, node: Any, why: str) -> None:
        if len(self.notes) < 20:
            self.notes.append((node.start_mark.line + 1, why))


class _Lines:
    """The lines of the keys below a node; what a merge key brings in stands where it was first written."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, ...], int] = {}
        self._merged: set[tuple[int, tuple[str, ...]]] = set()
        self._looked = 0

    def mark(self, node: Any, path: tuple[str, ...], merging: bool = False) -> None:
        if node.id != "mapping":
            return
        for key, value in node.value:
            self._looked += 1
            if self._looked > _MOST_LINES:
                return
            if key.id != "scalar":
                continue
            if key.tag == _MERGE:
                for part in value.value if value.id == "sequence" else (value,):
                    if (id(part), path) not in self._merged:
                        self._merged.add((id(part), path))
                        self.mark(part, path, merging=True)
                continue
            below = (*path, str(key.value))
            if not merging or below not in self.found:
                self.found[below] = key.start_mark.line + 1
            if len(below) < _DEPTH:
                self.mark(value, below, merging)
