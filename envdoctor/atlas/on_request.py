"""What a module's ``__getattr__`` gives: names that its source compares the one asked for with, before it refuses all others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envdoctor.records import dataclass, field
from envdoctor.syntax.walking import statements

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Names that are put into the module's own table, which is called something else first.
_OWN_TABLE = re.compile(
    r"(?m)globals\(\)(?:\[|\.update)|^\w* *=? *(?:locals|vars)\(\)"
    # It is handed to a function that may put anything there: ``lazy_import(globals(), aliases={...})`` of websockets.
    r"|^ *(?:[\w, ]+ = *)?(?!(?:dict|frozenset|len|list|print|set|sorted|tuple)\()[\w.]+\(\s*globals\(\)\s*[,)]"
)


@dataclass(slots=True)
class Requests:
    """What a module gives beyond what its statements bind: ``names``; ``refuses``: its ``__getattr__`` gives no others.

    ``unexplained`` counts the statements that put other names into the module's own table.
    """

    names: list[str] = field(default_factory=list)
    refuses: bool = False
    unexplained: int = 0


def read_requests(tree: ast.Module, text: str, bound: Mapping[str, ast.expr]) -> Requests:
    """Read the ``__getattr__`` of a module and its loops over names; ``bound`` is what its top level binds."""
    found = Requests(unexplained=len(_OWN_TABLE.findall(text.replace('globals()["__file__"]', ""))))
    if not found.unexplained and "__getattr__" not in text:
        return found
    asked: list[frozenset[str] | None] = []
    for item in _at_the_top(tree.body):
        if isinstance(item, Function) and item.name == "__getattr__":
            given = given_on_request(item, bound)
            asked.append(given)
            if given is not None:  # what it was asked for once it keeps there
                found.unexplained -= sum(_puts(one, item.args.args[0].arg) for one in statements(item.body))
        elif isinstance(item, ast.ClassDef) and item.name == "__getattr__":  # matplotlib's, whose members are the names
            found.names += [one.name for one in item.body if isinstance(one, Function | ast.ClassDef)]
            assigned = (one.targets for one in item.body if isinstance(one, ast.Assign))
            found.names += [one.id for targets in assigned for one in targets if isinstance(one, ast.Name)]
        elif isinstance(item, ast.For) and isinstance(item.target, ast.Name) and (names := _texts(item.iter)) is not None:
            puts = sum(_puts(one, item.target.id) for one in statements(item.body))
            found.unexplained -= puts
            found.names += names if puts else []
    found.refuses = bool(asked) and None not in asked
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
    return frozenset(given) if asked and _refuses(node.body, asked, bound, given) else None


def _refuses(body: Sequence[ast.stmt], asked: str, names: Mapping[str, ast.expr], given: set[str]) -> bool:
    """Whether all names but those ``given`` end in an error."""
    for item in body:
        if isinstance(item, ast.Raise):
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
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Name) or test.left.id != asked:
        return None
    other = test.comparators[0]
    if isinstance(test.ops[0], ast.Eq):
        return [other.value] if isinstance(other, ast.Constant) and isinstance(other.value, str) else None
    if not isinstance(test.ops[0], ast.In):
        return None
    return _texts(names.get(other.id, other) if isinstance(other, ast.Name) else other)


def _texts(value: ast.expr) -> list[str] | None:
    """The texts of a list, a tuple, a set or the keys of a dictionary; None where something else is among them."""
    elements = value.keys if isinstance(value, ast.Dict) else value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else None
    if elements is None or not all(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in elements):
        return None
    return [str(one.value) for one in elements if isinstance(one, ast.Constant)]
