"""Conditions over facts, three-valued.

A condition holds, fails, or cannot be told because a fact is missing (Kleene: and = min, or = max,
not = negate). Learning a fact never overturns a decided outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from envdoctor.facts.fact import Facts, FactValue, NotUnderstood
from envdoctor.facts.names import canonical
from envdoctor.facts.old_spellings import now_meant
from envdoctor.facts.uses import CODE_USES, is_pattern, is_used
from envdoctor.facts.values import parse_value, shown
from envdoctor.facts.versions import Absent, Exact, Ranged, VersionCondition, version_condition
from envdoctor.facts.vocabulary import BROKEN_IMPORTS, NOT_LOADED, suggestion, term
from envdoctor.records import dataclass

# What code works out of scripts and releases, and says where it holds.
_COMPUTED = (NOT_LOADED, BROKEN_IMPORTS)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

Known: TypeAlias = "Callable[[str], Sequence[str]]"
"""The releases of a package by its name, oldest first."""


class InvalidConditionError(ValueError):
    """A condition that cannot be read; the message says which part and what was expected."""


@dataclass(frozen=True, slots=True)
class PackageIs:
    """A package whose version satisfies the condition; with an empty condition: is installed."""

    package: str
    fact: str
    version: VersionCondition

    def text(self) -> str:
        return self.version.text or "installed"


@dataclass(frozen=True, slots=True)
class VersionIs:
    """A fact that is a version (CUDA, driver, compute capability), compared as one."""

    fact: str
    version: VersionCondition

    def text(self) -> str:
        return self.version.text


@dataclass(frozen=True, slots=True)
class NumberIs:
    """A number between two bounds; ``None`` is no bound."""

    fact: str
    clauses: tuple[tuple[str, float], ...]

    def text(self) -> str:
        return ", ".join(f"{operator}{bound:g}" for operator, bound in self.clauses)


@dataclass(frozen=True, slots=True)
class ValueIs:
    """A value that is one of those listed; for a list fact: that shares one with them, which may have a ``*`` (any characters)."""

    fact: str
    values: tuple[FactValue, ...]

    def text(self) -> str:
        return " or ".join(shown(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class TextMatches:
    """A text that contains the pattern's pieces between ``*`` in order, or equals a pattern without one; case ignored."""

    fact: str
    patterns: tuple[str, ...]

    def text(self) -> str:
        return " or ".join(self.patterns)


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


Leaf: TypeAlias = "PackageIs | VersionIs | NumberIs | ValueIs | TextMatches"
Condition: TypeAlias = "Leaf | All | AnyOf | Not"


def evaluate(condition: Condition, facts: Facts, known: Known) -> bool | None:
    """Whether the condition holds; None when a missing fact would decide it."""
    if isinstance(condition, All):
        outcome: bool | None = True
        for part in condition.parts:
            held = evaluate(part, facts, known)
            if held is False:
                return False
            if held is None:
                outcome = None
        return outcome
    if isinstance(condition, AnyOf):
        outcome = False
        for part in condition.parts:
            held = evaluate(part, facts, known)
            if held is True:
                return True
            if held is None:
                outcome = None
        return outcome
    if isinstance(condition, Not):
        held = evaluate(condition.part, facts, known)
        return None if held is None else not held
    return holds(condition, facts, known)


def holds(leaf: Leaf, facts: Facts, known: Known) -> bool | None:
    """Whether one comparison holds; None when its fact is unknown or not understood."""
    fact = facts.by_name.get(leaf.fact)
    if fact is None:
        return False if leaf.fact in _COMPUTED or (facts.closed and isinstance(leaf, PackageIs)) else None
    value = fact.value
    if isinstance(value, NotUnderstood):
        return None
    if isinstance(leaf, PackageIs):
        return _package_holds(leaf, value, known)
    if isinstance(leaf, VersionIs):
        if isinstance(value, Exact):
            return leaf.version.of_python(value) if leaf.fact == "python" else leaf.version.admits(value)
        return leaf.version.relation(value) if isinstance(value, Ranged) else None
    if isinstance(leaf, NumberIs):
        return _number_holds(leaf, value)
    if isinstance(leaf, ValueIs):
        if leaf.fact == CODE_USES and isinstance(value, tuple):
            return is_used([str(pattern) for pattern in leaf.values], value)
        if isinstance(value, tuple):
            return any(item in value or ("*" in str(item) and any(_contains(str(item), one) for one in value)) for item in leaf.values)
        if value == "auto":
            return None  # asks the library to choose, and does not say what it chose
        return value in leaf.values
    return any(_contains(pattern, str(value)) for pattern in leaf.patterns)


def _package_holds(leaf: PackageIs, value: FactValue, known: Known) -> bool | None:
    if isinstance(value, Exact):
        return leaf.version.admits(value)
    if isinstance(value, Absent):
        return False
    if isinstance(value, Ranged):
        return leaf.version.relation(value, known(leaf.package))
    return None


