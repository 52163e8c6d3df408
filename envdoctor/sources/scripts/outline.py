"""What stands where in a script: scopes with what they bind, and every call with the conditions above it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from envdoctor.records import dataclass, field
from envdoctor.sources.model.class_tree import Function
from envdoctor.syntax.walking import FIELDS

_CATCHES = frozenset(("ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "Exception", "BaseException"))
# A ``with`` of these goes on after what they catch.
_SUPPRESSES = frozenset(("suppress", "raises", "assertRaises"))
# A handler that ends so ends the run as well.
_ENDS = frozenset(("exit", "_exit", "quit", "abort"))
_TAKEN = frozenset(
    (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem, ast.Lambda,
     ast.Delete, ast.Global, ast.Nonlocal, ast.Return, ast.Import, ast.ImportFrom)
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """One thing that stands above a statement and may keep it from running, and what stands above that.

    ``test`` must come out as ``wanted``; without a test nobody can tell (an ``except``, a ``case``). ``attempt`` is the body of a
    ``try`` that catches what a missing name raises: it runs, and may fail.
    """

    test: ast.expr | None
    wanted: bool
    scope: Scope
    above: Guard | None
    attempt: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A value that a scope gives a name; no ``value``: one that a tree does not show. ``index`` is the place in an unpacked tuple."""

    value: ast.expr | None
    line: int
    guard: Guard | None
    index: int | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """The module, a class or a function: imports (dotted), assignments and, for a function, parameters with their defaults.

    ``leaves``: a branch or an attempt in it ends with a return.
    """

    node: ast.AST
    parent: Scope | None
    imports: dict[str, str] = field(default_factory=dict)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    params: dict[str, ast.arg] = field(default_factory=dict)
    defaults: dict[str, ast.expr] = field(default_factory=dict)
    leaves: bool = False

    def bind(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call or an import, and where it stands."""

    node: ast.AST
    scope: Scope
    guard: Guard | None

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """``target.attribute = value`` or ``target["key"] = value``."""

    target: ast.expr
    key: str
    value: ast.expr | None
    scope: Scope
    guard: Guard | None
    line: int


@dataclass(slots=True)
class Outline:
    """Everything of a script that the readers look at, in the order of its lines.

    ``names`` are references, each with its scope and what stands above it; ``parents`` has no constants. ``attempted`` are names by
    which a file knows how an import went that it provides for: ``HAS_TRL``, a class that may be None, a function that tries.
    """

    module: Scope
    calls: list[Site] = field(default_factory=list)
    names: list[tuple[ast.Name | ast.Attribute, Scope, Guard | None]] = field(default_factory=list)
    imports: list[tuple[str, Site]] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    classes: dict[str, tuple[ast.ClassDef, Scope]] = field(default_factory=dict)
    functions: dict[str, tuple[Function, Scope]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    parents: dict[int, ast.AST] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)
    returns: dict[int, list[ast.expr]] = field(default_factory=dict)
    attempted: set[str] = field(default_factory=set)

    def release(self) -> None:
        """Let go of the tree: a scope and the guards in it hold one another, and of many files the collector has the most to do."""
        for scope in self.scopes:
            scope.bindings.clear()


def outline(body: list[ast.stmt], unused: frozenset[str] = frozenset()) -> Outline:
    """Walk a script once, without recursion: its nesting is bounded by the parser alone.

    ``unused`` are functions of the module that nothing calls: their bodies do not run.
    """
    top = ast.Module(body, [])
    found = Outline(Scope(top, None))
    found.scopes.append(found.module)
    _Walker(found, unused).walk(body)
    found.calls.sort(key=lambda site: site.line)
    return found


_Below = tuple[ast.AST, Scope, "Guard | None"]


class _Walker:
    def __init__(self, found: Outline, unused: frozenset[str]) -> None:
        self.found = found
        self.unused = unused

    def walk(self, body: list[ast.stmt]) -> None:
        """Take down every node, with the scope and the guard that it stands under."""
        stack: list[_Below] = [(item, self.found.module, None) for item in reversed(body)]
        parents, names, calls, fields = self.found.parents, self.found.names, self.found.calls, FIELDS
        while stack:
            node, scope, guard = stack.pop()
            kind = type(node)
            # References are half of all nodes: nothing is asked of them but what they refer to.
            while kind is ast.Attribute:
                assert isinstance(node, ast.Attribute)
                if type(node.ctx) is ast.Load:
                    names.append((node, scope, guard))
                parents[id(node.value)] = node
                node = node.value
                kind = type(node)
            if kind is ast.Name:
                assert isinstance(node, ast.Name)
                if type(node.ctx) is ast.Load:
                    names.append((node, scope, guard))
                continue
            parting = _PARTING.get(kind)
            if parting is not None:
                below = list(parting(self, node, scope, guard))
                for child, _, _ in below:
                    parents[id(child)] = node
                below.reverse()
                stack += below
                continue
            if kind is ast.Call:
                calls.append(Site(node, scope, guard))
                self._set(node, scope, guard)
            elif kind is ast.match_case:
                guard = Guard(None, True, scope, guard)
            elif kind in _TAKEN:
                self._take(node, scope, guard)
            first = len(stack)
            for name in fields[kind]:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    for child in value:
                        if child is not None and type(child) is not ast.Constant:
                            parents[id(child)] = node
                            stack.append((child, scope, guard))
                elif value is not None and type(value) is not ast.Constant:
                    parents[id(value)] = node
                    stack.append((value, scope, guard))
            if len(stack) - first > 1:
                stack[first:] = stack[first:][::-1]

    def _if(self, node: ast.If | ast.IfExp, scope: Scope, guard: Guard | None) -> Iterator[_Below]:
        yield node.test, scope, guard
        body: list[ast.stmt] | list[ast.expr]
        other: list[ast.stmt] | list[ast.expr]
        if isinstance(node, ast.If):
            body, other = node.body, node.orelse
            scope.leaves = scope.leaves or any(block and isinstance(block[-1], ast.Return) for block in (body, other))
        else:
            body, other = [node.body], [node.orelse]
        holds, fails = Guard(node.test, True, scope, guard), Guard(node.test, False, scope, guard)
        yield from ((item, scope, holds) for item in body)
        yield from ((item, scope, fails) for item in other)

    def _try(self, node: ast.Try, scope: Scope, guard: Guard | None) -> Iterator[_Below]:
        scope.leaves = scope.leaves or isinstance(node.body[-1], ast.Return)
        provides = any(map(_catches, node.handlers))
        if provides and any(isinstance(item, ast.Import | ast.ImportFrom) for item in node.body):
            self.found.attempted.update(_tried(node, scope))
        attempt = Guard(None, True, scope, guard, attempt=True) if provides else guard
        yield from ((item, scope, attempt) for item in node.body)
        caught = Guard(None, True, scope, guard)
        yield from ((item, scope, caught) for item in node.handlers)
        yield from ((item, scope, attempt) for item in node.orelse)
        yield from ((item, scope, guard) for item in node.finalbody)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope, guard: Guard | None) -> Iterator[_Below]:
        yield from ((item, scope, guard) for item in node.items)
        attempt = Guard(None, True, scope, guard, attempt=True) if any(map(_suppresses, node.items)) else guard
        yield from ((item, scope, attempt) for item in node.body)

    def _function(self, node: Function, scope: Scope, guard: Guard | None) -> Iterator[_Below]:
        self.found.functions.setdefault(node.name, (node, scope))
        scope.bind(node.name, Binding(None, node.lineno, guard))
        inner = Scope(node, scope)
        self.found.scopes.append(inner)
        arguments = node.args
        plain = [*arguments.posonlyargs, *arguments.args]
        for argument in (*plain, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))):
            inner.params[argument.arg] = argument
        for argument, value in zip(reversed(plain), reversed(arguments.defaults)):  # noqa: B905 - fewer defaults than arguments
            inner.defaults[argument.arg] = value
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                inner.defaults[argument.arg] = default
        yield from ((item, scope, guard) for item in (*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)))
        # Whether a function is called by what runs is not asked: where the file mentions it again, its body counts as run.
        if node.name in self.unused and scope is self.found.module:
            guard = Guard(ast.Constant(False), True, scope, guard)
        yield from ((item, inner, guard) for item in node.body)

    def _class(self, node: ast.ClassDef, scope: Scope, guard: Guard | None) -> Iterator[_Below]:
        inner = Scope(node, scope)
        self.found.scopes.append(inner)
        self.found.classes.setdefault(node.name, (node, inner))
        scope.bind(node.name, Binding(None, node.lineno, guard))
        yield from ((item, scope, guard) for item in (*node.bases, *node.decorator_list, *node.keywords))
        yield from ((item, inner, guard) for item in node.body)

    def _take(self, node: ast.AST, scope: Scope, guard: Guard | None) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, node.lineno, scope, guard)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value, node.lineno, scope, guard)
        elif isinstance(node, ast.NamedExpr):
            self._assign(node.target, node.value, node.lineno, scope, guard)
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)):
            self._assign(node.target, None, node.lineno, scope, guard)
        elif isinstance(node, ast.comprehension):
            self._assign(node.target, None, getattr(node.target, "lineno", 1), scope, guard)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._assign(node.optional_vars, None, node.context_expr.lineno, scope, guard)
        elif isinstance(node, ast.Lambda):
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                scope.bind(argument.arg, Binding(None, node.lineno, guard))
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                self._assign(target, None, node.lineno, scope, guard, bind=not isinstance(target, ast.Name))
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                self.found.module.bind(name, Binding(None, node.lineno, guard))
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.found.returns.setdefault(id(scope), []).append(node.value)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, scope, guard)

    def _assign(self, target: ast.expr, value: ast.expr | None, line: int, scope: Scope, guard: Guard | None, *, bind: bool = True) -> None:
        if isinstance(target, ast.Name):
            if bind:
                scope.bind(target.id, Binding(value, line, guard))
        elif isinstance(target, ast.Attribute):
            self.found.stores.append(Store(target.value, target.attr, value, scope, guard, line))
        elif isinstance(target, ast.Subscript):
            key = target.slice
            name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
            self.found.stores.append(Store(target.value, name, value, scope, guard, line))
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None, line, scope, guard)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = any(isinstance(item, ast.Starred) for item in target.elts)
            for index, item in enumerate(target.elts):
                if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) and not starred:
                    self._assign(item, value.elts[index], line, scope, guard)
                elif isinstance(item, ast.Name) and value is not None and not starred:
                    scope.bind(item.id, Binding(value, line, guard, index))
                else:
                    self._assign(item, None, line, scope, guard)

    def _set(self, node: ast.AST, scope: Scope, guard: Guard | None) -> None:
        """``setattr(torch, "load", load)``, which is an assignment."""
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "setattr" and len(node.args) == 3:
            key = node.args[1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self.found.stores.append(Store(node.args[0], key.value, node.args[2], scope, guard, node.lineno))

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope, guard: Guard | None) -> None:
        site = Site(node, scope, guard)
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.found.imports.append((alias.name, site))
                if alias.asname:
                    scope.imports[alias.asname] = alias.name
                else:
                    first = alias.name.partition(".")[0]
                    scope.imports[first] = first
            return
        package = "." * node.level + (node.module or "")
        self.found.imports.append((package, site))
        for alias in node.names:
            if alias.name == "*":
                self.found.stars.append(package)
                continue
            dotted = f"{package}.{alias.name}"
            self.found.imports.append((dotted, site))
            scope.imports[alias.asname or alias.name] = dotted


_PARTING: Mapping[type[ast.AST], Callable[..., Iterator[_Below]]] = {
    ast.If: _Walker._if, ast.IfExp: _Walker._if, ast.FunctionDef: _Walker._function, ast.AsyncFunctionDef: _Walker._function,
    ast.ClassDef: _Walker._class, ast.Try: _Walker._try, ast.With: _Walker._with, ast.AsyncWith: _Walker._with,
}  # fmt: skip


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler goes on without what was not there."""
    if _ends(handler.body[-1]):
        return False
    if handler.type is None:
        return True
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(item, ast.Name) and item.id in _CATCHES for item in named)


def _ends(last: ast.stmt) -> bool:
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        called = last.value.func
        return (called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else "") in _ENDS
    return isinstance(last, ast.Raise)


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    called = call.func if isinstance(call, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in _SUPPRESSES


def _tried(node: ast.Try, scope: Scope) -> Iterator[str]:
    """The names that tell how an attempt to import went: what it imports or assigns, and the function that returns by it."""
    if isinstance(scope.node, Function) and any(isinstance(item, ast.Return) for item in (*node.body, *node.orelse)):
        yield scope.node.name
    for item in (*node.body, *node.orelse, *(one for handler in node.handlers for one in handler.body)):
        if isinstance(item, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in item.names)
        elif isinstance(item, ast.Assign):
            yield from (target.id for target in item.targets if isinstance(target, ast.Name))
