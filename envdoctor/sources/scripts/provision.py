"""Whether a script provides for what a release lacks: a ``try``, a test of a release or of what is there, a way out before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.names import method
from envdoctor.sources.scripts.outline import Guard, Outline, Scope
from envdoctor.syntax.walking import walk

_LOOKS = frozenset(
    (
        "hasattr",
        "find_spec",
        "signature",
        "getfullargspec",
        "parameters",
        "__dataclass_fields__",
        "__code__",
        "__annotations__",
        "model_fields",
    )
)
# Calls whose result still is what they were given, or the answer to a question.
_HANDED_ON = frozenset(
    ("parse", "Version", "LooseVersion", "StrictVersion", "parse_version", "map", "int", "tuple", "set", "list", "bool", "split", "keys")
)
_DEEPEST = 3
_MOST_VALUES = 3
# A way out that is nested deeper is nobody's.
_MOST_LEVELS = 40


class Provision:
    """Answers for one script; what stands above a guard is judged once."""

    def __init__(self, found: Outline) -> None:
        self._found = found
        self._known: dict[Guard, bool] = {}
        self._ways_out: dict[int, dict[str, int]] = {}
        self._leaving: dict[int, bool] = {}
        self._inner = {id(scope.node): scope for scope in found.scopes}

    def stands_over(self, guard: Guard | None) -> bool:
        """Whether one of the guards catches a missing name, or asks for a release or for what is installed."""
        chain: list[Guard] = []
        while guard is not None and guard not in self._known:
            chain.append(guard)
            guard = guard.above
        provided = guard is not None and self._known[guard]
        for inner in reversed(chain):
            provided = provided or inner.attempt or inner.test is None or self.asks(inner.test, inner.scope)
            self._known[inner] = provided
        return provided

    def asks(self, test: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a test asks for a release or for what is there: by itself, by a name's value, by a function of the file.

        So does a name that says how an attempt to import went.
        """
        if self._found.attempted and any(one in self._found.attempted for one in _told_by(test)):
            return True
        for node in walk(test):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if _is_question(name):
                return True
            if isinstance(node, ast.Name) and depth < _DEEPEST:
                values = [value for _, value in zip(range(_MOST_VALUES), self._values(name, scope), strict=False)]
                if any(self.asks(value, place, depth + 1) for value, place in values):
                    return True
        return False

    def comes_after(self, node: ast.Call, scope: Scope) -> bool:
        """Whether an earlier branch that asks, or a ``try``, makes the same call and returns: this one is left to other releases."""
        if not scope.leaves or not self._may_leave(node, scope):
            return False
        name = method(node)
        inner: ast.AST = node
        for _ in range(_MOST_LEVELS if name else 0):
            outer = None if isinstance(inner, (Function, ast.ClassDef)) else self._found.parents.get(id(inner))
            if outer is None:
                break
            for block in _blocks(outer):
                way_out = self._block(block, scope).get(name)
                if way_out is not None and way_out < next((place for place, item in enumerate(block) if item is inner), 0):
                    return True
            inner = outer
        return False

    def _may_leave(self, node: ast.AST, scope: Scope) -> bool:
        """Whether any block around a node, up to its function, has a way out: asked once for what stands in the same blocks."""
        passed: list[int] = []
        leaves: bool | None = None
        outer: ast.AST | None = node
        while leaves is None:
            assert outer is not None
            leaves = self._leaving.get(id(outer))
            if leaves is None:
                passed.append(id(outer))
                outer = None if isinstance(outer, (Function, ast.ClassDef)) else self._found.parents.get(id(outer))
                if outer is None or any(self._block(block, scope) for block in _blocks(outer)):
                    leaves = outer is not None
        self._leaving.update(dict.fromkeys(passed, leaves))
        return leaves

    def _block(self, block: list[ast.stmt], scope: Scope) -> dict[str, int]:
        """Where the first statement of a block stands that makes a call, by its name, and returns."""
        known = self._ways_out.get(id(block))
        if known is None:
            known = self._ways_out[id(block)] = {}
            for place, item in enumerate(block):
                if type(item) is ast.If or type(item) is ast.Try:
                    for name in self._calls_and_leaves(item, scope):
                        known.setdefault(name, place)
        return known

    def _values(self, name: str, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """What a name of the file is bound to, nearest first; of a function, what it returns."""
        place: Scope | None = scope
        while place is not None:
            if name in place.bindings and name not in self._found.functions:
                yield from ((one.value, place) for one in place.bindings[name] if one.value is not None and _is_answer(one.value))
                return
            place = place.parent
        if name in self._found.functions:
            inner = self._inner.get(id(self._found.functions[name][0]))
            if inner is not None:
                yield from ((value, inner) for value in self._found.returns.get(id(inner), ()))

    def _calls_and_leaves(self, item: ast.If | ast.Try, scope: Scope) -> Iterator[str]:
        """What is called in the branches of a statement that end with a return, where it asks for a release or tries."""
        if isinstance(item, ast.If):
            branches = [block for block in (item.body, item.orelse) if block and isinstance(block[-1], ast.Return)]
            branches = branches if branches and self.asks(item.test, scope) else []
        else:
            branches = [item.body] if isinstance(item.body[-1], ast.Return) else []
        for block in branches:
            for inner in block:
                yield from (method(node) for node in walk(inner) if isinstance(node, ast.Call))


def _told_by(test: ast.expr) -> Iterator[str]:
    """The names that decide a test by being there or not: ``HAS_TRL``, ``SFTTrainer is None``, ``has_trl()``."""
    waiting = [test]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.BoolOp):
            waiting += node.values
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
            waiting.append(node.left)
        elif isinstance(node, ast.Call) and not node.args and not node.keywords:
            waiting.append(node.func)


def _is_question(name: str) -> bool:
    return "version" in name.lower() or name in _LOOKS or (name.startswith("is_") and name.endswith("_available"))


def _is_answer(value: ast.expr) -> bool:
    return not isinstance(value, ast.Call) or method(value) in _HANDED_ON or _is_question(method(value))


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    return [block for kind in ("body", "orelse", "finalbody") if isinstance(block := getattr(node, kind, None), list)]
