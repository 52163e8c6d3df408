"""Names and texts as source writes them: relative modules, lists of names, links."""

from __future__ import annotations

import ast

# What its makers have in their own house: a package that tries to import it gets nothing anywhere else.
_NOWHERE = frozenset(("pytorch", "libfb", "fblearner"))


def absolute(module: str | None, level: int, home: str) -> str:
    """The full name of a module that is imported relative to a package; of one above what is known of the package, with a dot before."""
    if level == 0:
        return module or ""
    parts = home.split(".")
    return ".".join([*(parts[: max(len(parts) - level + 1, 0)] or [""]), *([module] if module else [])])


def names_taken(item: ast.ImportFrom, module: str) -> list[ast.alias]:
    """The names that an import from a module may bring."""
    return [] if module.partition(".")[0] in _NOWHERE else item.names


def absolute_text(module: str, home: str) -> str:
    """``.utils`` as it stands in a table of names."""
    bare = module.lstrip(".")
    return absolute(bare, len(module) - len(bare), home)


def texts(value: ast.expr) -> list[str]:
    """The literal texts of a list, a tuple, a set, a sum of them, or one text."""
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return [item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    if isinstance(value, ast.BinOp):
        return [*texts(value.left), *texts(value.right)]
    return []


def as_link(target: str) -> str:
    """``torch.nn.Module`` as ``torch.nn:Module``: the last word is what is taken."""
    if ":" in target or "." not in target:
        return target
    module, _, name = target.rpartition(".")
    return f"{module}:{name}"


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The expressions of a tuple, or the one that is none."""
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]
