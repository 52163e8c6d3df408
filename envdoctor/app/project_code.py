"""Where a project keeps its own modules: beside a script, at the root of its package, in the project's folder and in ``src``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.files.kept import Seen
from envdoctor.syntax.walking import statements

_BUILT = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_MARKS = (*_BUILT, "requirements.txt", "environment.yml")
_MOST_UP = 8


class Project:
    """The modules of a project as scripts find them; ``seen`` has what was looked for."""

    def __init__(self, seen: Seen | None = None) -> None:
        self.seen = seen or Seen()
        self._roots: dict[Path, tuple[Path, ...]] = {}
        self._files: dict[tuple[tuple[Path, ...], str], Path | None] = {}

    def roots_of(self, folder: Path) -> tuple[Path, ...]:
        """The folders in which a script of this folder may find modules of its own project, the nearest first."""
        if folder not in self._roots:
            self._roots[folder] = tuple(self._find_roots(folder))
        return self._roots[folder]

    def _find_roots(self, folder: Path) -> Iterator[Path]:
        found = [folder]
        outer = folder
        while self._is(outer / "__init__.py", "file") and outer.parent != outer:
            outer = outer.parent
        found.append(outer)
        above: list[Path] = []
        for parent in [folder, *folder.parents][:_MOST_UP]:
            above.append(parent)
            if any(self.seen.kind(str(parent / mark)) for mark in _MARKS):
                found += [*above, *(one / "src" for one in reversed(above))]
                higher = [parent, *parent.parents][:_MOST_UP]
                built = next((one for one in higher if any(self._is(one / mark, "file") for mark in _BUILT)), parent)
                # A folder of examples has a list of its own, and is part of the project that is built above it.
                found += [built, built / "src"]
                break
        yield from (one for one in dict.fromkeys(found) if self._is(one, "folder"))

    def _is(self, path: Path, kind: str) -> bool:
        return self.seen.kind(str(path)) == kind

    def own_file(self, roots: Sequence[Path], module: str) -> Path | None:
        """The file of the project that a module's full name stands for; a folder without ``__init__`` hides no installed package."""
        key = tuple(roots), module
        if key not in self._files:
            self._files[key] = self._find_file(roots, module)
        return self._files[key]

    def _find_file(self, roots: Sequence[Path], module: str) -> Path | None:
        parts = module.split(".")
        if not all(parts):  # ``from . import x`` in a script, which has no package
            return None
        for root in roots:
            top = root / parts[0]
            if (
                not self._is(top / "__init__.py", "file")
                and not self._is(root / f"{parts[0]}.py", "file")
                and (len(parts) == 1 or not self._is(top, "folder"))
            ):
                continue
            for candidate in (root.joinpath(*parts, "__init__.py"), root.joinpath(*parts[:-1], f"{parts[-1]}.py")):
                if self._is(candidate, "file"):
                    return candidate
        return None

    def own_tops(self, path: Path, names: Sequence[str]) -> frozenset[str]:
        """The top-level names of full names that are modules of the project itself, whatever is installed under them.

        A script of a package may be run in any folder of it: ``datasets.own`` is looked for there, and shows that ``datasets`` is its own.
        So does a copy of its sources that is to be installed from a folder of the project.
        That a package has a folder ``transformers``, in which the script lies or which lacks all that it names, shows nothing.
        """
        within = tuple(self._folders_of_package(path.parent))
        roots = tuple(one for one in self.roots_of(path.parent) if one == path.parent or one not in within)
        inner = tuple(one for one in self.roots_of(path.parent) if one not in roots)
        found: dict[str, bool] = {}
        full = {name.partition(".")[0] for name in names if "." in name}
        for name in names:
            top = name.partition(".")[0]
            if top not in found:
                found[top] = self.own_file(roots, top) is not None or self._is_carried(roots, top)
            if not found[top] and within and top != name:
                found[top] = self.own_file(within, name) is not None
            elif not found[top] and inner and top not in full:
                file = self.own_file(inner, name)
                found[top] = file is not None and file.parent not in path.parents
        return frozenset(top for top, own in found.items() if own)

    def _is_carried(self, roots: Sequence[Path], top: str) -> bool:
        """Whether a project has the sources of a package in a folder of that name, to be installed from there."""
        for folder in (root / top for root in roots):
            built = any(self._is(folder / mark, "file") for mark in ("setup.py", "pyproject.toml"))
            if built and any(self._is(place / top / "__init__.py", "file") for place in (folder / "src", folder)):
                return True
        return False

    def _folders_of_package(self, folder: Path) -> Iterator[Path]:
        """The folders between one of a package and the one in which the package lies."""
        while self._is(folder / "__init__.py", "file") and folder.parent != folder:
            folder = folder.parent
            if self._is(folder / "__init__.py", "file"):
                yield folder

    def own_imports(self, path: Path, body: Sequence[ast.stmt]) -> Iterator[Path]:
        """The files of the project that a file imports, wherever in it."""
        roots = self.roots_of(path.parent)
        asked: set[str] = set()
        for node in statements(body):
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
                if key not in asked and places:
                    asked.add(key)
                    found = self.own_file(places, name)
                    if found is not None:
                        yield found
