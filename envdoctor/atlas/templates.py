"""Messages of a program's source as templates: what is filled in becomes ``{}``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

_PERCENT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*\d*(?:\.\d+)?[srdfxiegE%]")
_BRACES = re.compile(r"\{[^{}]*\}")
_MOST = 600


def template(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 8) -> str | None:
    """The template of an expression that makes a text; None where none of it is written out."""
    text = _text(node, names, depth)
    if text is None:
        return None
    text = re.sub(r"(?:\{\}\s*){2,}", "{} ", re.sub(r"\s+", " ", text)).strip()[:_MOST]
    return text if sum(letter.isalpha() for letter in text.replace("{}", "")) >= 6 else None


def _text(node: ast.expr, names: Mapping[str, ast.expr], depth: int) -> str | None:
    if depth == 0:
        return "{}"
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "{}"
    if isinstance(node, ast.JoinedStr):
        return "".join(item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else "{}" for item in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, names, depth - 1), _text(node.right, names, depth - 1)
        return (left or "{}") + (right or "{}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        left = _text(node.left, names, depth - 1)
        return None if left is None else _PERCENT.sub(lambda match: "%" if match[0] == "%%" else "{}", left)
    if isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "format":
            inner = _text(func.value, names, depth - 1)
            return None if inner is None else _BRACES.sub("{}", inner)
        if isinstance(func, ast.Attribute) and func.attr == "join" and node.args:
            return "{}"
        if isinstance(func, ast.Attribute) and func.attr in ("strip", "lstrip", "rstrip", "lower", "upper"):
            return _text(func.value, names, depth - 1)
        if isinstance(func, ast.Name) and func.id in ("dedent", "str") and len(node.args) == 1:
            return _text(node.args[0], names, depth - 1)
        return "{}"
    if isinstance(node, ast.Name) and node.id in names:
        return _text(names[node.id], names, depth - 1)
    return "{}"
