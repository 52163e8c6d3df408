"""Names that a script imports and then gives to something else: ``datasets = datasets.load_dataset(...)``, ``class Trainer(Trainer)``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from envdoctor.syntax.walking import walk


def rebound_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that imports of a script bind at its top level, and something else does as well."""
    imported: set[str] = set()
    stored: set[str] = set()
    for item in _at_the_top(body):
        imported.update(imported_by(item))
        stored.update(stored_by(item))
    return frozenset(imported & stored)


def imported_by(item: ast.stmt) -> list[str]:
    """The names that an import binds; none of any other statement."""
    return [alias.asname or alias.name.partition(".")[0] for alias in item.names] if isinstance(item, ast.Import | ast.ImportFrom) else []


def stored_by(item: ast.stmt) -> Iterator[str]:
    """The names that a statement itself binds, without those of the statements in it; ``None`` for what is absent is nothing."""
    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield item.name
    targets: list[ast.expr | None] = []
    if isinstance(item, ast.Assign) and not (isinstance(item.value, ast.Constant) and item.value.value is None):
        targets += item.targets
    elif isinstance(item, ast.For | ast.AsyncFor | ast.AugAssign) or (isinstance(item, ast.AnnAssign) and item.value is not None):
        targets.append(item.target)
    elif isinstance(item, ast.With | ast.AsyncWith):
        targets += [one.optional_vars for one in item.items]
    for target in targets:
        for node in walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _at_the_top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for item in body:
        yield item
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for kind in ("body", "orelse", "finalbody", "handlers"):
                for inner in getattr(item, kind, ()):
                    yield from _at_the_top(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])
