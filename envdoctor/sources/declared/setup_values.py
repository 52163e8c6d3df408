"""What can be known of a value in a ``setup.py`` that is not run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from envdoctor.records import dataclass

Value: TypeAlias = "bool | int | str | list[Value] | tuple[Value, ...] | dict[str, Value] | Unknown | Opened | ast.FunctionDef | None"


class Told(str):
    """A text of the file, with the line on which it stands."""

    __slots__ = ("line",)
    line: int

    def __new__(cls, text: str, line: int) -> Told:
        told = super().__new__(cls, text)
        told.line = line
        return told


@dataclass(frozen=True, slots=True)
class Unknown:
    """What only running the file would tell."""

    line: int
    why: str = "made when the file runs"


@dataclass(frozen=True, slots=True)
class Opened:
    """The lines of a file that is named by a literal."""

    name: str
    line: int


class Script(Protocol):
    """What reads a file: its names so far, and the value of an expression."""

    opened: list[Opened]

    def value(self, node: ast.expr) -> Value: ...

    def items(self, value: Value) -> list[Value] | None:
        """What a loop over a value would see; None where that is not known."""

    def spread(self, value: Value, line: int) -> list[Value]:
        """The items of a value within another list; one that is not known, where they are not."""

    def returned(self, function: ast.FunctionDef, arguments: dict[str, Value]) -> Value:
        """What a function of the file returns."""

    def bounded(self, items: Sequence[Value]) -> list[Value]: ...
