"""``load = functools.partial(AutoModel.from_pretrained, device_map="auto")``: what ``load()`` calls, and is given beside its own."""

from __future__ import annotations

import ast

from envdoctor.records import dataclass
from envdoctor.sources.scripts.names import dotted
from envdoctor.sources.scripts.outline import Outline, Scope

_PARTIAL = "functools.partial"


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """The call of ``functools.partial``, the scope it stands in, and the name of what it is a part of."""

    node: ast.Call
    scope: Scope
    name: str


def partial_of(found: Outline, node: ast.expr, scope: Scope) -> Partial | None:
    """The partial that a name stands for, or that is called as it is made; None for one that is given more than keywords."""
    if isinstance(node, ast.Call):
        return read_partial(found, node, scope)
    place: Scope | None = scope if isinstance(node, ast.Name) else None
    while place is not None and isinstance(node, ast.Name):
        if node.id in place.params or node.id in place.imports:
            return None
        if node.id in place.bindings:
            bindings = place.bindings[node.id]
            made = bindings[0].value if len(bindings) == 1 and bindings[0].index is None else None
            return read_partial(found, made, place) if isinstance(made, ast.Call) else None
        place = place.parent
    return None


def read_partial(found: Outline, call: ast.Call, scope: Scope) -> Partial | None:
    """The same of a call of ``functools.partial`` itself."""
    if len(call.args) != 1 or dotted(found, call.func, scope) != _PARTIAL:
        return None
    name = dotted(found, call.args[0], scope)
    return None if name is None else Partial(call, scope, name)
