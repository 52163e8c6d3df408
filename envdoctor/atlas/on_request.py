"""What a module's ``__getattr__`` gives: names that its source compares the one asked for with, before it refuses all others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envdoctor.records import dataclass, field
from envdoctor.syntax.walking import statements, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Names that are put into the module's own table, which is called something else first.
_OWN_TABLE = re.compile(
    r"(?m)globals\(\)\.update"
    # It is handed to a function that may put anything there: ``lazy_import(globals(), aliases={...})`` of websockets.
    r"|^ *(?:[\w, ]+ = *)?(?!(?:dict|frozenset|len|list|print|set|sorted|tuple)\()[\w.]+\(\s*globals\(\)\s*[,)]"
)
_TABLES = ("globals()", "locals()", "vars()")
_ITSELF = "sys.modules[__name__]"


@dataclass(slots=True)
class Requests:
    """What a module gives beyond what its statements bind: ``names``; ``refuses``: its ``__getattr__`` gives no others.

    ``unexplained`` counts the statements that put other names into the module's own table; ``in_place`` says that all it does with itself
    as an object is to take over the members of its own enumerations, or to name itself in an error.
    """

    names: list[str] = field(default_factory=list)
    refuses: bool = False
    unexplained: int = 0
    in_place: bool = False


def read_requests(tree: ast.Module, text: str, bound: Mapping[str, ast.expr]) -> Requests:
    """Read the ``__getattr__`` of a module and its loops over names; ``bound`` is what its top level binds."""
    found = Requests(
        unexplained=len(_OWN_TABLE.findall(text)) + _stores(tree) + _seen_whole(tree)
        if "globals()" in text or "locals()" in text or "vars()" in text
        else 0
    )
    members = _members_taken_over(tree, text, bound)
    if members is not None:  # PIL.Image, of Resampling and its like
        found.names += members
        found.in_place = True
    if not found.unexplained and "__getattr__" not in text:
        return found
    asked: list[frozenset[str] | None] = []
    named = 0
    for item in _at_the_top(tree.body):
        if isinstance(item, Function) and item.name == "__getattr__":
            given = given_on_request(item, bound)
            asked.append(given)
            if given is not None:  # what it was asked for once it keeps there
                found.unexplained -= sum(_puts(one, item.args.args[0].arg) for one in statements(item.body))
                named += ast.unparse(item).count(_ITSELF)
        elif isinstance(item, ast.ClassDef) and item.name == "__getattr__":  # matplotlib's, whose members are the names
            found.names += [one.name for one in item.body if isinstance(one, Function | ast.ClassDef)]
            assigned = (one.targets for one in item.body if isinstance(one, ast.Assign))
            found.names += [one.id for targets in assigned for one in targets if isinstance(one, ast.Name)]
        elif isinstance(item, ast.For) and isinstance(item.target, ast.Name) and (names := _texts(item.iter)) is not None:
            puts = sum(_puts(one, item.target.id) for one in statements(item.body))
            found.unexplained -= puts
            found.names += names if puts else []
    found.refuses = bool(asked) and None not in asked
    found.in_place = found.in_place or (found.refuses and named == text.count(_ITSELF) > 0)
    found.names += sorted(name for one in asked for name in one or ())
    return found


def _at_the_top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is loaded, but for those of its functions and classes."""
    for item in body:
        yield item
        if not isinstance(item, Function | ast.ClassDef):
            for kind in ("body", "orelse", "finalbody"):
                yield from _at_the_top(getattr(item, kind, ()))
            for handler in getattr(item, "handlers", ()):
                yield from _at_the_top(handler.body)


