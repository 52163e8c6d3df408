"""What expressions take from other modules, and the messages that they carry."""

from __future__ import annotations

import ast
import re
import sys

from envdoctor.atlas import guards as conditions
from envdoctor.atlas.generated import call_of_generated
from envdoctor.atlas.guards import NEVER, Guards
from envdoctor.atlas.objects import made_of
from envdoctor.atlas.outline import Outline, Said, Taken
from envdoctor.atlas.rebinding import stored_by
from envdoctor.atlas.signatures import last_word, of_call
from envdoctor.atlas.templates import template
from envdoctor.syntax.walking import children
from envdoctor.world.standard_library import MODULES, NAMES, REMOVED

_LOGGED = {
    "error": "error",
    "critical": "error",
    "exception": "error",
    "warning": "warning",
    "warn": "warning",
    "warning_once": "warning",
    "warning_rank0": "warning",
    "warning_advice": "warning",
    "error_once": "error",
}
_LONGEST_CONDITION = 160
_MOST_LINES = 8
_WORDED = re.compile(r"(?:ERROR|WARNING|_MSG|MESSAGE)(?:_\w{1,20})?$")
_FILLED = re.compile(r"\{[^{}]{0,40}\}|%(?:\(\w{1,40}\))?[srd]")
_TRIVIAL = frozenset((ast.Constant, ast.Pass, ast.Break, ast.Continue))

# What a ``with`` calls that lets an error pass.
RAISES = ("suppress", "raises", "assertRaises", "assertRaisesRegex")


