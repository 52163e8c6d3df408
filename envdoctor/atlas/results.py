"""What functions of a file give, and what methods of a class find in its fields, where all that is written there is of one class.

``tokenizer = load()`` is of ``AutoTokenizer`` where ``load`` returns such a one and nothing else, and ``self.tokenizer`` where every
assignment to it in the class says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from envdoctor.atlas.objects import made_of
from envdoctor.syntax.walking import statements, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
Result = ast.expr | list[ast.expr | None]
# Of what torch's modules have nothing is said, and models are full of them.
_OF_TORCH = frozenset(("torch", "nn"))
_NAMED = ("load", "get", "build", "create", "init", "make", "setup", "set_up", "prepare", "initialize")


def results_of(body: Sequence[ast.stmt]) -> dict[str, Result]:
    """What the functions at the top level give that load or build something, by name; of a tuple each part."""
    functions = [one for one in body if isinstance(one, ast.FunctionDef) and one.name.lstrip("_").startswith(_NAMED)]
    names = [one.name for one in functions]
    found = {one.name: _result(one) for one in functions if names.count(one.name) == 1 and not one.decorator_list}
    return {name: result for name, result in found.items() if result is not None}


def _result(node: ast.FunctionDef) -> Result | None:
    inside = list(_own(node))
    told = [one.value for one in inside if isinstance(one, ast.Return)]
    if len(told) != 1 or told[0] is None or any(isinstance(one, ast.Yield | ast.YieldFrom) for one in inside):
        return None
    value = told[0]
    if not isinstance(value, ast.Tuple):
        return _made(value, inside, node)
    parts = [_made(one, inside, node) for one in value.elts]
    return parts if any(parts) else None


def _own(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, without what stands in those within it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        item = waiting.pop()
        yield item
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(item)


def _made(value: ast.expr, inside: Sequence[ast.AST], node: ast.FunctionDef) -> ast.expr | None:
    if not isinstance(value, ast.Name):
        return made_of(value)
    stores = sum(isinstance(one, ast.Name) and one.id == value.id and not isinstance(one.ctx, ast.Load) for one in inside)
    assigned = [one.value for one in inside if isinstance(one, ast.Assign) and any(_is(target, value.id) for target in one.targets)]
    parameters = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    made = [made_of(one) for one in assigned]
    first = made[0] if made else None
    if first is None or stores != len(made) or value.id in parameters:
        return None
    return first if all(one is not None and ast.dump(one) == ast.dump(first) for one in made) else None


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def rewrite_fields(body: Sequence[ast.stmt], once: Callable[[str], bool], made: Callable[[ast.expr], ast.expr | None]) -> None:
    """Write the class of a field in its place, in the methods of the class; its name has to be one that the file binds once."""
    imports = (one for one in statements(body) if isinstance(one, ast.Import | ast.ImportFrom))
    names = {(alias.asname or alias.name).partition(".")[0] for one in imports for alias in one.names} - _OF_TORCH

    def made_elsewhere(value: ast.expr) -> ast.expr | None:
        found = made(value)
        return found if found is not None and (root := _root(found)) in names and once(root) else None

    for item in body:
        if isinstance(item, ast.ClassDef):
            methods = [one for one in item.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.args.args]
            fields = _fields(methods, made_elsewhere)
            for method in methods if fields else ():
                own = method.args.args[0].arg
                for node in walk(method):
                    if isinstance(node, ast.Attribute) and (name := _field(node.value, own)) in fields:
                        node.value = fields[name]


def _fields(methods: Sequence[Function], made: Callable[[ast.expr], ast.expr | None]) -> dict[str, ast.expr]:
    """The fields of an object that are made of one class, by every assignment in its methods."""
    told: dict[str, list[ast.expr | None]] = {}
    for method in methods:
        own = method.args.args[0].arg
        for item in statements(method.body):
            if isinstance(item, ast.Assign) and len(item.targets) == 1 and (name := _field(item.targets[0], own)):
                told.setdefault(name, []).append(made(item.value))
    if not any(any(some) for some in told.values()):
        return {}  # most classes: no expression of theirs is looked at
    stores: dict[str, int] = {}
    for method in methods:
        own = method.args.args[0].arg
        for node in walk(method):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and (name := _field(node, own)):
                stores[name] = stores.get(name, 0) + 1
    found: dict[str, ast.expr] = {}
    for name, some in told.items():
        first = some[0]
        if first is None or stores.get(name) != len(some) or any(one is None or ast.dump(one) != ast.dump(first) for one in some):
            continue
        found[name] = first
    return found


def _field(node: ast.expr, own: str) -> str:
    """The field that an attribute of the object itself is; empty of anything else."""
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
