"""A plan file in JSON or YAML, with the line of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.jsonfile import JsonError, UnreadableError, line_of_key, parse_json, plain, read_bounded

# A training plan is a page of text; YAML's parser needs about a second for each of these.
PLAN_LIMIT = 2**20
_DEPTH = 3
_DEEPEST = 100
_EXPECTED = "a mapping of settings in JSON or YAML"


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What a file says. ``value`` is whatever the document is; ``lines`` are those of YAML keys by their path."""

    value: object
    text: str
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def line_of(self, *keys: str) -> int | None:
        """The line, from 1, of the setting at a path of keys."""
        return self.lines.get(keys) if self.lines else line_of_key(self.text, keys[-1])


def read_plan(path: Path) -> PlanFile:
    """Read a plan file; ``.json`` as JSON, everything else as YAML.

    Raises:
        EnvdoctorError: unreadable, empty, or of no such syntax, with line and column.
    """
    place = plain(str(path))
    try:
        data = read_bounded(path, PLAN_LIMIT)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected=_EXPECTED, next_step="check the path") from None
    if not data.strip():
        raise EnvdoctorError(place, found="an empty file", expected=_EXPECTED, next_step="give the plan that the run uses")
    return _json(data, place) if path.suffix.lower() == ".json" else _yaml(data, place)


def _json(data: bytes, place: str) -> PlanFile:
    try:
        document = parse_json(data)
    except JsonError as error:
        raise _syntax(place, error.line, error.column, error.found, error.expected) from None
    return PlanFile(document.value, document.text)


def _syntax(place: str, line: int, column: int, found: str, expected: str) -> EnvdoctorError:
    return EnvdoctorError(f"{place}, line {line}, column {column}", found=plain(found), expected=expected, next_step="correct the file")


def _yaml(data: bytes, place: str) -> PlanFile:
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _syntax(place, line, column, f"the byte 0x{data[error.start]:02x}, which is no UTF-8", "YAML in UTF-8") from None
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_depth(text, kind, place)
        loader = kind(text)
        node = loader.get_single_node()
        if node is None:
            raise EnvdoctorError(place, found="nothing but comments", expected=_EXPECTED, next_step="give the plan that the run uses")
        lines: dict[tuple[str, ...], int] = {}
        _mark(node, (), lines)
        value = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = (error.problem or "something that is no YAML").removeprefix("but ").removeprefix("found ")
        raise _syntax(place, line, column, problem, "YAML") from None
    except yaml.YAMLError as error:
        raise _syntax(place, 1, 1, getattr(error, "reason", None) or "something that is no YAML", "YAML") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        # A scalar whose explicit tag or form promises what it does not hold: !!int x, 2024-13-45.
        found = f"a value that cannot be what it claims to be ({type(error).__name__}: {error})"
        raise _syntax(place, 1, 1, found, "plain settings") from None
    return PlanFile(value, text, lines)


def _refuse_depth(text: str, loader: Any, place: str) -> None:
    """libyaml's composer is recursive in C and dies of a deep document; its parser is not."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                mark = event.start_mark
                line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
                raise _syntax(place, line, column, "lists or mappings nested too deeply", f"at most {_DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _mark(node: object, path: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> None:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            below = (*path, str(key.value))
            lines[below] = key.start_mark.line + 1
            if len(below) < _DEPTH:
                _mark(value, below, lines)
