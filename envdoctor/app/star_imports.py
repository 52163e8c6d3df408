"""What ``from .imports import *`` brings of other packages: the modules that a file of the same project imports under a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.app.project_code import Project
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.sources.scripts.script import open_source

_DEEPEST = 3


def modules_by_star(path: Path, body: Sequence[ast.stmt], project: Project, depth: int = 0) -> Iterator[ast.stmt]:
    """``import numpy as np`` of another file at the line that takes all of it; what stands under a condition is left out."""
    for node in body:
        if not isinstance(node, ast.ImportFrom) or [alias.name for alias in node.names] != ["*"]:
            continue
        folders = tuple(path.parents)[node.level - 1 : node.level] if node.level else project.roots_of(path.parent)
        file = project.own_file(folders, node.module) if node.module and folders else None
        if file is None or file == path:
            continue
        for name in _modules_of(file, project, depth):
            yield ast.copy_location(ast.Import([name]), node)


def _modules_of(file: Path, project: Project, depth: int) -> Iterator[ast.alias]:
    try:
        source = open_source(file)
    except EnvdoctorError:
        return
    if isinstance(source, Skip) or any(_names_all(node) for node in source.body):
        return
    inner = modules_by_star(file, source.body, project, depth + 1) if depth < _DEEPEST else ()
    for node in (*source.body, *inner):
        for name in node.names if isinstance(node, ast.Import) else ():
            if not (name.asname or name.name).startswith("_"):
                yield name


def _names_all(node: ast.stmt) -> bool:
    """Whether a module says by ``__all__`` what a star takes."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


__all__ = ["modules_by_star"]
