"""What a script says in two steps, said in one: an object by the class that it was made of, keywords by the dictionary that holds them.

``trainer = Trainer(...)`` and then ``trainer.prediction_loop`` take ``Trainer.prediction_loop``; ``settings = {"a": 1}`` and then
``f(**settings)`` passes ``a``. Only names that are bound once, and dictionaries that nothing adds to.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from envdoctor.syntax.walking import FIELDS, statements, walk

_BINDING = frozenset(
    (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.Global, ast.Nonlocal,
     ast.MatchAs, ast.MatchStar)
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
    nodes = _of_scope(body)
    bound = _bindings(nodes, assigned)
    classes = {name: made for name, made in classes.items() if name not in bound}
    tables = {name: rows for name, rows in tables.items() if name not in bound}
    whole: frozenset[str] | None = None
    for node in nodes:
        if type(node) is ast.Assign and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if bound.get(name) != 1:
                continue
            rows = _keywords(node.value)
            if rows is not None:
                # Asked for where there is such a dictionary alone: it looks through all that stands in the scope.
                whole = _only_unpacked(body) if whole is None else whole
                if name in whole:
                    tables[name] = rows
            elif isinstance(node.value, ast.Call) and _is_class(node.value.func):
                classes[name] = node.value.func
    for node in nodes:
        if type(node) is ast.Call:
            if any(keyword.arg is None for keyword in node.keywords):
                node.keywords = [one for keyword in node.keywords for one in _unpacked(keyword, tables)]
        elif type(node) is ast.Attribute:
            owner = node.value
            if type(owner) is ast.Name and owner.id in classes and type(owner.ctx) is ast.Load:
                node.value = classes[owner.id]
        elif isinstance(node, _Scope):
            _rewrite([node.body] if isinstance(node, ast.Lambda) else node.body, _less(classes, node), _less(tables, node), assigned)


def _of_scope(body: Sequence[ast.AST]) -> list[ast.AST]:
    """The nodes of a scope, without those of the functions and classes in it."""
    waiting = list(body)
    fields = FIELDS
    for node in waiting:
        if isinstance(node, _Scope):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting += [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
            elif isinstance(node, ast.ClassDef):
                waiting += [*node.decorator_list, *node.bases, *node.keywords]
            continue
        for name in fields[type(node)]:
            value = getattr(node, name)
            if value.__class__ is list:
                waiting += value if name != "keys" else [one for one in value if one is not None]
            elif value is not None:
                waiting.append(value)
    return waiting


def _bindings(nodes: Sequence[ast.AST], assigned: set[str]) -> dict[str, int]:
    """How often a scope binds each name, in whatever way; what it shares with another scope counts twice.

    What is ``assigned`` to, and not imported or defined, is told as well.
    """
    found: dict[str, int] = {}
    for node in nodes:
        names: list[str] = []
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)
            if type(node.ctx) is not ast.Load:
                found[node.id] = found.get(node.id, 0) + 1
                assigned.add(node.id)
            continue
        if kind not in _BINDING:
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names = [node.name]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names = [*node.names, *node.names]
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            names = [node.name]
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found


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
