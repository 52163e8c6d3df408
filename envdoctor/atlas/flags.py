"""Names that say how an attempt to import went, and names that keep what a test of what is there came to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from envdoctor.atlas.guards import UNKNOWN, atom
from envdoctor.atlas.signatures import last_word
from envdoctor.syntax.walking import statements, walk

_SHORT = 12
Function = ast.FunctionDef | ast.AsyncFunctionDef


def attempt_flags(item: ast.stmt) -> dict[str, str]:
    """What a ``try`` that reckons with an absence binds, each with the condition under which it is true.

    ``HAVE = True`` beside a plain ``import peft``, with ``HAVE = False`` under its ``except``, says that peft is there. Of everything else
    that it binds no more is known than that it was asked for.
    """
    tried = [*getattr(item, "body", []), *getattr(item, "orelse", [])]
    caught = [one for handler in getattr(item, "handlers", []) for one in handler.body]
    imports = [one for one in tried if isinstance(one, ast.Import | ast.ImportFrom)]
    plain = [alias for one in imports for alias in one.names if isinstance(one, ast.Import)]
    alone = len(plain) == len(imports) == 1 and "." not in plain[0].name
    there = atom(plain[0].name) if alone else UNKNOWN
    found: dict[str, str] = {}
    for name, value in _assigned([*tried, *caught]):
        truth = _is_true(value)
        found[name] = there if truth is not None and found.get(name, there) == there else UNKNOWN
    for name, value in _assigned(tried):
        if _is_true(value) is not True:
            found[name] = UNKNOWN
    for name, value in _assigned(caught):
        if _is_true(value) is not False:
            found[name] = UNKNOWN
    for one in imports if not alone else ():
        found.update({(alias.asname or alias.name).partition(".")[0]: UNKNOWN for alias in one.names})
    return found


def _is_true(value: ast.expr | None) -> bool | None:
    return bool(value.value) if isinstance(value, ast.Constant) else None


def _assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr | None]]:
    for item in body:
        if isinstance(item, ast.Assign | ast.AnnAssign):
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                yield from ((name, item.value) for name in names_of(target))


def names_of(target: ast.expr) -> Iterator[str]:
    """The names that an assignment binds, with those of attributes: ``self.has_it``."""
    for node in walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def put_in_place(target: ast.expr) -> Iterator[str]:
    """The module that an assignment makes: ``sys.modules["transformers.deepspeed"] = ...``."""
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Attribute) or target.value.attr != "modules":
        return
    if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
        yield target.slice.value


def is_asking(node: Function, saves: Callable[[ast.ExceptHandler], bool], asks: Callable[[ast.expr], bool]) -> bool:
    """Whether a short function tells what is there: it tries an import, or returns what a test of it came to."""
    found = list(statements(node.body)) if len(node.body) <= _SHORT else []
    returned = [one.value for one in found if isinstance(one, ast.Return) and one.value is not None]
    if not returned:
        return False
    return any(saves(handler) for one in found for handler in getattr(one, "handlers", ())) or any(map(asks, returned))


def reckons(handler: ast.ExceptHandler, with_: frozenset[str], known: Callable[[ast.expr], Iterable[ast.expr]]) -> bool:
    """Whether an ``except`` catches one of these and does not raise again; exceptions that a name stands for may be any."""
    if handler.body and isinstance(handler.body[-1], ast.Raise):
        return False
    words = {"BaseException"} if handler.type is None else {last_word(one) for one in known(handler.type)}
    return bool(words & with_) or any(word.isupper() for word in words)


def may_skip(item: ast.stmt) -> bool:
    """Whether a statement ends a test where a module, or a release of one, is not there: ``pytest.importorskip("acme.later")``.

    ``assert hasattr(numpy, "float")`` ends it as well.
    """
    if isinstance(item, ast.Assert):
        return any(isinstance(node, ast.Call) and last_word(node.func) == "hasattr" for node in walk(item.test))
    call = item.value if isinstance(item, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call) or last_word(call.func) != "importorskip":
        return False
    first = call.args[0] if call.args else None
    # Of a package as a whole, what follows is as much in need of its names as anything.
    return bool(call.keywords and any(one.arg == "minversion" for one in call.keywords)) or (
        isinstance(first, ast.Constant) and "." in str(first.value)
    )


def skip_tests(decorators: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """What decorators test before a function is run: ``@pytest.mark.skipif(not HAS_IT, reason=...)``, ``@unittest.skipUnless(...)``."""
    for one in decorators:
        if isinstance(one, ast.Call) and one.args and last_word(one.func) in ("skipif", "skipIf", "skipUnless"):
            yield one.args[0]
