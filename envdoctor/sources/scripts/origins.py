"""What an object comes from that no constructor shows: ``get_peft_model(...)``, ``AutoModel.from_pretrained(...).to("cuda")``."""

from __future__ import annotations

import ast

from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.reading import Reading

_LOADS = ".from_pretrained"
# Methods that give back the object that they are called on.
_HAND_BACK = frozenset(("bfloat16", "cpu", "cuda", "eval", "float", "half", "requires_grad_", "to", "train"))
_DEEPEST = 8
_BY_NAME = {"accelerator": "accelerate.Accelerator"}


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


def declared_class(reading: Reading, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
    """The class that a parameter is annotated with, by its full name, also where an attribute of ``self`` keeps it.

    What is called ``accelerator`` in a file that imports accelerate is one, as the library's own examples name it.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Attribute):
        kept = reading.evaluator.passed.to_attribute(node, scope, reading.evaluator.runs)
        found = {declared_class(reading, value, place, depth + 1) for value, place in kept or ()}
        if len(found) == 1:
            return next(iter(found))
        return _BY_NAME.get(node.attr) if not kept and reading.imports("accelerate") else None
    place: Scope | None = scope if isinstance(node, ast.Name) else None
    while place is not None and isinstance(node, ast.Name):
        if node.id in place.bindings or node.id in place.imports:
            return None
        if node.id in place.params:
            annotation = place.params[node.id].annotation
            if annotation is None:
                return _BY_NAME.get(node.id) if reading.imports("accelerate") else None
            return _annotated(reading, annotation, place.parent or place)
        place = place.parent
    return None


def _annotated(reading: Reading, annotation: ast.expr, scope: Scope) -> str | None:
    """``Accelerator``, ``"Accelerator"``, ``Optional[Accelerator]`` and ``Accelerator | None``."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        written = annotation.value.strip()
        return reading.dotted(ast.Name(written, ast.Load()), scope) if written.isidentifier() else None
    if isinstance(annotation, ast.Subscript) and reading.dotted(annotation.value, scope) == "typing.Optional":
        return _annotated(reading, annotation.slice, scope)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.right, ast.Constant) and annotation.right.value is None:
        return _annotated(reading, annotation.left, scope)
    return reading.dotted(annotation, scope) if isinstance(annotation, (ast.Name, ast.Attribute)) else None
