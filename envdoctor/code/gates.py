"""Tests of a release in a snapshot's code: which branch they take, and those that read it wrongly."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_PARSERS = frozenset(("parse", "Version", "LooseVersion", "StrictVersion", "parse_version"))
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_DEEPEST = 40


class _UnknownError(Exception):
    """The value depends on more than releases and literals."""


class Gates:
    """Evaluates expressions over ``package.__version__``; ``releases`` are the installed versions by package."""

    def __init__(self, releases: Mapping[str, str]) -> None:
        self.releases = releases
        self.names: dict[str, ast.expr] = {}
        self.modules: dict[str, str] = {}

    def learn(self, statement: ast.stmt) -> None:
        """Remember what a statement of the module's top level binds to a release, or to something made of one."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                self.modules[alias.asname or alias.name.partition(".")[0]] = alias.name.partition(".")[0]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            for alias in statement.names:
                if alias.name == "__version__":
                    package = ast.Name(statement.module, ast.Load())
                    self.names[alias.asname or alias.name] = ast.Attribute(package, "__version__", ast.Load())
                    self.modules[statement.module] = statement.module
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            self.names[statement.targets[0].id] = statement.value

    def decide(self, test: ast.expr) -> bool | None:
        """The outcome of a test; None where it is not one of releases alone."""
        if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
            return False
        try:
            value = self._value(test, _DEEPEST)
        except (_UnknownError, TypeError, ValueError, IndexError, AttributeError):
            return None
        return value if isinstance(value, bool) else None

    def _value(self, node: ast.expr, depth: int) -> object:
        if depth == 0:
            raise _UnknownError
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise _UnknownError
            return self._value(self.names[node.id], depth - 1)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            return self._item(self._value(node.value, depth - 1), node.slice, depth)
        if isinstance(node, ast.Tuple | ast.List):
            return [self._value(item, depth - 1) for item in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known = self.decide(node.operand)
            if known is None:
                raise _UnknownError
            return not known
        if isinstance(node, ast.BoolOp):
            return self._joined(node)
        if isinstance(node, ast.Compare):
            return self._compared(node, depth)
        raise _UnknownError

    def _attribute(self, node: ast.Attribute, depth: int) -> object:
        if node.attr == "__version__" and isinstance(node.value, ast.Name):
            release = self.releases.get(self.modules.get(node.value.id, ""))
            if release is None:
                raise _UnknownError
            return release
        value = self._value(node.value, depth - 1)
        if node.attr in ("major", "minor", "micro", "base_version", "release") and type(value).__name__ == "Version":
            return getattr(value, node.attr)
        raise _UnknownError

    def _call(self, node: ast.Call, depth: int) -> object:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if isinstance(func, ast.Attribute) and name in ("split", "startswith"):
            value = self._value(func.value, depth - 1)
            if isinstance(value, str):
                given = [self._value(item, depth - 1) for item in node.args]
                if name == "split" and given and given[0] == ".":
                    return value.split(".")
                if name == "startswith" and len(given) == 1 and isinstance(given[0], str):
                    return value.startswith(given[0])
            raise _UnknownError
        if len(node.args) == 1 and not node.keywords:
            value = self._value(node.args[0], depth - 1)
            if name in _PARSERS and isinstance(value, str):
                # Most code has no gate, and packaging takes long to import.
                from packaging.version import Version

                return Version(value)
            if name == "int" and isinstance(value, str | int) and len(str(value)) < 10:
                return int(value)
            if name == "version" and isinstance(value, str) and value.replace("_", "-") in self.releases:
                return self.releases[value.replace("_", "-")]
        raise _UnknownError

    def _item(self, value: object, index: ast.expr, depth: int) -> object:
        if not isinstance(value, list | tuple):
            raise _UnknownError
        if isinstance(index, ast.Slice) and index.lower is None and index.step is None and index.upper is not None:
            end = self._value(index.upper, depth - 1)
            if isinstance(end, int):
                return value[:end]
        elif not isinstance(index, ast.Slice):
            place = self._value(index, depth - 1)
            if isinstance(place, int):
                return value[place]
        raise _UnknownError

    def _joined(self, node: ast.BoolOp) -> bool:
        outcomes = [self.decide(value) for value in node.values]
        settles = isinstance(node.op, ast.Or)
        if settles in outcomes:
            return settles
        if None in outcomes:
            raise _UnknownError
        return not settles

    def _compared(self, node: ast.Compare, depth: int) -> bool:
        left = self._value(node.left, depth - 1)
        for sign, other in zip(node.ops, node.comparators, strict=True):
            right = self._value(other, depth - 1)
            compare = _COMPARE.get(type(sign))
            if compare is None or type(left) is not type(right):
                raise _UnknownError
            if compare(left, right) is not True:
                return False
            left = right
        return True

    # --- gates that look at the second number alone ----------------------------------------------

    def minor_only(self, tree: ast.Module) -> Iterator[tuple[int, str, int]]:
        """Line, package and number of comparisons of a release's second number that no test of the first one stands over.

        Only those are told whose outcome for the installed release differs from that for a later 4.x: transformers had
        at most 5 minor releases of a major before 4, so that a number above that means 4.
        """
        installed = self.releases.get("transformers", "")
        major, _, rest = installed.partition(".")
        minor = rest.partition(".")[0]
        if not (major.isdigit() and minor.isdigit() and len(installed) < 40) or int(major) < 5:
            return
        stack: list[tuple[ast.AST, bool]] = [(tree, False)]
        while stack:
            node, first_asked = stack.pop()
            if isinstance(node, ast.If | ast.IfExp | ast.BoolOp):
                test = node if isinstance(node, ast.BoolOp) else node.test
                first_asked = first_asked or any(self._part(item) == 0 for item in ast.walk(test))
            if isinstance(node, ast.Compare) and not first_asked and len(node.ops) == 1:
                number = _number(node.comparators[0])
                sign = node.ops[0]
                orders = isinstance(sign, ast.Gt | ast.GtE | ast.Lt | ast.LtE)
                if orders and number is not None and number > 5 and self._part(node.left) == 1:
                    reached = int(minor) > number if isinstance(sign, ast.Gt | ast.LtE) else int(minor) >= number
                    if not reached:
                        yield node.lineno, "transformers", number
            stack += ((child, first_asked) for child in ast.iter_child_nodes(node))

    def _part(self, node: ast.AST) -> int | None:
        """Which number of transformers' release an expression is: ``int(transformers.__version__.split(".")[1])`` is 1."""
        for _ in range(4):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
                node = node.args[0]
            elif isinstance(node, ast.Name) and node.id in self.names:
                node = self.names[node.id]
        if isinstance(node, ast.Attribute) and node.attr in ("major", "minor"):
            return {"major": 0, "minor": 1}[node.attr] if self._of_transformers(node.value) else None
        if isinstance(node, ast.Subscript):
            place = _number(node.slice)
            return place if place is not None and self._of_transformers(node.value) else None
        return None

    def _of_transformers(self, node: ast.AST) -> bool:
        return any(
            isinstance(item, ast.Attribute)
            and item.attr == "__version__"
            and isinstance(item.value, ast.Name)
            and self.modules.get(item.value.id) == "transformers"
            for name in [node]
            for item in ast.walk(self.names.get(name.id, name) if isinstance(name, ast.Name) else name)
        )


def _number(node: ast.AST) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
