"""A record is what the standard library's dataclass of the same definition is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor import records

NAMES = ("name", "value", "origin", "line")
VALUES = st.one_of(st.integers(-2, 2), st.booleans(), st.text("ab", max_size=2), st.just(()))
DEFAULTS = st.sampled_from(("none", "plain", "factory", "hidden", "apart"))
OPTIONS = st.sampled_from(({"frozen": True}, {}, {"frozen": True, "eq": False}, {"eq": False}))


def made(dataclass: Any, field: Any, kinds: list[str], options: dict[str, bool], *, methods: bool = False) -> Any:
    """The same class by either way: fields without a value first."""
    namespace: dict[str, Any] = {
        "__annotations__": dict.fromkeys(NAMES[: len(kinds)], "object"),
        "__doc__": "A class.",
        "__qualname__": "One",
    }
    for name, kind in zip(NAMES, sorted(kinds, key=lambda kind: kind != "none"), strict=False):
        if kind != "none":
            namespace[name] = {
                "plain": 7, "factory": field(default_factory=list), "hidden": field(default=1, repr=False, compare=False),
                "apart": field(init=False, default=0),
            }[kind]  # fmt: skip
    return dataclass(slots=True, **options)(type("One", (), namespace))


def outcome(function: Any, *args: Any, **named: Any) -> Any:
    try:
        return function(*args, **named)
    except (TypeError, ValueError):
        return TypeError


GIVEN = st.dictionaries(st.sampled_from((*NAMES, "else")), VALUES)


@given(st.lists(DEFAULTS, max_size=4), OPTIONS, st.lists(VALUES, max_size=5), GIVEN, GIVEN)
def test_it_is_made_shown_and_compared_alike(
    kinds: list[str], options: dict[str, bool], args: list[object], named: dict[str, object], changes: dict[str, object]
) -> None:
    one, other = (made(way.dataclass, way.field, kinds, options) for way in (records, dataclasses))
    first, second = outcome(one, *args, **named), outcome(other, *args, **named)
    assert repr(first) == repr(second)
    if isinstance(first, type):
        return
    assert first != second
    assert (outcome(hash, first) is TypeError) == (outcome(hash, second) is TypeError)
    if options == {"frozen": True} and outcome(hash, first) is not TypeError:
        assert hash(first) == hash(copy.copy(first))
    changed, by_library = outcome(records.replace, first, **changes), outcome(dataclasses.replace, second, **changes)
    assert repr(changed) == repr(by_library) == repr(outcome(dataclasses.replace, first, **changes))
    assert (changed == first) is (by_library == second)


@given(st.lists(DEFAULTS, min_size=1, max_size=4), OPTIONS)
def test_it_has_the_same_fields_slots_and_parameters(kinds: list[str], options: dict[str, bool]) -> None:
    one, other = (made(way.dataclass, way.field, kinds, options) for way in (records, dataclasses))
    told = [[(f.name, f.init, f.repr, f.compare) for f in dataclasses.fields(cls)] for cls in (one, other)]
    assert told[0] == told[1]
    for name in ("__slots__", "__match_args__", "__doc__", "__qualname__"):
        assert getattr(one, name) == getattr(other, name)


@records.dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 0

    def moved(self) -> Point:
        return records.replace(self, x=self.x + 1)


@records.dataclass(frozen=True, slots=True)
class Marked(Point):
    mark: str = ""


@records.dataclass(slots=True)
class Open:
    things: list[int] = records.field(default_factory=list)
    total: int = records.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.total = sum(self.things)


def test_a_frozen_one_is_not_changed() -> None:
    point: Any = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.y
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.z = 3
    assert point == Point(1, 0)


def test_one_that_is_not_frozen_is_changed_and_has_no_hash() -> None:
    one = Open([1, 2])
    one.things.append(3)
    one.total = 6
    assert (one, one.total, Open().things) == (Open([1, 2, 3]), 6, [])
    with pytest.raises(TypeError):
        hash(one)


def test_fields_are_inherited_and_classes_told_apart() -> None:
    assert repr(Marked(1, mark="a")) == "Marked(x=1, y=0, mark='a')"
    assert Marked(1) != Point(1)
    assert Marked(1).moved() == Marked(2)
    assert vars(Marked)["__slots__"] == ("mark",)


def test_the_library_and_copies_know_it() -> None:
    point = Marked(1, 2, "b")
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "mark": "b"}
    assert dataclasses.is_dataclass(point)
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point
        assert other is not point
    match point:
        case Marked(1, y, mark="b"):
            assert y == 2
        case _:
            raise AssertionError("no match")


def test_the_library_knows_one_whose_default_has_no_hash() -> None:
    @records.dataclass(frozen=True, slots=True)
    class Shelf:
        by_name: Mapping[str, int] = MappingProxyType({})

    assert [field.name for field in dataclasses.fields(Shelf({"a": 1}))] == ["by_name"]
    assert dataclasses.replace(Shelf({"a": 1}), by_name={"b": 2}) == Shelf({"b": 2})


def test_nothing_is_imported_for_it() -> None:
    code = "import sys; from envdoctor.records import dataclass; print({'dataclasses', 'inspect'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