def _number_holds(leaf: NumberIs, value: FactValue) -> bool | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return all(_COMPARE[operator](value, bound) for operator, bound in leaf.clauses)


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": lambda value, bound: value == bound,
    "!=": lambda value, bound: value != bound,
    ">=": lambda value, bound: value >= bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    "<": lambda value, bound: value < bound,
}


def _contains(pattern: str, text: str) -> bool:
    if "*" not in pattern:
        return pattern.lower() == text.lower()
    position, lowered = 0, text.lower()
    for piece in pattern.lower().split("*"):
        position = lowered.find(piece, position)
        if position < 0:
            return False
        position += len(piece)
    return True


def leaves(condition: Condition) -> tuple[Leaf, ...]:
    """Every comparison of the condition, in reading order."""
    if isinstance(condition, (All, AnyOf)):
        return tuple(leaf for part in condition.parts for leaf in leaves(part))
    if isinstance(condition, Not):
        return leaves(condition.part)
    return (condition,)


def accused(condition: Condition) -> tuple[Leaf, ...]:
    """The comparisons that must hold: those outside a negation, in reading order."""
    found = _ACCUSED.get(id(condition))
    if found is None or found[0] is not condition:
        found = _ACCUSED[id(condition)] = (condition, tuple(_accused(condition)))
    return found[1]


# By identity: to hash a condition is to walk through it, which costs as much as finding its comparisons. What is kept stays alive.
_ACCUSED: dict[int, tuple[Condition, tuple[Leaf, ...]]] = {}


def _accused(condition: Condition) -> Iterator[Leaf]:
    if isinstance(condition, (All, AnyOf)):
        for part in condition.parts:
            yield from _accused(part)
    elif not isinstance(condition, Not):
        yield condition


def deciding(condition: Condition, facts: Facts, known: Known, *, wanted: bool = True) -> tuple[tuple[Leaf, str], ...]:
    """The comparisons that make the condition hold (``wanted`` False: fail), each with its text; what fails says ``not``.

    Of an alternative only the parts that hold are told; of an undecided condition, those comparisons that speak for it.
    """
    if isinstance(condition, Not):
        return deciding(condition.part, facts, known, wanted=not wanted)
    if isinstance(condition, (All, AnyOf)):
        parts = condition.parts
        if isinstance(condition, AnyOf) is wanted:
            parts = tuple(part for part in parts if evaluate(part, facts, known) is wanted)
        return tuple(found for part in parts for found in deciding(part, facts, known, wanted=wanted))
    if holds(condition, facts, known) is not wanted:
        return ()
    return ((condition, condition.text() if wanted else f"not {condition.text()}"),)


def missing(condition: Condition, facts: Facts, known: Known) -> tuple[str, ...]:
    """The facts that keep the condition undecided, without repeats; empty when it is decided."""
    return judged(condition, facts, known)[1]


def judged(condition: Condition, facts: Facts, known: Known) -> tuple[bool | None, tuple[str, ...]]:
    """Whether the condition holds, as `evaluate` tells, and the facts that keep it undecided, as `missing` does: in one pass."""
    if isinstance(condition, (All, AnyOf)):
        deciding_outcome = isinstance(condition, AnyOf)
        lacking: list[str] = []
        undecided = False
        for part in condition.parts:
            held, names = judged(part, facts, known)
            if held is deciding_outcome:
                return held, ()
            if held is None:
                undecided = True
                lacking += names
        return (None, tuple(dict.fromkeys(lacking))) if undecided else (not deciding_outcome, ())
    if isinstance(condition, Not):
        held, names = judged(condition.part, facts, known)
        return (None if held is None else not held), names
    held = holds(condition, facts, known)
    return held, (condition.fact,) if held is None else ()


def parse_condition(table: Mapping[str, object]) -> Condition:
    """Read an ``[affected]`` table: keys are ANDed, lists of values are ORed.

    ``packages`` lists requirements that must all hold (``||`` joins ranges of one package),
    ``calls`` lists what a script uses, one of which must be there (``envdoctor.facts.uses``),
    ``loads`` lists packages: a script that shows all that it loads, and loads none of them, is spared,
    ``any`` lists tables of which one must hold, ``all`` tables that must all hold, ``not`` is negated.

    Raises:
        InvalidConditionError: a fact that does not exist, or a value it cannot have.
    """
    parts = [part for key, value in table.items() for part in _parse_key(key, value)]
    if not parts:
        raise InvalidConditionError("found an empty condition; expected at least one fact")
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parse_key(key: str, value: object) -> list[Condition]:
    if key == "packages":
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise InvalidConditionError(f"packages: found {value!r}; expected a list of requirement strings")
        return [_parse_requirement(item) for item in value]
    if key == "calls":
        return [ValueIs(CODE_USES, _parse_calls(value))]
    if key == "loads":
        spared = [Not(ValueIs(NOT_LOADED, (name,))) for name in _parse_loads(value)]
        return [spared[0] if len(spared) == 1 else AnyOf(tuple(spared))]
    if key in ("any", "all"):
        if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
            raise InvalidConditionError(f"{key}: found {value!r}; expected a list of tables")
        tables = tuple(parse_condition(item) for item in value)
        return [AnyOf(tables) if key == "any" else All(tables)]
    if key == "not":
        if not isinstance(value, Mapping):
            raise InvalidConditionError(f"not: found {value!r}; expected a table")
        return [Not(parse_condition(value))]
    if isinstance(value, Mapping):
        return [part for inner, below in value.items() for part in _parse_key(f"{key}.{inner}", below)]
    return [_parse_leaf(key, value)]


