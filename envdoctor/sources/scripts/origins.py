"""What an object comes from that no constructor shows: ``get_peft_model(...)``, ``AutoModel.from_pretrained(...).to("cuda")``."""

from __future__ import annotations

import ast

from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.reading import Reading

_LOADS = ".from_pretrained"
# Methods that give back the object that they are called on.
_HAND_BACK = frozenset(("bfloat16", "cpu", "cuda", "eval", "float", "half", "requires_grad_", "to", "train"))
_DEEPEST = 8


def origin_of(reading: Reading, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
    """The class that loaded an object, or the function that made it, by its full name; None where the script does not show one."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        return _of_name(reading, node, scope, depth)
    if not isinstance(node, ast.Call):
        return None
    name = reading.dotted(node.func, scope)
    if name is not None:
        return name.removesuffix(_LOADS)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _HAND_BACK:
        return origin_of(reading, node.func.value, scope, depth + 1)
    return None


def _of_name(reading: Reading, node: ast.Name, scope: Scope, depth: int) -> str | None:
    """Of what a name was bound to before it is used; where that is another scope's, of all that it is bound to, if they agree."""
    place: Scope | None = scope
    while place is not None and node.id not in place.bindings:
        if node.id in place.params or node.id in place.imports:
            return None
        place = place.parent
    if place is None:
        return None
    bound = [one for one in place.bindings[node.id] if reading.evaluator.runs(one.guard) is not False]
    if place is scope:
        before = [one for one in bound if one.line < node.lineno]
        sure = [number for number, one in enumerate(before) if reading.evaluator.runs(one.guard) is True]
        bound = before[sure[-1] :] if sure else bound
    found = {None if one.value is None or one.index is not None else origin_of(reading, one.value, place, depth + 1) for one in bound}
    return next(iter(found)) if len(found) == 1 else None
