"""Classes of another file of the project that add nothing to how a package's class is made: ``LLaVATrainer(tokenizer=...)`` is a Trainer.

A class beside the script is called as its base is; one that is imported from the project is put beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from envdoctor.app.project_code import Project
from envdoctor.atlas.instances import adds_nothing
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.sources.scripts.script import open_source

_BASE = "_base_of_"


def with_own_classes(path: Path, body: Sequence[ast.stmt], text: str, project: Project) -> list[ast.stmt]:
    """The statements of a file, with such classes in the place of the imports that bring them; what is not called stays an import."""
    found: list[ast.stmt] = []
    for node in body:
        brought = dict(_brought(path, node, text, project)) if isinstance(node, ast.ImportFrom) else {}
        for name, (module, base) in brought.items():
            inherited = ast.ImportFrom(module, [ast.alias(base, _BASE + name)], 0)
            own = ast.ClassDef(name, [ast.Name(_BASE + name, ast.Load())], [], [ast.Pass()], [])
            found += [ast.fix_missing_locations(ast.copy_location(one, node)) for one in (inherited, own)]
        if isinstance(node, ast.ImportFrom) and brought:
            left = [alias for alias in node.names if (alias.asname or alias.name) not in brought]
            found += [ast.copy_location(ast.ImportFrom(node.module, left, node.level), node)] if left else []
        else:
            found.append(node)
    return found


def _brought(path: Path, node: ast.ImportFrom, text: str, project: Project) -> Iterator[tuple[str, tuple[str, str]]]:
    called = [alias for alias in node.names if alias.name[:1].isupper() and f"{alias.asname or alias.name}(" in text]
    if not called or not node.module:
        return
    folders = tuple(path.parents)[node.level - 1 : node.level] if node.level else project.roots_of(path.parent)
    file = project.own_file(folders, node.module) if folders else None
    if file is None or file == path:
        return
    heirs = _heirs(file, _changed(file))
    for alias in called:
        if alias.name in heirs:
            yield alias.asname or alias.name, heirs[alias.name]


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=512)
def _heirs(file: Path, changed: int) -> dict[str, tuple[str, str]]:
    """The classes of a file that are made as a class of a package is, with the module and the name of that."""
    try:
        source = open_source(file)
    except EnvdoctorError:
        return {}
    if isinstance(source, Skip):
        return {}
    imports = [one for one in source.body if isinstance(one, ast.ImportFrom) and not one.level and one.module]
    given = {alias.asname or alias.name: (str(one.module), alias.name) for one in imports for alias in one.names}
    classes = [one for one in source.body if isinstance(one, ast.ClassDef)]
    names = [one.name for one in classes]
    return {
        one.name: given[one.bases[0].id]
        for one in classes
        if adds_nothing(one) and names.count(one.name) == 1 and isinstance(one.bases[0], ast.Name) and one.bases[0].id in given
    }


__all__ = ["with_own_classes"]
