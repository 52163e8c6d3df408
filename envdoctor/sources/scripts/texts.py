"""Texts that a script puts together, with ``?`` for what it does not show: ``os.path.join(out, "a.py")`` is ``?/a.py``."""

from __future__ import annotations

import ast
import re

from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.reading import Reading

OPEN = "?"
_DEEPEST = 12
_LONGEST = 80
_PLAIN = re.compile(r"[\w./:@+?-]+")
_JOINS = frozenset(("os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"))
_KEEPS = frozenset(("str", "os.fspath", "os.path.abspath", "os.path.realpath", "os.path.expanduser", "os.path.normpath"))
_METHODS_KEEP = frozenset(("absolute", "as_posix", "expanduser", "resolve", "strip"))
_FIELDS = re.compile(r"\{[^{}]*\}|%[-\d.]*[sdrfi]")


def text_of(reading: Reading, node: ast.expr | None, scope: Scope) -> str | None:
    """The text, where some of it is known; None for one that is not put together at all, or of which nothing is shown."""
    found = None if node is None else _joined(reading, node, scope, 0)
    if found is None:
        return None
    text = re.sub(r"\?+", OPEN, found).replace("//", "/")
    return text if text.strip("?/") and len(text) <= _LONGEST and _PLAIN.fullmatch(text) else None


def _joined(reading: Reading, node: ast.expr, scope: Scope, depth: int) -> str | None:
    """The text of an expression that makes one; None for any other."""
    if depth > _DEEPEST:
        return None
    known = reading.of(node, scope)
    if known is not None:
        return known.value if isinstance(known.value, str) and not known.default else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(reading, one.value if isinstance(one, ast.FormattedValue) else one, scope, depth) for one in node.values)
    if isinstance(node, ast.BinOp):
        return _of_operator(reading, node, scope, depth)
    if isinstance(node, ast.Call):
        return _of_call(reading, node, scope, depth)
    if isinstance(node, ast.Name):
        bound = _bound_once(node, scope)
        return None if bound is None else _joined(reading, *bound, depth + 1)
    return None


def _part(reading: Reading, node: ast.expr, scope: Scope, depth: int) -> str:
    found = _joined(reading, node, scope, depth + 1)
    return OPEN if found is None else found


def _of_operator(reading: Reading, node: ast.BinOp, scope: Scope, depth: int) -> str | None:
    left, right = _joined(reading, node.left, scope, depth + 1), _joined(reading, node.right, scope, depth + 1)
    if isinstance(node.op, ast.Mod) and left is not None:
        return _FIELDS.sub(OPEN, left)
    if (left is None and right is None) or not isinstance(node.op, (ast.Add, ast.Div)):
        return None
    return f"{left or OPEN}{'/' if isinstance(node.op, ast.Div) else ''}{right or OPEN}"


def _of_call(reading: Reading, node: ast.Call, scope: Scope, depth: int) -> str | None:
    name = reading.dotted(node.func, scope) or (node.func.id if isinstance(node.func, ast.Name) else "")
    if name in _JOINS:
        return "/".join(_part(reading, one, scope, depth) for one in node.args) or None
    if name in _KEEPS and len(node.args) == 1:
        return _joined(reading, node.args[0], scope, depth + 1)
    if not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr == "joinpath":
        return "/".join(_part(reading, one, scope, depth) for one in (node.func.value, *node.args))
    below = _joined(reading, node.func.value, scope, depth + 1) if node.func.attr in (*_METHODS_KEEP, "format") else None
    return _FIELDS.sub(OPEN, below) if below is not None and node.func.attr == "format" else below


def _bound_once(node: ast.Name, scope: Scope) -> tuple[ast.expr, Scope] | None:
    place: Scope | None = scope
    while place is not None and node.id not in place.bindings:
        if node.id in place.params or node.id in place.imports:
            return None
        place = place.parent
    bindings = place.bindings[node.id] if place is not None else []
    value = bindings[0].value if len(bindings) == 1 and bindings[0].index is None else None
    return None if value is None or place is None else (value, place)