def _parse_requirement(text: str) -> Condition:
    name, _, rest = text.strip().partition(" ")
    wanted = f"packages: found {text!r}; expected a name, a space and a version range such as 'torch >=2.5, <2.6'"
    if not _NAME.fullmatch(name):
        raise InvalidConditionError(wanted)
    ranges = "".join(rest.split())
    if ranges and not all(ranges.split("||")):
        raise InvalidConditionError(wanted)
    try:
        condition = version_condition(ranges)
    except ValueError as error:
        raise InvalidConditionError(f"{wanted}: {error}") from None
    package = canonical(name)
    return PackageIs(package, f"packages.{package}", condition)


def _parse_calls(value: object) -> tuple[str, ...]:
    wanted = "expected a list of uses with their package, such as 'trl.SFTTrainer(packing)'"
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise InvalidConditionError(f"calls: found {value!r}; {wanted}")
    wrong = next((item for item in value if not is_pattern(item)), None)
    if wrong is not None:
        raise InvalidConditionError(f"calls: found {wrong!r}; {wanted}")
    return tuple(value)


def _parse_loads(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and _NAME.fullmatch(item) for item in value):
        raise InvalidConditionError(f"loads: found {value!r}; expected packages, config, model, trainer, trainer-made or trainer-run")
    return tuple(map(canonical, value))


def _parse_leaf(name: str, value: object) -> Condition:
    known = term(name)
    if known is None:
        close = suggestion(name)
        raise InvalidConditionError(f"found the fact {name!r}; expected one of the vocabulary{f', perhaps {close!r}' if close else ''}")
    if name.startswith("packages."):
        raise InvalidConditionError(f"{name}: found {value!r}; expected packages, a list of requirements such as 'torch >=2.5, <2.6'")
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise InvalidConditionError(f"{name}: found an empty list; expected at least one value")
    if known.kind == "version":
        if not all(isinstance(item, (str, int)) for item in listed):
            raise InvalidConditionError(f"{name}: found {value!r}; expected a version or a range in quotes: 3.10 without them is 3.1")
        try:
            return VersionIs(name, version_condition(" || ".join(_specifier(str(item)) for item in listed)))
        except ValueError as error:
            raise InvalidConditionError(f"{name}: found {value!r}; expected a version or a range: {error}") from None
    if known.kind in ("int", "float") and isinstance(value, str):
        return NumberIs(name, _clauses(name, value))
    if known.kind in ("int", "float"):
        return ValueIs(name, tuple(_number(name, item) for item in listed))
    if known.kind == "text":
        texts = [item for item in listed if isinstance(item, str) and item.strip()]
        if len(texts) < len(listed):
            raise InvalidConditionError(f"{name}: found {value!r}; expected a text, or a list of them")
        patterns = (text if "*" in text else shown(parse_value(name, text)) for text in texts)
        # Two spellings of one value are one value.
        return TextMatches(name, tuple(dict.fromkeys(patterns)))
    values = tuple(parse_value(name, item) for item in listed)
    for item, parsed in zip(listed, values, strict=True):
        if isinstance(parsed, NotUnderstood) or parsed == "auto":
            raise InvalidConditionError(f"{name}: found {item!r}; expected {', '.join(known.choices) or known.kind}")
    if known.kind == "list":
        texts = [str(item) for item in listed]
        return ValueIs(name, tuple(one for text in texts for one in (now_meant(text) if name == CODE_USES else (text,))))
    return ValueIs(name, tuple(dict.fromkeys(values)))


def _number(name: str, item: object) -> int | float:
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        raise InvalidConditionError(f'{name}: found {item!r}; expected a number or a comparison such as ">1"')
    return item


def _specifier(text: str) -> str:
    return text if text[:1] in "=<>!~" else f"=={text}"


def _clauses(name: str, text: str) -> tuple[tuple[str, float], ...]:
    found = []
    for piece in text.split(","):
        match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)\s*", piece)
        if match is None:
            raise InvalidConditionError(f'{name}: found {text!r}; expected comparisons such as ">1" or ">=2,<8"')
        found.append((match[1], float(match[2])))
    return tuple(found)
