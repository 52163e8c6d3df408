"""The library that will run a snapshot's code, as far as its own source tells."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from envdoctor.code.outline import module_shape
from envdoctor.code.shape import ClassShape, Method, ModuleShape
from envdoctor.code.shelf import Shelf
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import dataclass
from envdoctor.syntax.parsing import SOURCE_LIMIT, parse_python, python_text

_LISTED = re.compile(r"""["']([A-Za-z_][A-Za-z0-9_]*)["']""")
_REQUIRES = re.compile(r"^@requires\([^)]*\)\n(?:@[^\n]*\n)*(?:class|def) ([A-Za-z_]\w*)", re.MULTILINE)
_MOST_FILES = 8000
_DEEPEST = 12
# Names that a _LazyModule of transformers 5 turns into others when it has none of that name.
RENAMED = ("Tokenizer", "TokenizerFast", "ImageProcessorFast")
_COMPILED = (".so", ".pyd", ".pyc")


@dataclass(frozen=True, slots=True)
class LibraryClass:
    """A class and the module that defines it."""

    module: str
    shape: ClassShape


class Library(Protocol):
    """What can be asked of a library. None is the answer to what its source does not tell."""

    releases: Mapping[str, str]

    def has_module(self, module: str) -> bool | None:
        """Whether a module of this full name can be imported."""

    def provides(self, module: str, name: str) -> bool | None:
        """Whether ``from module import name`` finds the name."""

    def find_class(self, module: str, name: str) -> LibraryClass | None:
        """The class that a name of a module stands for."""

    def find_function(self, module: str, name: str) -> Method | None:
        """The function that a name of a module stands for."""

    def full_name(self, module: str, name: str) -> str:
        """A name as a module of the library means it: ``nn.Module`` is ``torch.nn.Module``."""

    def classes_of(self, module: str) -> Mapping[str, ClassShape]:
        """The classes that a module defines."""


class InstalledLibrary:
    """Packages in site directories, read from their ``.py`` files; ``releases`` are the versions by package."""

    def __init__(self, site_dirs: Sequence[Path], releases: Mapping[str, str], cache: Path | None = None) -> None:
        self.releases = releases
        self._roots = [os.fspath(root) for root in site_dirs]
        self._modules: dict[str, ModuleShape | None] = {}
        self._lazy: dict[str, frozenset[str]] = {}
        self.files: dict[str, tuple[int, int]] = {}
        self._shelf = Shelf(cache, "\0".join([*self._roots, releases.get("transformers", "")]))

    def save(self) -> None:
        """Keep the outlines for the next run."""
        self._shelf.save()

    def has_module(self, module: str) -> bool | None:
        file = self._file(module)
        if file is not None:
            return True
        if not any(os.path.isdir(os.path.join(root, module.partition(".")[0])) for root in self._roots):
            return None
        parent, _, last = module.rpartition(".")
        if not parent or self._compiled(module):
            return None
        outer = self.shape(parent)
        if outer is None:
            return None if self.has_module(parent) is not False else False
        if last.startswith("image_processing_") and last.endswith("_fast"):
            return None  # transformers 5 finds some of these by a rule
        return last in outer.aliases or last in outer.names

    def provides(self, module: str, name: str) -> bool | None:
        return self._provides(module, name, _DEEPEST)

    def _provides(self, module: str, name: str, depth: int) -> bool | None:
        shape = self.shape(module)
        if shape is None or depth == 0:
            return None
        if name in shape.names or name in shape.aliases or name in shape.lazy or any(name in listed for listed in shape.lazy.values()):
            return True
        if self._file(f"{module}.{name}") is not None or self._compiled(f"{module}.{name}"):
            return True
        if shape.structure is not None and name in self.exported(module, shape.structure):
            return True
        if (shape.lazy or shape.structure is not None) and name.endswith(RENAMED):
            return None
        outcomes = [self._provides(star, name, depth - 1) for star in shape.stars]
        if True in outcomes:
            return True
        return None if shape.open or None in outcomes else False

    def find_class(self, module: str, name: str) -> LibraryClass | None:
        found = self._follow(module, name, _DEEPEST)
        if found is None:
            return None
        shape = self.shape(found[0])
        return None if shape is None or found[1] not in shape.classes else LibraryClass(found[0], shape.classes[found[1]])

    def find_function(self, module: str, name: str) -> Method | None:
        found = self._follow(module, name, _DEEPEST)
        if found is None:
            return None
        shape = self.shape(found[0])
        return None if shape is None else shape.functions.get(found[1])

    def full_name(self, module: str, name: str) -> str:
        shape = self.shape(module)
        head, dot, rest = name.partition(".")
        target = "" if shape is None else shape.names.get(head, "?")
        if target == "" or target.startswith("="):
            return f"{module}.{name}"
        if target == "?":
            return name
        source, _, original = target.partition(":")
        return ".".join(filter(None, (source, original))) + dot + rest

    def classes_of(self, module: str) -> Mapping[str, ClassShape]:
        shape = self.shape(module)
        return {} if shape is None else shape.classes

    def _follow(self, module: str, name: str, depth: int) -> tuple[str, str] | None:
        """The module that defines what a name stands for, and its name there."""
        shape = self.shape(module)
        if shape is None or depth == 0:
            return None
        if name in shape.classes or name in shape.functions:
            return module, name
        target = shape.names.get(name, "")
        if target.startswith("="):
            return self._follow(module, target[1:], depth - 1)
        if target:
            source, _, original = target.partition(":")
            return self._follow(source, original, depth - 1) if original else None
        for submodule, listed in shape.lazy.items():
            if name in listed:
                return self._follow(f"{module}.{submodule}", name, depth - 1)
        if shape.structure is not None:
            return self._follow_structure(module, shape.structure, name, depth)
        return next((found for star in shape.stars if (found := self._follow(star, name, depth - 1))), None)

    def _follow_structure(self, module: str, folders: tuple[str, ...], name: str, depth: int) -> tuple[str, str] | None:
        wanted = f"{name} "
        for entry in self._listed(module, folders):
            if entry.startswith(wanted):
                return self._follow(entry[len(wanted) :], name, depth - 1)
        return None

    # --- files -----------------------------------------------------------------------------------

    def _file(self, module: str) -> str | None:
        relative = module.replace(".", os.sep)
        for root in self._roots:
            for candidate in (os.path.join(root, relative, "__init__.py"), os.path.join(root, f"{relative}.py")):
                if os.path.isfile(candidate):
                    return candidate
        return None

    def _compiled(self, module: str) -> bool:
        """Whether a module may be there in another form than ``.py``: compiled, or a folder without ``__init__``."""
        relative = module.replace(".", os.sep)
        for root in self._roots:
            if os.path.isdir(os.path.join(root, relative)):
                return True
            folder, stem = os.path.split(os.path.join(root, relative))
            try:
                if any(name.startswith(f"{stem}.") and name.endswith(_COMPILED) for name in os.listdir(folder)):
                    return True
            except OSError:
                continue
        return False

    def shape(self, module: str) -> ModuleShape | None:
        """The outline of a module; None where there is no source that can be read."""
        if module not in self._modules:
            self._modules[module] = self._read(module)
        return self._modules[module]

    def _read(self, module: str) -> ModuleShape | None:
        file = self._file(module)
        if file is None:
            parent, _, last = module.rpartition(".")
            outer = self.shape(parent) if parent else None
            return None if outer is None or last not in outer.aliases else self.shape(f"{parent}.{outer.aliases[last]}")
        try:
            status = os.stat(file)
            self.files[file] = status.st_size, status.st_mtime_ns
            kept = self._shelf.get(file, status)
            if kept is not None:
                return kept
            text = python_text(read_bounded(file, SOURCE_LIMIT))
            shape = module_shape(parse_python(text), text, module if file.endswith("__init__.py") else module.rpartition(".")[0])
        except (OSError, UnreadableError, ValueError, RecursionError, MemoryError):
            return None
        self._shelf.put(file, status, shape)
        return shape

    # --- what define_import_structure collects ---------------------------------------------------

    def exported(self, module: str, folders: tuple[str, ...]) -> frozenset[str]:
        """The names that the files in folders of a package list in ``__all__``, and the files' own."""
        if module not in self._lazy:
            self._lazy[module] = frozenset(entry.partition(" ")[0] for entry in self._listed(module, folders))
        return self._lazy[module]

    def _listed(self, module: str, folders: tuple[str, ...]) -> list[str]:
        """``name module`` of every name that the files of a package export, and of every module that is one."""
        file = self._file(module)
        if file is None:
            return []
        base = os.path.dirname(file)
        key = f"{base}\0{','.join(folders)}\0{os.stat(base).st_mtime_ns}"
        kept = self._shelf.texts(key)
        if kept is None:
            kept = [entry for folder in folders for entry in _exports(os.path.join(base, folder), ".".join(filter(None, (module, folder))))]
            self._shelf.put_texts(key, kept)
        return kept


def _exports(folder: str, package: str) -> Iterator[str]:
    count = 0
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        inner = os.path.relpath(path, folder).replace(os.sep, ".")
        prefix = package if inner == "." else f"{package}.{inner}"
        for name in sorted(files):
            count += 1
            if not name.endswith(".py") or name == "__init__.py" or count > _MOST_FILES:
                continue
            try:
                text = read_bounded(os.path.join(path, name), SOURCE_LIMIT).decode("utf-8", "replace")
            except UnreadableError:
                continue
            start = text.rfind("\n__all__")
            listed = _LISTED.findall(text[start : text.find("]", start)]) if start >= 0 else []
            if "@requires" in text:
                listed += _REQUIRES.findall(text)
            yield f"{name[:-3]} {prefix}.{name[:-3]}"
            yield from (f"{item} {prefix}.{name[:-3]}" for item in listed)
