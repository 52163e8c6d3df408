"""What a ``setup.py`` hands to ``setup()``, worked out from its syntax tree; nothing of it is executed.

The few things that such files do are followed: names, lists and tables of text, their concatenation and comprehensions,
loops over them, small functions of the file's own, files opened by a literal name. Everything else is unknown, and what
an unknown condition decides is unknown too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from envdoctor.records import dataclass, field
from envdoctor.sources.declared.setup_calls import called
from envdoctor.sources.declared.setup_values import Opened, Told, Unknown, Value
from envdoctor.syntax.operators import compared, is_main

_MOST_STEPS = 200_000
_MOST_ITEMS = 5_000
_LONGEST = 20_000
_DEEPEST = 60
_MOST_CALLS = 6


@dataclass(slots=True)
class Setup:
    """The arguments of the call of ``setup``; ``line`` is that of the call."""

    arguments: Mapping[str, Value]
    line: int
    unknown: list[Unknown] = field(default_factory=list)


class _TooMuch(Exception):  # noqa: N818 - it ends the reading, and is no error
    pass


def read_setup(tree: ast.Module) -> Setup | None:
    """The first call of ``setup`` in a module; None where there is none."""
    script = _Script()
    try:
        script.run(tree.body)
        if script.setup is None:
            script.call_anywhere(tree)
    except (_TooMuch, RecursionError):
        return script.setup or Setup({}, 1, [Unknown(1, "more than is followed without running it")])
    return script.setup


class _Script:
    def __init__(self) -> None:
        self.names: dict[str, Value] = {}
        self.setup: Setup | None = None
        self.opened: list[Opened] = []
        self._result: list[Value] = []
        self._calls = 0
        self._steps = 0
        self._depth = 0

    def call_anywhere(self, tree: ast.Module) -> None:
        """A call within a function, which is read as if the function was called."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _is_setup(node) and self.setup is None:
                self.value(node)

    def run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self._result:
                return
            self._statement(statement)

    def returned(self, function: ast.FunctionDef, arguments: dict[str, Value]) -> Value:
        """What a function of the file returns; where that is unknown and it opened one file, that file."""
        if self._calls >= _MOST_CALLS:
            raise _TooMuch
        names, result, opened = self.names, self._result, len(self.opened)
        self.names, self._result, self._calls = {**names, **arguments}, [], self._calls + 1
        try:
            self.run(function.body)
            value = self._result[0] if self._result else Unknown(function.lineno)
        finally:
            self.names, self._result, self._calls = names, result, self._calls - 1
        files = {(file.name, file.line) for file in self.opened[opened:]}
        unclear = isinstance(value, Unknown) or (isinstance(value, list) and any(isinstance(item, Unknown) for item in value))
        return Opened(*files.pop()) if unclear and len(files) == 1 else value

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooMuch

    def _statement(self, node: ast.stmt) -> None:
        self._step()
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, self._add(self.value(node.target), self.value(node.value), node.lineno))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.Return):
            self._result.append(None if node.value is None else self.value(node.value))
        elif isinstance(node, ast.FunctionDef):
            self.names[node.name] = node
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.For):
            self._for(node)
        elif isinstance(node, ast.With):
            for item in node.items:
                opened = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, opened)
            self.run(node.body)
        elif isinstance(node, ast.Try):
            self.run(node.body)
            self.run(node.orelse)
            self.run(node.finalbody)
        elif isinstance(node, ast.While):
            self._forget(node)

    def _if(self, node: ast.If) -> None:
        test = self.value(node.test)
        if isinstance(test, bool):
            self.run(node.body if test else node.orelse)
            return
        if any(isinstance(inner, ast.Call) and _is_setup(inner) for inner in ast.walk(node)):
            self.run(node.body)
            return
        self._forget(node)

    def _forget(self, node: ast.stmt) -> None:
        """What a block that may or may not run does to names: a list keeps what it had, and has something unknown besides."""
        why = f"what line {node.lineno} decides"
        for inner in ast.walk(node):
            self._step()
            target: ast.expr | None = None
            if isinstance(inner, ast.Return) and self._calls:
                self._result.append(Unknown(node.lineno, why))
            elif isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign):
                target = inner.targets[0] if isinstance(inner, ast.Assign) else inner.target
            elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in _MUTATORS:
                target = inner.func.value
            if target is None:
                continue
            changed = self.value(target) if not isinstance(inner, ast.Assign | ast.AnnAssign) else None
            if isinstance(changed, list):
                changed.append(Unknown(node.lineno, why))
            elif isinstance(target, ast.Name) and isinstance(before := self.names.get(target.id), list):
                self.names[target.id] = [*before, Unknown(node.lineno, why)]
            else:
                self._assign(target, Unknown(node.lineno, why))

    def _for(self, node: ast.For) -> None:
        items = self.items(self.value(node.iter))
        if items is None:
            self._forget(node)
            return
        for item in items:
            self._assign(node.target, item)
            self.run(node.body)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Subscript):
            table, key = self.value(target.value), self.value(target.slice)
            if isinstance(table, dict) and isinstance(key, str):
                table[key] = value
        elif isinstance(target, ast.Tuple | ast.List):
            parts = self.items(value)
            known = parts is not None and len(parts) == len(target.elts)
            for place, inner in enumerate(target.elts):
                self._assign(inner, parts[place] if known and parts is not None else Unknown(target.lineno))

    def value(self, node: ast.expr) -> Value:
        self._step()
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise _TooMuch
            reader: Callable[[_Script, ast.expr], Value] | None = _READERS.get(type(node))
            return Unknown(node.lineno) if reader is None else reader(self, node)
        finally:
            self._depth -= 1

    def items(self, value: Value) -> list[Value] | None:
        """What a loop over a value would see; None where that is not known."""
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, list | tuple):
            return list(value)
        return [value] if isinstance(value, Opened) else None

    def spread(self, value: Value, line: int) -> list[Value]:
        """The items of a value within another list; one that is not known, where they are not."""
        items = self.items(value)
        return items if items is not None else [value if isinstance(value, Unknown) else Unknown(line)]

    def constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            return Told(node.value, node.lineno)
        return node.value if node.value is None or isinstance(node.value, bool | int) else Unknown(node.lineno)

    def name(self, node: ast.Name) -> Value:
        return self.names.get(node.id, Unknown(node.lineno, f"{node.id} is not known without running the file"))

    def sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        found: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                found += self.spread(self.value(element.value), element.lineno)
            else:
                found.append(self.value(element))
        return self.bounded(found)

    def table(self, node: ast.Dict) -> Value:
        made: dict[str, Value] = {}
        for key, inner in zip(node.keys, node.values, strict=True):
            value = self.value(inner)
            name = None if key is None else self.value(key)
            if key is None and isinstance(value, dict):
                made.update(value)
            elif isinstance(name, str):
                made[name] = value
        return made

    def subscript(self, node: ast.Subscript) -> Value:
        holder, key = self.value(node.value), self.value(node.slice)
        if isinstance(holder, dict) and isinstance(key, str) and key in holder:
            return holder[key]
        if isinstance(holder, list | tuple) and isinstance(key, int) and -len(holder) <= key < len(holder):
            return holder[key]
        return holder if isinstance(holder, Opened) else Unknown(node.lineno)

    def binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div) and isinstance(right, str):
            return self._text(f"{left}/{right}" if isinstance(left, str) else right, node.lineno)
        return self._add(left, right, node.lineno) if isinstance(node.op, ast.Add | ast.BitOr) else Unknown(node.lineno)

    def _add(self, left: Value, right: Value, line: int) -> Value:
        if isinstance(left, str) and isinstance(right, str):
            return self._text(left + right, getattr(left, "line", line))
        if isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        parts = [self.spread(side, line) for side in (left, right)]
        return Unknown(line) if isinstance(left, str) or isinstance(right, str) else self.bounded([*parts[0], *parts[1]])

    def formatted(self, node: ast.JoinedStr) -> Value:
        parts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        if all(isinstance(part, str) for part in parts):
            return self._text("".join(str(part) for part in parts), node.lineno)
        return Unknown(node.lineno)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        made: list[Value] = []
        for _ in self._rounds(node.generators, 0, node.lineno, made):
            made.append(self.value(node.elt))
        unique = not isinstance(node, ast.SetComp)
        return self.bounded([item for place, item in enumerate(made) if unique or item not in made[:place]])

    def table_comprehension(self, node: ast.DictComp) -> Value:
        made: dict[str, Value] = {}
        lost: list[Value] = []
        for _ in self._rounds(node.generators, 0, node.lineno, lost):
            key, value = self.value(node.key), self.value(node.value)
            if isinstance(key, str):
                made[key] = value
        return made if not lost else Unknown(node.lineno)

    def _rounds(self, generators: list[ast.comprehension], place: int, line: int, lost: list[Value]) -> Iterator[None]:
        """One round for every item that the conditions admit; an unknown condition admits none and is put among the ``lost``."""
        if place == len(generators):
            yield
            return
        generator = generators[place]
        source = self.value(generator.iter)
        items = self.items(source)
        if items is None:
            lost.append(source if isinstance(source, Unknown) else Unknown(line))
            return
        before = dict(self.names)
        for item in items:
            if isinstance(item, Opened | Unknown):
                lost.append(item)
                continue
            self._assign(generator.target, item)
            tests = [self.value(test) for test in generator.ifs]
            if any(isinstance(test, Unknown) for test in tests):
                lost.append(Unknown(line))
            elif all(tests):
                yield from self._rounds(generators, place + 1, line, lost)
        self.names = before

    def compare(self, node: ast.Compare) -> Value:
        left, right = self.value(node.left), self.value(node.comparators[0])
        if is_main(node):
            return True
        if len(node.ops) > 1 or isinstance(left, Unknown | Opened) or isinstance(right, Unknown | Opened):
            return Unknown(node.lineno)
        # A table lacks what its unknown keys hold: that a value is None is not known of one that was looked up in it.
        holds = None if isinstance(node.ops[0], ast.Is | ast.IsNot) else compared(node.ops[0], left, right)
        return Unknown(node.lineno) if holds is None else holds

    def boolean(self, node: ast.BoolOp) -> Value:
        values = [self.value(part) for part in node.values]
        if any(isinstance(value, Unknown | Opened) for value in values):
            return Unknown(node.lineno)
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, int):
            return -value
        return not value if isinstance(node.op, ast.Not) and not isinstance(value, Unknown | Opened) else Unknown(node.lineno)

    def choice(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        return self.value(node.body if test else node.orelse) if isinstance(test, bool) else Unknown(node.lineno)

    def call(self, node: ast.Call) -> Value:
        if _is_setup(node):
            self._setup(node)
            return None
        return called(self, node)

    def _setup(self, node: ast.Call) -> None:
        found = Setup({}, node.lineno)
        arguments: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is not None:
                arguments[keyword.arg] = value
            elif isinstance(value, dict):
                arguments.update(value)
            else:
                found.unknown.append(Unknown(keyword.value.lineno, "arguments of setup() that are made when the file runs"))
        found.arguments = arguments
        self.setup = self.setup or found

    def bounded(self, items: Sequence[Value]) -> list[Value]:
        if len(items) > _MOST_ITEMS:
            raise _TooMuch
        self._steps += len(items)
        return list(items)

    @staticmethod
    def _text(text: str, line: int) -> Value:
        if len(text) > _LONGEST:
            raise _TooMuch
        return Told(text, line)


_MUTATORS = ("append", "extend", "update", "insert", "remove", "pop", "setdefault", "clear")


def _is_setup(node: ast.Call) -> bool:
    function = node.func
    return (isinstance(function, ast.Name) and function.id == "setup") or (isinstance(function, ast.Attribute) and function.attr == "setup")


_READERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _Script.constant,
    ast.Name: _Script.name,
    ast.List: _Script.sequence,
    ast.Tuple: _Script.sequence,
    ast.Set: _Script.sequence,
    ast.Dict: _Script.table,
    ast.Subscript: _Script.subscript,
    ast.BinOp: _Script.binary,
    ast.JoinedStr: _Script.formatted,
    ast.ListComp: _Script.comprehension,
    ast.SetComp: _Script.comprehension,
    ast.GeneratorExp: _Script.comprehension,
    ast.DictComp: _Script.table_comprehension,
    ast.Compare: _Script.compare,
    ast.BoolOp: _Script.boolean,
    ast.UnaryOp: _Script.unary,
    ast.IfExp: _Script.choice,
    ast.Call: _Script.call,
}
