"""Operators on constants, within bounds: no text, number or list of a script grows beyond what a setting could be."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

LONGEST = 10_000
_LARGEST = 10**15
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: lambda a, b: a is b if None in (a, b) else a == b,
    ast.IsNot: lambda a, b: a is not b if None in (a, b) else a != b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def combined(operation: ast.operator, a: object, b: object) -> object | None:
    """The value of an operator on two numbers, or of ``+`` on two texts or lists; None where there is none."""
    apply = _OPERATORS.get(type(operation))
    numbers = is_number(a) and is_number(b)
    if apply is None or not (numbers or (isinstance(operation, ast.Add) and type(a) is type(b) and isinstance(a, (str, tuple)))):
        return None
    if isinstance(operation, ast.Pow) and not (
        isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a) <= 1024 and abs(b) <= 64
    ):
        return None
    try:
        value = apply(a, b)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    if isinstance(value, (int, float)):
        return value if abs(value) <= _LARGEST else None
    return value if isinstance(value, (str, tuple)) and len(value) <= LONGEST else None


def compared(operation: ast.cmpop, a: object, b: object) -> bool | None:
    """Whether a comparison of two constants holds; None where they cannot be compared."""
    compare = _COMPARISONS.get(type(operation))
    if compare is None or (isinstance(operation, (ast.In, ast.NotIn)) and not isinstance(b, (str, tuple, list, dict))):
        return None
    try:
        return bool(compare(a, b))
    except TypeError:
        return None


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_main(test: ast.expr) -> bool:
    """``__name__ == "__main__"``, which holds where a file is what is started."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in (test.left, *test.comparators))
