"""Where a project keeps its own modules: beside a script, at the root of its package, in the project's folder and in ``src``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", "requirements.txt", "environment.yml")
_MOST_UP = 8


@lru_cache(maxsize=4096)
def roots_of(folder: Path) -> tuple[Path, ...]:
    """The folders in which a script of this folder may find modules of its own project, the nearest first."""
    found = [folder]
    outer = folder
    while (outer / "__init__.py").is_file() and outer.parent != outer:
        outer = outer.parent
    found.append(outer)
    above: list[Path] = []
    for parent in [folder, *folder.parents][:_MOST_UP]:
        above.append(parent)
        if any((parent / mark).exists() for mark in _MARKS):
            found += [*above, *(one / "src" for one in reversed(above))]
            break
    return tuple(dict.fromkeys(one for one in found if one.is_dir()))


def own_file(roots: Sequence[Path], module: str) -> Path | None:
    """The file of the project that a module's full name stands for; a folder without ``__init__`` hides no installed package."""
    parts = module.split(".")
    if not all(parts):  # ``from . import x`` in a script, which has no package
        return None
    for root in roots:
        top = root / parts[0]
        if not (top / "__init__.py").is_file() and not (root / f"{parts[0]}.py").is_file() and (len(parts) == 1 or not top.is_dir()):
            continue
        for candidate in (root.joinpath(*parts, "__init__.py"), root.joinpath(*parts[:-1], f"{parts[-1]}.py")):
            if candidate.is_file():
                return candidate
    return None


def own_tops(path: Path, names: Sequence[str]) -> frozenset[str]:
    """Those of some top-level names that are modules of the project itself, whatever is installed under them."""
    roots = roots_of(path.parent)
    return frozenset(name for name in names if own_file(roots, name) is not None)


def own_imports(path: Path, body: Sequence[ast.stmt]) -> Iterator[Path]:
    """The files of the project that a file imports, wherever in it."""
    roots = roots_of(path.parent)
    seen: set[str] = set()
    for node in ast.walk(ast.Module(list(body), [])):
        if isinstance(node, ast.Import):
            wanted = [(roots, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home, module = roots, node.module or ""
            if node.level:
                home = tuple(path.parents)[node.level - 1 : node.level]
            wanted = [(home, module)] if module else []
            wanted += [(home, ".".join(filter(None, (module, alias.name)))) for alias in node.names if alias.name != "*"]
        else:
            continue
        for places, name in wanted:
            key = f"{places[:1]}{name}"
            if key not in seen and places:
                seen.add(key)
                found = own_file(places, name)
                if found is not None:
                    yield found
