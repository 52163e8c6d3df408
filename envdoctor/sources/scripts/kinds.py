"""What a value of a script can be."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from envdoctor.records import dataclass
from envdoctor.sources.scripts.outline import Scope


@dataclass(frozen=True, slots=True)
class Symbol:
    """An object of a library: ``torch.float16``, ``transformers.IntervalStrategy.NO``."""

    name: str

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What a call of a class makes: its dotted name, the call, and where that stands."""

    kind: str
    call: ast.Call
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A dict whose keys are known text. ``whole`` says that nothing else can be in it; ``chosen`` are keys of some releases alone."""

    entries: Mapping[str, tuple[ast.expr | None, Scope]]
    whole: bool
    chosen: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """A value. ``default`` names the setting of the command line whose default it is, written on ``line``; ``fetched`` says that what
    stands there is the folder into which a repository of this name was downloaded."""

    value: object
    default: str = ""
    line: int | None = None
    fetched: bool = False


def same_value(one: Known | None, other: Known | None) -> bool:
    """Whether two values are one: True is not 1, and what one call makes is one object."""
    if one is None or other is None:
        return False
    if isinstance(one.value, Made) and isinstance(other.value, Made):
        return one.value.call is other.value.call
    return type(one.value) is type(other.value) and one.value == other.value


def joined(value: object, one: Known, other: Known) -> Known:
    chosen = one if one.default else other
    return Known(value, chosen.default, chosen.line)
