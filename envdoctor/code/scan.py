"""What the body of one function calls, reads and sets, and under which tests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from envdoctor.code.shape import DISPLAYS, Arguments, Store, Use
from envdoctor.records import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Decide = Callable[[ast.expr], "bool | None"]

# Tests by which code finds out what an object can do before it asks for it.
_LOOKS = frozenset(("hasattr", "getattr", "callable", "signature", "vars", "dir", "getfullargspec", "find_spec"))
_CATCHES_ABSENCE = frozenset(
    ("AttributeError", "TypeError", "ImportError", "ModuleNotFoundError", "NameError", "Exception", "BaseException")
)
_REGISTERS = frozenset(("register_buffer", "register_parameter", "add_module", "register_module", "__setattr__"))
# Methods after which a dict may lack what it was made with.
_TAKES_OUT = frozenset(("pop", "popitem", "clear"))
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True, slots=True)
class _State:
    """What holds where the scan stands: everything is reckoned with, or these names are; on some branch only."""

    all: bool = False
    names: frozenset[str] = frozenset()
    branch: bool = False

    def under(self, names: frozenset[str] | None, *, branch: bool = True) -> _State:
        if names is None:
            return _State(True, self.names, True)
        return _State(self.all, self.names | names, self.branch or branch)


@dataclass(slots=True)
class Found:
    """What the functions of one class, or of one module, do."""

    uses: list[Use] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    dynamic: bool = False
    strings: set[str] = field(default_factory=set)
    kinds: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    imports: list[tuple[ast.Import | ast.ImportFrom, str, bool]] = field(default_factory=list)


class Scan:
    """Walks functions.

    ``everything`` keeps uses of any name, not only those of ``self`` and ``super()``, and takes a test for what an object
    can do as reckoning with all of it: code that chooses by ``hasattr`` knows what it does. ``decide`` says which branch
    a test takes, where that is known; the other one is not read. Without ``definitions`` nested functions and classes are
    left out.
    """

    def __init__(self, found: Found, *, everything: bool = False, decide: Decide | None = None, definitions: bool = True) -> None:
        self.found = found
        self.everything = everything
        self.decide = decide
        self.definitions = definitions
        self.method = ""
        self.looked: dict[str, frozenset[str] | None] = {}
        self.aliases: dict[str, str] = {}
        self.tables: dict[str, tuple[_State, tuple[str, ...]]] = {}

    def function(self, function: Function, method: str) -> None:
        self.method = method
        self.looked = {}
        self.aliases = {}
        self.tables = {}
        if self.everything:
            for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
                if argument.annotation is not None:
                    self._kind(argument.arg, argument.annotation)
        for default in (*function.args.defaults, *(item for item in function.args.kw_defaults if item is not None)):
            self.visit(default, _State())
        self.block(function.body, _State())

    def block(self, body: Iterable[ast.stmt], state: _State | None = None) -> None:
        state = _State() if state is None else state
        for statement in body:
            self.visit(statement, state)
            if isinstance(statement, ast.If) and _leaves(statement.body):
                looked = self._looks(statement.test)
                if looked:
                    state = state.under(looked, branch=False)

    def visit(self, node: ast.AST, state: _State, result: str = "") -> None:
        if isinstance(node, ast.Name | ast.Constant | ast.expr_context | ast.operator):
            return
        if isinstance(node, ast.Call):
            self._call(node, state, result)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, state)
        elif isinstance(node, ast.If):
            self._choice(node.test, node.body, node.orelse, state)
        elif isinstance(node, ast.IfExp):
            self._choice(node.test, [node.body], [node.orelse], state)
        elif isinstance(node, ast.While):
            self._choice(node.test, node.body, node.orelse, state)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._try(node, state)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                self.visit(value, state)
                state = state.under(self._looks(value))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            source = node.iter if isinstance(node, ast.For | ast.AsyncFor) else node.generators[0].iter
            self.visit(source, state)
            for child in ast.iter_child_nodes(node):
                for part in [child.target, *child.ifs] if isinstance(child, ast.comprehension) and child.iter is source else [child]:
                    if part is not source:
                        self.visit(part, state.under(frozenset()))
        elif isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not self._continues(node)):
            return
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
            for child in body:
                self.visit(child, state.under(frozenset()))
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.visit(item.context_expr, state)
            suppresses = any("suppress" in names_in(item.context_expr) for item in node.items)
            self.block(node.body, state.under(None) if suppresses else state)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(node, state)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self.found.imports.append((node, self.method, state.all or bool(state.names) or state.branch))
        elif isinstance(node, ast.Raise) and self.everything and not state.branch:
            self.found.uses.append(Use(self.method, "raise", "", node.lineno))
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Del) and isinstance(node.value, ast.Name):
                self.tables.pop(node.value.id, None)
            self.visit(node.value, state, "indexed")
            self.visit(node.slice, state)
        else:
            for child in ast.iter_child_nodes(node):
                self.visit(child, state)

    def _continues(self, node: Function) -> bool:
        """Whether a nested function is about the same object; a nested class, or another ``self``, is not."""
        return self.definitions and not (node.args.args and node.args.args[0].arg == "self")

    # --- branches --------------------------------------------------------------------------------

    def _choice(self, test: ast.expr, body: Iterable[ast.AST], orelse: Iterable[ast.AST], state: _State) -> None:
        known = self.decide(test) if self.decide is not None else None
        if known is not None:
            for part in body if known else orelse:
                self.visit(part, state)
            return
        self.visit(test, state)
        inside = state.under(self._looks(test))
        for branch in (list(body), list(orelse)):
            if branch and isinstance(branch[0], ast.stmt):
                self.block([part for part in branch if isinstance(part, ast.stmt)], inside)
            else:
                for part in branch:
                    self.visit(part, inside)

    def _try(self, node: ast.AST, state: _State) -> None:
        assert isinstance(node, ast.Try) or type(node).__name__ == "TryStar"
        handlers: list[ast.ExceptHandler] = getattr(node, "handlers", [])
        caught: set[str] = set()
        for handler in handlers:
            caught |= {"BaseException"} if handler.type is None else names_in(handler.type)
        inside = state.under(None) if caught & _CATCHES_ABSENCE else state
        self.block(getattr(node, "body", []), inside)
        for handler in handlers:
            self.block(handler.body, inside.under(frozenset()))
        self.block(getattr(node, "orelse", []), inside)
        self.block(getattr(node, "finalbody", []), state)

    def _looks(self, test: ast.expr) -> frozenset[str] | None:
        """The names that a test asks for; None where it reckons with anything, as a test of a release does."""
        asked: set[str] = set()
        for node in ast.walk(test):
            if isinstance(node, ast.Call):
                called = _last(node.func)
                if called in _LOOKS:
                    asked |= names_in(node) | {called}
                elif called == "isinstance" and not self.everything:
                    asked |= names_in(node)
                elif self.everything and called.startswith("is_") and any(word in called for word in ("available", "version", "greater")):
                    return None
            elif isinstance(node, ast.Name):
                known = self.looked.get(node.id, frozenset())
                if known is None or (self.everything and ("version" in node.id.lower() or node.id == "TYPE_CHECKING")):
                    return None
                asked |= known
            elif isinstance(node, ast.Attribute) and node.attr == "__version__":
                return None
        return frozenset(asked)

    # --- what is used ----------------------------------------------------------------------------

    def _call(self, node: ast.Call, state: _State, result: str) -> None:
        func = node.func
        # What was made on another branch may be another dict.
        arguments = _arguments(node, {name: keys for name, (made, keys) in self.tables.items() if made == state})
        if isinstance(func, ast.Attribute):
            if isinstance(func.value, ast.Name) and func.attr in _TAKES_OUT:
                self.tables.pop(func.value.id, None)
            owner = self._owner(func.value)
            if owner in ("self", "super"):
                self._use(owner, func.attr, func.lineno, state, arguments, result=result)
                if owner == "self" and func.attr in _REGISTERS and node.args:
                    self._store(node.args[0], node.lineno)
                if owner == "self" and func.attr == "apply" and node.args:
                    self._partial(node.args[0], state)
            elif isinstance(func.value, ast.Attribute) and self._owner(func.value.value) == "self" and func.value.attr != "config":
                self._use("self", func.value.attr, func.lineno, state, None, via=func.attr)
                if func.value.attr == "__dict__" and func.attr == "update":
                    self.found.dynamic = True
            elif owner:
                self._use(owner, func.attr, func.lineno, state, arguments, result=result)
            elif isinstance(func.value, ast.Name) and func.value.id in self.aliases:
                self._use("self", self.aliases[func.value.id], func.lineno, state, None, via=func.attr)
            else:
                self.visit(func.value, state)
        elif isinstance(func, ast.Name):
            if func.id == "setattr" and node.args and self._owner(node.args[0]) == "self":
                self._store(node.args[1] if len(node.args) > 1 else node.args[0], node.lineno)
            elif func.id in ("len", "iter", "str", "bool") and node.args and self._owner(node.args[0]) == "self":
                self._use("self", f"__{func.id}__", node.lineno, state, Arguments())
            elif func.id == "partial":
                self._partial(node, state)
            elif self.everything:
                self._use("", func.id, node.lineno, state, arguments, result=result)
        else:
            self.visit(func, state)
        for item in node.args:
            self.visit(item, state)
        for keyword in node.keywords:
            self.visit(keyword.value, state)

    def _partial(self, node: ast.expr, state: _State) -> None:
        """``partial(self.method, name=value)``: called with these keywords, and with more that is not known."""
        if isinstance(node, ast.Call) and _last(node.func) == "partial" and node.args:
            target = node.args[0]
            if isinstance(target, ast.Attribute) and self._owner(target.value) == "self":
                keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
                self._use("self", target.attr, node.lineno, state, Arguments(0, keywords, 0, True))

    def _attribute(self, node: ast.Attribute, state: _State) -> None:
        owner = self._owner(node.value)
        if isinstance(node.ctx, ast.Store):
            if owner == "self":
                self.found.stores.append(Store(self.method, node.attr, node.lineno))
            elif self.everything:
                self.found.strings.add(node.attr)
                self.found.uses.append(Use(self.method, "=", node.attr, node.lineno, via=self._owner(node.value)))
            return
        if owner:
            self._use(owner, node.attr, node.lineno, state, None)
        if not owner or owner == "self.config":
            self.visit(node.value, state)

    def _owner(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id if self.everything or node.id == "self" or node.id.endswith("config") else ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            return "super"
        if isinstance(node, ast.Attribute) and node.attr == "config" and isinstance(node.value, ast.Name) and node.value.id == "self":
            return "self.config"
        return ""

    def _use(self, owner: str, name: str, line: int, state: _State, arguments: Arguments | None, via: str = "", result: str = "") -> None:
        guarded = state.all or (bool(state.names) if self.everything else name in state.names)
        self.found.uses.append(Use(self.method, owner, name, line, guarded, state.branch, arguments, via, result))

    def _store(self, name: ast.expr, line: int) -> None:
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            self.found.stores.append(Store(self.method, name.value, line))
        else:
            self.found.dynamic = True

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, state: _State) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            unpacks = any(isinstance(target, ast.Tuple | ast.List) for target in targets)
            kept = all(isinstance(target, ast.Subscript | ast.Attribute) for target in targets)
            self.visit(node.value, state, "unpacked" if unpacks else "whole" if kept else "")
            looked = self._looks(node.value)
            for target in targets:
                if isinstance(target, ast.Name):
                    self._local(target.id, node.value, looked)
                    self._table(target.id, node.value, state)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and self.everything:
            self._kind(node.target.id, node.annotation)
        for target in targets:
            self.visit(target, state)

    def _local(self, name: str, value: ast.expr, looked: frozenset[str] | None) -> None:
        if looked is None or looked & _LOOKS:
            self.looked[name] = looked
        else:
            self.looked.pop(name, None)
        if isinstance(value, ast.Attribute) and self._owner(value.value) == "self":
            self.aliases[name] = value.attr
        else:
            self.aliases.pop(name, None)
        if self.everything and isinstance(value, ast.Call):
            self._kind(name, value.func)

    def _table(self, name: str, value: ast.expr, state: _State) -> None:
        self.tables.pop(name, None)
        if isinstance(value, ast.Dict):
            keys = tuple(key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
            self.tables[name] = (state, keys)

    def _kind(self, name: str, expression: ast.expr) -> None:
        self.found.kinds.setdefault((self.method, name), set()).update(names_in(expression))


def names_in(node: ast.AST) -> set[str]:
    """Names, attributes and texts of an expression."""
    found: set[str] = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            found.add(item.id)
        elif isinstance(item, ast.Attribute):
            found.add(item.attr)
        elif isinstance(item, ast.Constant) and isinstance(item.value, str) and len(item.value) < 200:
            found.update(word for word in item.value.replace("[", " ").replace("]", " ").replace(",", " ").replace(".", " ").split())
    return found


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _arguments(node: ast.Call, tables: Mapping[str, tuple[str, ...]]) -> Arguments:
    """What a call passes; of a ``**`` the keys that its dict was made with, which may have got more since."""
    given = [keyword.value.id for keyword in node.keywords if keyword.arg is None and isinstance(keyword.value, ast.Name)]
    unpacked = [key for name in given for key in tables.get(name, ())]
    stars = int(any(isinstance(item, ast.Starred) for item in node.args)) + 2 * int(any(item.arg is None for item in node.keywords))
    count = sum(not isinstance(item, ast.Starred) for item in node.args)
    return Arguments(count, (*(item.arg for item in node.keywords if item.arg is not None), *unpacked), stars)


def display(value: ast.expr | None) -> str:
    """The kind of a literal: list, tuple, set, dict, str, none; empty for any other expression."""
    if isinstance(value, ast.Constant):
        if value.value is None or isinstance(value.value, bool):
            return str(value.value).lower()
        return "str" if isinstance(value.value, str) else ""
    kind = type(value).__name__.removesuffix("Comp").lower() if isinstance(value, _CONTAINERS) else ""
    return kind if kind in DISPLAYS else ""


def returned(function: Function) -> int:
    """The length of the tuples that every return statement gives; 0 where they differ, or one gives something else."""
    lengths = {len(value.elts) if isinstance(value := item.value, ast.Tuple) else 0 for item in _returns(function.body)}
    return lengths.pop() if len(lengths) == 1 else 0


def _returns(body: Iterable[ast.AST]) -> Iterator[ast.Return]:
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack += ast.iter_child_nodes(node)
