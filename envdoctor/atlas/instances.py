"""What a script says in two steps, said in one: an object by the class that it was made of, keywords by the dictionary that holds them.

``trainer = Trainer(...)`` and then ``trainer.prediction_loop`` take ``Trainer.prediction_loop``; ``settings = {"a": 1}`` and then
``f(**settings)`` passes ``a``. Only names that are bound once, and dictionaries that nothing adds to.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from envdoctor.syntax.walking import FIELDS, statements, walk

_KEPT = frozenset(
    (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.Global,
     ast.Nonlocal, ast.MatchAs, ast.MatchStar, ast.Call, ast.Assign)
)  # fmt: skip
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def in_one_step(body: Sequence[ast.stmt]) -> bool:
    """Write uses of such names in their place, in the tree itself; whether anything in it assigns to a name that an import binds."""
    assigned: set[str] = set()
    _rewrite(list(body), {}, {}, assigned)
    imports = (one for one in statements(body) if isinstance(one, ast.Import | ast.ImportFrom))
    return not assigned.isdisjoint((alias.asname or alias.name).partition(".")[0] for one in imports for alias in one.names)


def _rewrite(body: Sequence[ast.AST], classes: dict[str, ast.expr], tables: dict[str, list[ast.keyword]], assigned: set[str]) -> None:
    """One scope, with what the scopes around it have settled."""
    scope = _Contents()
    scope.read(body)
    bound = scope.bound
    assigned |= scope.stored
    if not bound.keys().isdisjoint(classes):
        classes = {name: made for name, made in classes.items() if name not in bound}
    if not bound.keys().isdisjoint(tables):
        tables = {name: rows for name, rows in tables.items() if name not in bound}
    own = [one for one in scope.assigned if bound[one.targets[0].id] == 1]  # type: ignore[attr-defined]
    if own:
        classes, tables = dict(classes), dict(tables)
        _settle(own, body, classes, tables)
    for call in scope.unpacking:
        call.keywords = [one for keyword in call.keywords for one in _unpacked(keyword, tables)]
    for attribute in scope.attributes if classes else ():
        owner = attribute.value
        if type(owner) is ast.Name and owner.id in classes and type(owner.ctx) is ast.Load:
            attribute.value = classes[owner.id]
    for node in scope.inner:
        _rewrite([node.body] if isinstance(node, ast.Lambda) else node.body, _less(classes, node), _less(tables, node), assigned)


def _settle(
    assigned: Sequence[ast.Assign], body: Sequence[ast.AST], classes: dict[str, ast.expr], tables: dict[str, list[ast.keyword]]
) -> None:
    """Take down what names of a scope stand for that are assigned to once."""
    whole: frozenset[str] | None = None
    for one in assigned:
        assert isinstance(one.targets[0], ast.Name)
        name = one.targets[0].id
        rows = _keywords(one.value)
        if rows is not None:
            # Asked for where there is such a dictionary alone: it looks through all that stands in the scope.
            whole = _only_unpacked(body) if whole is None else whole
            if name in whole:
                tables[name] = rows
        elif isinstance(one.value, ast.Call) and _is_class(one.value.func):
            classes[name] = one.value.func


class _Contents:
    """The nodes of a scope that anything is asked of, without those of the functions and classes in it; each looked at once.

    ``bound`` counts how often the scope binds each name, in whatever way; what it shares with another scope counts twice. ``stored`` are
    the names that are assigned to, and not imported or defined.
    """

    def __init__(self) -> None:
        self.bound: dict[str, int] = {}
        self.stored: set[str] = set()
        self.assigned: list[ast.Assign] = []
        self.unpacking: list[ast.Call] = []
        self.attributes: list[ast.Attribute] = []
        self.inner: list[_Scope] = []

    def read(self, body: Sequence[ast.AST]) -> None:
        waiting = list(body)
        bound, fields = self.bound, FIELDS
        for node in waiting:
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                    name = node.id  # type: ignore[attr-defined]
                    bound[name] = bound.get(name, 0) + 1
                    self.stored.add(name)
                continue
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                self.attributes.append(node)  # type: ignore[arg-type]
                waiting.append(node.value)  # type: ignore[attr-defined]
                continue
            if kind in _KEPT:
                self._keep(node)
                if isinstance(node, _Scope):
                    waiting += _outside(node)
                    continue
            for field in fields[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    waiting += value if field != "keys" else [one for one in value if one is not None]
                elif value is not None:
                    waiting.append(value)

    def _keep(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            if any(keyword.arg is None for keyword in node.keywords):
                self.unpacking.append(node)
            return
        if isinstance(node, ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call | ast.Dict):
                self.assigned.append(node)
            return
        if isinstance(node, _Scope):
            self.inner.append(node)
        for name in _names_bound(node):
            self.bound[name] = self.bound.get(name, 0) + 1


def _outside(node: _Scope) -> list[ast.expr | ast.keyword]:
    """What of a function or a class stands in the scope around it."""
    if isinstance(node, ast.Lambda):
        return []
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]


def _names_bound(node: ast.AST) -> list[str]:
    """The names that a statement binds which assigns to none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return [*node.names, *node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return [node.name]
    return []


def _less(known: dict, node: ast.AST) -> dict:  # type: ignore[type-arg]
    """What a function sees of what is known around it: not what its parameters hide."""
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return dict(known)
    from envdoctor.atlas.expressions import parameters

    hidden = parameters(arguments)
    return {name: one for name, one in known.items() if name not in hidden}


def _is_class(function: ast.expr) -> bool:
    """Whether a callee is written as a class is."""
    name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    return name[:1].isupper() and not name.isupper()


def _keywords(value: ast.expr) -> list[ast.keyword] | None:
    """The keywords that a dictionary holds, where all of them are written down."""
    if isinstance(value, ast.Dict):
        if not value.keys or not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in value.keys):
            return None
        pairs = zip(value.keys, value.values, strict=True)
        return [ast.keyword(str(key.value), one) for key, one in pairs if isinstance(key, ast.Constant)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args and value.keywords:
        return list(value.keywords) if all(one.arg for one in value.keywords) else None
    return None


def _only_unpacked(body: Sequence[ast.AST]) -> frozenset[str]:
    """The names of which nothing is done but to unpack them into calls: what else could change a dictionary."""
    unpacked: dict[str, int] = {}
    named: dict[str, int] = {}
    for item in body:
        for node in walk(item):
            if isinstance(node, ast.keyword) and node.arg is None and isinstance(node.value, ast.Name):
                unpacked[node.value.id] = unpacked.get(node.value.id, 0) + 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                named[node.id] = named.get(node.id, 0) + 1
    return frozenset(name for name, count in unpacked.items() if named.get(name, 0) == count)


def _unpacked(keyword: ast.keyword, tables: dict[str, list[ast.keyword]]) -> list[ast.keyword]:
    if keyword.arg is not None:
        return [keyword]
    if isinstance(keyword.value, ast.Name) and keyword.value.id in tables:
        return [ast.keyword(one.arg, keyword.value) for one in tables[keyword.value.id]]
    rows = _keywords(keyword.value)
    return [keyword] if rows is None else rows
