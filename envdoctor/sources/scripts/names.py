"""The dotted names that expressions stand for: ``tf.AutoModel`` is ``transformers.AutoModel`` after ``import transformers as tf``."""

from __future__ import annotations

import ast

from envdoctor.sources.scripts.outline import Outline, Scope

_DEEPEST = 30
_MOST_BASES = 50
LOCAL = "~"


def dotted(found: Outline, node: ast.AST, scope: Scope, depth: int = 0) -> str | None:
    """The dotted name of what an expression refers to; ``~.Name`` for a class or function of the file, None where it cannot be told."""
    if type(node) is ast.Name:
        return _root(found, node.id, scope, depth)
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
        if len(parts) > _DEEPEST:
            return None
    if type(node) is not ast.Name:
        return None
    root = _root(found, node.id, scope, depth)
    return None if root is None else ".".join([root, *reversed(parts)])


def _root(found: Outline, name: str, scope: Scope, depth: int) -> str | None:
    place: Scope | None = scope
    while place is not None:
        # The body of a class is seen by itself alone.
        if place is scope or not isinstance(place.node, ast.ClassDef):
            if name in place.params:
                return None
            if name in place.imports:
                return place.imports[name]
            if name in place.bindings:
                return _bound(found, name, place, depth)
        place = place.parent
    if len(found.stars) == 1:
        return f"{found.stars[0]}.{name}"
    return None


def _bound(found: Outline, name: str, place: Scope, depth: int) -> str | None:
    bindings = place.bindings[name]
    if len(bindings) != 1:
        return None
    value = bindings[0].value
    if value is None:
        defined = found.classes.get(name) or found.functions.get(name)
        return f"{LOCAL}.{name}" if defined is not None and defined[0].lineno == bindings[0].line else None
    if depth < _DEEPEST and bindings[0].index is None and isinstance(value, (ast.Name, ast.Attribute)):
        if isinstance(value, ast.Name) and value.id == name:
            return None
        return dotted(found, value, place, depth + 1)
    return None


def called(found: Outline, call: ast.Call, scope: Scope) -> str | None:
    """The dotted name of what a call calls."""
    return dotted(found, call.func, scope)


def ancestry(found: Outline, name: str) -> list[str]:
    """The dotted names of a class and of those that it derives from, nearest first, as far as the file tells."""
    chain, waiting = [name], [name] if name.startswith(f"{LOCAL}.") else []
    while waiting and len(chain) < _MOST_BASES:
        entry = found.classes.get(waiting.pop().removeprefix(f"{LOCAL}."))
        if entry is None or entry[1].parent is None:
            continue
        for base in entry[0].bases:
            known = dotted(found, base, entry[1].parent)
            if known is not None and known not in chain:
                chain.append(known)
                if known.startswith(f"{LOCAL}."):
                    waiting.append(known)
    return chain


def is_from(name: str | None, package: str, last: str) -> bool:
    """Whether a dotted name is that of an object of a package, whichever module of it exports it."""
    return name is not None and name.partition(".")[0] == package and name.rpartition(".")[2] == last


def method(call: ast.Call) -> str:
    """The last name of what is called: ``generate`` of ``model.base.generate(...)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