def _members_taken_over(tree: ast.Module, text: str, bound: Mapping[str, ast.expr]) -> list[str] | None:
    """The members of classes of a module that it sets on itself in a loop over these; None where it does anything else with itself."""
    own = [name for name, value in bound.items() if ast.unparse(value) == _ITSELF] if _ITSELF in text else []
    if len(own) != 1 or text.count(_ITSELF) != 1:
        return None
    uses = sum(isinstance(node, ast.Name) and node.id == own[0] for node in walk(tree)) - 1
    classes = {item.name: item for item in tree.body if isinstance(item, ast.ClassDef)}
    names: list[str] = []
    for item in tree.body:
        if not isinstance(item, ast.For) or not isinstance(item.iter, ast.Tuple) or len(item.body) != 1:
            continue
        inner = item.body[0]
        of_loop = isinstance(inner, ast.For) and isinstance(item.target, ast.Name) and isinstance(inner.target, ast.Name)
        if not of_loop or ast.unparse(inner.iter) != ast.unparse(item.target) or len(inner.body) != 1:  # type: ignore[attr-defined]
            continue
        member = inner.target.id  # type: ignore[attr-defined]
        looped = [classes.get(one.id) if isinstance(one, ast.Name) else None for one in item.iter.elts]
        if None in looped or ast.unparse(inner.body[0]) != f"setattr({own[0]}, {member}.name, {member}.value)":  # type: ignore[attr-defined]
            continue
        uses -= 1
        assigned = (one for kind in looped if kind is not None for one in kind.body if isinstance(one, ast.Assign))
        names += [target.id for one in assigned for target in one.targets if isinstance(target, ast.Name)]
    return names if names and not uses else None


def _stores(tree: ast.Module) -> int:
    """How often something is put into ``globals()`` by a name: to read from it adds none."""
    return sum(
        isinstance(node, ast.Subscript)
        and not isinstance(node.ctx, ast.Load)
        and _is_table(node.value, "globals")
        and not (isinstance(node.slice, ast.Constant) and node.slice.value == "__file__")
        for node in walk(tree)
    )


def _is_table(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names and not node.args


def _seen_whole(tree: ast.Module) -> int:
    """How often a module calls its table something else, or puts names into it, as ``locals()`` or ``vars()``: in a function or a class
    these are another table."""
    found = 0
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            filled = isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load))
            if filled or isinstance(node, ast.Assign):
                found += _is_table(node.value, "locals", "vars")  # type: ignore[attr-defined]
            waiting += ast.iter_child_nodes(node)
    return found


def _puts(item: ast.stmt, name: str) -> bool:
    """``globals()[name] = ...``."""
    target = item.targets[0] if isinstance(item, ast.Assign) else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Call) or not isinstance(target.slice, ast.Name):
        return False
    return isinstance(target.value.func, ast.Name) and target.value.func.id == "globals" and target.slice.id == name


def given_on_request(node: Function, bound: Mapping[str, ast.expr]) -> frozenset[str] | None:
    """The names that a ``__getattr__`` may give; None where it may give any."""
    asked = node.args.args[0].arg if len(node.args.args) == 1 else ""
    given: set[str] = set()
    inner = [item for item in node.body if isinstance(item, ast.Assign) and len(item.targets) == 1]
    bound = {**bound, **{item.targets[0].id: item.value for item in inner if isinstance(item.targets[0], ast.Name)}}
    return frozenset(given) if asked and _refuses(node.body, asked, bound, given) else None


def _refuses(body: Sequence[ast.stmt], asked: str, names: Mapping[str, ast.expr], given: set[str]) -> bool:
    """Whether all names but those ``given`` end in an error."""
    for item in body:
        if isinstance(item, ast.Raise) or _gives_its_own(item, asked):
            return True
        if not isinstance(item, ast.If):
            if _may_return([item]):
                return False
            continue
        told = _compared(item.test, asked, names)
        others = _others(item.test, asked, names) if isinstance(item.body[-1], ast.Raise) else None
        if others is not None:  # ``if name not in TABLE: raise``
            given.update(others)
            return True
        if _may_return(item.body):
            if told is None:
                return False
            given.update(told)
        # An ``elif`` is another question to the same name.
        if _refuses(item.orelse, asked, names, given):
            return True
        if _may_return(item.orelse) and not (len(item.orelse) == 1 and isinstance(item.orelse[0], ast.If)):
            return False
        if len(item.orelse) == 1 and isinstance(item.orelse[0], ast.If) and _open(item.orelse[0], asked, names):
            return False
    return False