class Expressions:
    """Walks expressions; ``scope`` are the names of the function around them, with what they are bound to by an import."""

    def __init__(self, text: str, module: str, package: bool) -> None:
        self.out = Outline()
        self.shallow = False
        self.module = module
        # Of a user's own code it is asked what it takes, and neither what it says nor what its classes hold.
        self.own = module == "__main__"
        self.top = module.partition(".")[0]
        self.home = module if package else module.rpartition(".")[0]
        self.text = text
        self.guards = Guards(asks_version="__version__" in text, own=self.own)
        self.bound: dict[str, str | None] = {}
        self.annotations = "from __future__ import annotations" not in text
        self.patched: set[str] = set()
        self.rebound: frozenset[str] = frozenset()
        self.overloads: set[str] = set()
        self.texts: dict[str, ast.expr] = {}
        self.lines: list[str] | None = None
        self.parents: list[str] = []
        self.recorded: set[tuple[str, str, str, str, bool, int]] = set()
        self.calls: list[tuple[str, str, str]] = []

    # --- expressions -----------------------------------------------------------------------------------

    def expression(self, node: ast.AST, guard: str, where: str, scope: dict[str, str | None] | None, condition: str) -> None:
        kind = type(node)
        if kind is ast.Name or kind in _TRIVIAL:
            return
        if kind is ast.Attribute:
            assert isinstance(node, ast.Attribute)
            found = self.dotted(node, scope)
            if found is None:
                self.expression(node.value, guard, where, scope, condition)
                if self.own and type(node.ctx) is ast.Load and (result := self.of_result(node, scope)):
                    self.take(result, node.lineno, guard, where)
            elif type(node.ctx) is ast.Load:
                self.take(found, node.lineno, guard, where)
        elif kind is ast.Call:
            assert isinstance(node, ast.Call)
            self.call(node, guard, where, scope, condition)
        elif kind is ast.Lambda:
            assert isinstance(node, ast.Lambda)
            inner = {**(scope or {}), **dict.fromkeys(parameters(node.args))}
            self.expression(node.body, guard, where or "lambda", inner, condition)
        elif kind is ast.BoolOp:
            assert isinstance(node, ast.BoolOp)
            for value in node.values:
                self.expression(value, guard, where, scope, condition)
                test = self.guards.of(value)
                guard = conditions.joined(guard, test if isinstance(node.op, ast.And) else conditions.negated(test))
                if guard == NEVER:
                    return
        elif kind is ast.IfExp:
            assert isinstance(node, ast.IfExp)
            self.expression(node.test, guard, where, scope, condition)
            test = self.guards.of(node.test)
            self.expression(node.body, conditions.joined(guard, test), where, scope, condition)
            self.expression(node.orelse, conditions.joined(guard, conditions.negated(test)), where, scope, condition)
        else:
            for child in children(node):
                self.expression(child, guard, where, scope, condition)

    def call(self, node: ast.Call, guard: str, where: str, scope: dict[str, str | None] | None, condition: str) -> None:
        func = node.func
        if isinstance(func, ast.Attribute):
            found = self.dotted(func, scope)
            if found is not None:
                self.take(found, node.lineno, guard, where, call_of_generated(found, node) or of_call(node))
            elif self.parents and type(func.value) is ast.Call and last_word(func.value) == "super":
                if ":" in self.parents[-1]:
                    self.take(f"{self.parents[-1]}.{func.attr}", node.lineno, guard, where, of_call(node))
            else:
                self.expression(func.value, guard, where, scope, condition)
                if self.own and (result := self.of_result(func, scope)):
                    self.take(result, func.end_lineno or node.lineno, guard, where, of_call(node))
            self.said(node, func, where, condition)
        elif isinstance(func, ast.Name):
            target = self.target(func.id, scope)
            if target:
                self.take(target, node.lineno, guard, where, of_call(node))
            elif scope is None or func.id not in scope:
                self.calls.append((where, func.id, guard))
            if func.id == "warn":
                self.said(node, func, where, condition)
            elif func.id == "setattr" and len(node.args) == 3:
                self.put_there(node.args[0], node.args[1], scope)
        else:
            self.expression(func, guard, where, scope, condition)
        if last_word(func) == "define_import_structure":
            inner = [one.value for item in node.keywords if item.arg == "prefix" for one in [item.value] if isinstance(one, ast.Constant)]
            self.out.structure = [str(inner[0])] if inner else [""]
        for item in node.args:
            self.expression(item, guard, where, scope, condition)
        for keyword in node.keywords:
            self.expression(keyword.value, guard, where, scope, condition)

    def put_there(self, owner: ast.expr, name: ast.expr, scope: dict[str, str | None] | None) -> None:
        """``setattr(numpy, "float", float)``; by a name that is not written out it may be any."""
        found = (
            self.target(owner.id, scope)
            if isinstance(owner, ast.Name)
            else self.dotted(owner, scope)
            if isinstance(owner, ast.Attribute)
            else None
        )
        if found is not None and found.partition(".")[0].partition(":")[0] != self.top:
            told = f".{name.value}" if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
            self.patched.add(f"{found}{told}".replace(":", "."))

    def forget(self, item: ast.stmt, scope: dict[str, str | None] | None) -> None:
        """What a script imported under a name, once a statement at its top level gives the name to something else."""
        if scope is None and self.rebound:
            self.bound.update(dict.fromkeys(self.rebound.intersection(stored_by(item))))

    def target(self, name: str, scope: dict[str, str | None] | None) -> str | None:
        if scope is not None and name in self.rebound and name not in scope:
            return None  # by the time the function is called it may be something else
        return scope[name] if scope is not None and name in scope else self.bound.get(name)

    def of_result(self, node: ast.Attribute, scope: dict[str, str | None] | None) -> str | None:
        """The full name of ``.x`` of an object that stands there as the call that makes it: ``gradio.Chatbot(...).style``."""
        made = made_of(node.value)
        if made is None:
            return None
        name = self.target(made.id, scope) if isinstance(made, ast.Name) else None
        name = self.dotted(made, scope) if isinstance(made, ast.Attribute) else name
        return f"{name}.{node.attr}" if name else None

    def dotted(self, node: ast.Attribute, scope: dict[str, str | None] | None) -> str | None:
        """The full name of ``a.b.c`` where ``a`` is imported."""
        parts = [node.attr]
        value = node.value
        while type(value) is ast.Attribute:
            parts.append(value.attr)
            value = value.value
        if type(value) is not ast.Name:
            return None
        target = self.target(value.id, scope)
        return None if not target else ".".join([target, *reversed(parts)])

    def take(self, name: str, line: int, guard: str, where: str, call: str = "") -> None:
        if name.partition(".")[0].partition(":")[0] != self.top:
            self.record(name, line, guard, where, call)

    def record(self, name: str, line: int, guard: str, where: str, call: str = "") -> None:
        """Keep what is taken, each way of taking it once; of Python's own library what some release of Python no longer has, and of
        somebody's own code what some release has not yet."""
        # Of somebody's own code every line is told.
        own = line if self.own else 0
        key = (name, guard, where if not call else "", call, not where, own)
        if key in self.recorded:
            return
        self.recorded.add(key)
        top = name.partition(".")[0].partition(":")[0]
        dotted = name.replace(":", ".")
        removed = top in REMOVED or dotted in REMOVED or (self.own and (top in MODULES or dotted in NAMES))
        if top not in sys.stdlib_module_names or removed:
            self.out.taken.append(Taken(name, line, guard, where, call))

    # --- messages ----------------------------------------------------------------------------------------

    def raised(self, item: ast.Raise, where: str, condition: str) -> None:
        call = item.exc
        if isinstance(call, ast.Call) and call.args:
            text = template(call.args[0], self._texts())
            if len(call.args) > 1 and (text is None or " " not in text):
                # OSError's number, or pydantic's name of the kind, stands before the message; pydantic fills ``{value}`` in itself.
                behind = template(call.args[1], self._texts())
                text = text if behind is None else re.sub(r"\{\w+\}", "{}", behind)
            if text is not None:
                self.out.said.append(Said(last_word(call), text, where, item.lineno, condition))

    def asserted(self, item: ast.Assert, where: str) -> None:
        text = None if item.msg is None else template(item.msg, self._texts())
        if text is not None:
            words = self.words(item.test)
            self.out.said.append(Said("AssertionError", text, where, item.lineno, f"not ({words})" if words else ""))

    def worded(self, name: str, value: ast.expr) -> None:
        """A message that a module keeps under a name, for whoever raises it."""
        if _WORDED.search(name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
            text = template(ast.Constant(_FILLED.sub("{}", value.value)), {})
            if text is not None:
                self.out.said.append(Said("ImportError" if "IMPORT" in name else "message", text, "", value.lineno))

    def words(self, test: ast.expr) -> str:
        """The text of a condition, on one line."""
        if self.own:
            return ""
        if self.lines is None:
            self.lines = self.text.split("\n")
        first, last = test.lineno - 1, (test.end_lineno or test.lineno) - 1
        rows = self.lines[first : last + 1]
        # Columns count bytes of UTF-8; a line of anything else is left out.
        if not rows or last - first > _MOST_LINES or not (rows[0].isascii() and rows[-1].isascii()):
            return ""
        rows[-1] = rows[-1][: test.end_col_offset]
        rows[0] = rows[0][test.col_offset :]
        return " ".join(" ".join(rows).split())[:_LONGEST_CONDITION]

    def said(self, node: ast.Call, func: ast.Attribute | ast.Name, where: str, condition: str) -> None:
        if self.own or not node.args:
            return
        name = func.attr if isinstance(func, ast.Attribute) else func.id
        level = _LOGGED.get(name)
        if level is None:
            return
        owner = func.value if isinstance(func, ast.Attribute) else None
        about = owner.id if isinstance(owner, ast.Name) else ""
        if name == "warn" and about in ("warnings", ""):
            level = last_word(node.args[1]) if len(node.args) > 1 else "UserWarning"
        elif "log" not in about.lower() and about not in ("self", "rank_zero"):
            return
        text = template(node.args[0], self._texts())
        if text is not None:
            self.out.said.append(Said(level, text, where, node.lineno, condition))

    def _texts(self) -> dict[str, ast.expr]:
        return {**self.guards.names, **self.texts} if self.texts else self.guards.names


def parameters(arguments: ast.arguments) -> list[str]:
    """The names that a function binds by being called."""
    found = [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [*found, *(item.arg for item in (arguments.vararg, arguments.kwarg) if item is not None)]