def _gives_its_own(item: ast.stmt, asked: str) -> bool:
    """``try: return globals()[name]``, which is asked for no name that is there, and an error otherwise."""
    if not isinstance(item, ast.Try) or len(item.body) != 1 or item.orelse or item.finalbody or not item.handlers:
        return False
    return ast.unparse(item.body[0]) == f"return globals()[{asked}]" and all(isinstance(one.body[-1], ast.Raise) for one in item.handlers)


def _open(item: ast.If, asked: str, names: Mapping[str, ast.expr]) -> bool:
    """Whether one branch of a chain returns for names that nobody can tell."""
    rest = item.orelse
    if _may_return(item.body) and _compared(item.test, asked, names) is None:
        return True
    return _open(rest[0], asked, names) if len(rest) == 1 and isinstance(rest[0], ast.If) else _may_return(rest)


def _others(test: ast.expr, asked: str, names: Mapping[str, ast.expr]) -> list[str] | None:
    """The names for which a test does not hold, and all others do: ``name not in TABLE``."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotIn):
        return _compared(ast.Compare(test.left, [ast.In()], test.comparators), asked, names)
    return None


def _may_return(body: Iterable[ast.stmt]) -> bool:
    return any(isinstance(one, ast.Return) for one in statements(body))


def _compared(test: ast.expr, asked: str, names: Mapping[str, ast.expr]) -> list[str] | None:
    """The names for which a test holds; None where nobody can tell."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        parts = [_compared(value, asked, names) for value in test.values]
        return None if None in parts else [name for part in parts for name in part or ()]
    looked_up = test.value if isinstance(test, ast.NamedExpr) else test
    if isinstance(looked_up, ast.Call) and isinstance(looked_up.func, ast.Attribute) and looked_up.func.attr == "get":
        # ``if module := TABLE.get(name)``
        owner, arguments = looked_up.func.value, looked_up.args
        by_name = len(arguments) == 1 and isinstance(arguments[0], ast.Name) and arguments[0].id == asked
        return _listed(names.get(owner.id, owner), names) if by_name and isinstance(owner, ast.Name) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name) or test.left.id != asked:
        return None
    other = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq):
        other = names.get(other.id, other) if isinstance(other, ast.Name) else other  # starlette's ``__deprecated__``
        return [other.value] if isinstance(other, ast.Constant) and isinstance(other.value, str) else None
    if not isinstance(test.ops[0], ast.In):
        return None
    return _listed(names.get(other.id, other) if isinstance(other, ast.Name) else other, names)


def _listed(value: ast.expr, names: Mapping[str, ast.expr]) -> list[str] | None:
    """The texts of a table, also of one that turns another one round: ``{name: key for key, some in TABLE.items() for name in some}``."""
    if not isinstance(value, ast.DictComp) or len(value.generators) != 2:
        return _texts(value)
    outer, inner = value.generators
    pair = outer.target.elts if isinstance(outer.target, ast.Tuple) else []
    table = next((name for name in names if ast.unparse(outer.iter) == f"{name}.items()"), "")
    told = names.get(table)
    plain = not outer.ifs and not inner.ifs and len(pair) == 2 and isinstance(told, ast.Dict)
    if not plain or ast.dump(inner.iter) != ast.dump(_loaded(pair[1])) or ast.dump(_loaded(inner.target)) != ast.dump(value.key):
        return None
    parts = [_texts(one) for one in told.values]  # type: ignore[union-attr]
    return None if None in parts else [name for part in parts for name in part or ()]


def _loaded(node: ast.expr) -> ast.expr:
    return ast.Name(node.id, ast.Load()) if isinstance(node, ast.Name) else node


def _texts(value: ast.expr) -> list[str] | None:
    """The texts of a list, a tuple, a set or the keys of a dictionary; None where something else is among them."""
    elements = value.keys if isinstance(value, ast.Dict) else value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else None
    if elements is None or not all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in elements):
        return None
    return [str(one.value) for one in elements if isinstance(one, ast.Constant)]
