"""Classes of a snapshot's own Python code, as syntax trees: nothing is imported or executed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import ModelDirectory
from envdoctor.syntax.parsing import SOURCE_LIMIT, NoPythonError, marks, parse_python, python_text, too_dense

_MODULES_LIMIT = 32
_BASES_LIMIT = 100
# Methods and attributes of cache objects that releases of transformers added and removed.
_CACHE_MEMBERS = frozenset(("from_legacy_cache", "get_max_length", "get_usable_length", "seen_tokens", "to_legacy_cache"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Module:
    """What one file defines and imports.

    ``version_names`` are names that depend on the release of transformers; ``uses`` are the names that the file cannot
    do without, each with a line: imported from transformers, or methods and attributes of its caches.
    """

    file: str
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    version_names: set[str] = field(default_factory=set)
    uses: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Class:
    """A class and the module that defines it."""

    node: ast.ClassDef
    module: Module

    def functions(self, name: str) -> list[Function]:
        return [item for item in flat(self.node.body) if isinstance(item, Function) and item.name == name]


class Code:
    """The modules of the snapshot, parsed once each."""

    def __init__(self, directory: ModelDirectory) -> None:
        self.directory = directory
        self.modules: dict[str, Module | None] = {}

    def chain(self, entry: str) -> list[Class] | None:
        """The class and the snapshot's classes that it derives from, nearest first; None where one cannot be read."""
        repository, dashes, entry = entry.rpartition("--")
        if dashes:
            self.directory.skip("config.json", f"auto_map names code of another repository, {repository}")
            return None
        module, _, name = entry.rpartition(".")
        chain = self._linearise(module, name, set())
        if chain is None and self.module(module) is not None:
            self.directory.skip(f"{module}.py", f"it defines no class {name}, which auto_map names")
        return chain

    def _linearise(self, module_name: str, name: str, seen: set[tuple[str, str]]) -> list[Class] | None:
        module = self.module(module_name)
        if module is None or (module_name, name) in seen:
            return None
        if len(seen) == _BASES_LIMIT:
            self.directory.skip(module.file, f"{name} and what follows: more than {_BASES_LIMIT} base classes are not read")
            return None
        seen.add((module_name, name))
        node = module.classes.get(name)
        if node is None:
            if name in module.imported:
                return self._linearise(*module.imported[name], seen)
            return None
        chain = [Class(node, module)]
        for base in node.bases:
            found: list[Class] | None = []
            if isinstance(base, ast.Name) and base.id in module.classes:
                found = self._linearise(module_name, base.id, seen)
            elif isinstance(base, ast.Name) and base.id in module.imported:
                found = self._linearise(*module.imported[base.id], seen)
            chain += found or []
        return chain

    def module(self, name: str) -> Module | None:
        if name not in self.modules:
            skips = len(self.directory.skips)
            self.modules[name] = self._parse(f"{name}.py") if len(self.modules) < _MODULES_LIMIT and name.isidentifier() else None
            if self.modules[name] is None and len(self.directory.skips) == skips:
                self.directory.skip(f"{name}.py", "named by the snapshot's configuration or code, and not there")
        return self.modules[name]

    def _parse(self, file: str) -> Module | None:
        source = parsed(self.directory, file)
        return None if source is None else _outline(file, *source)


def parsed(directory: ModelDirectory, file: str) -> tuple[ast.Module, str] | None:
    """The syntax tree and the text of a file, parsed once a directory; None where it is absent or was skipped."""
    if file not in directory.parsed:
        directory.parsed[file] = _parsed(directory, file)
    return directory.parsed[file]


def _parsed(directory: ModelDirectory, file: str) -> tuple[ast.Module, str] | None:
    data = directory.read(file, SOURCE_LIMIT)
    if data is None:
        return None
    if too_dense(data, directory.marks):
        directory.skip(file, "not parsed: the syntax trees of the snapshot's code would fill the memory")
        return None
    directory.marks += marks(data)
    try:
        text = python_text(data)
        return parse_python(text), text
    except NoPythonError as error:
        directory.skip(file, f"no Python that can be parsed: {error}")
        return None


def flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, and those inside ``if`` and ``try``, which choose at import time."""
    stack = list(reversed(list(body)))
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, ast.If):
            stack += reversed([*item.body, *item.orelse])
        elif isinstance(item, ast.Try):
            stack += reversed([*item.body, *(part for handler in item.handlers for part in handler.body), *item.orelse, *item.finalbody])


def _outline(file: str, tree: ast.Module, text: str) -> Module:
    module = Module(file)
    for item in flat(tree.body):
        if isinstance(item, ast.ClassDef):
            module.classes.setdefault(item.name, item)
        elif isinstance(item, ast.ImportFrom):
            for alias in item.names:
                known = alias.asname or alias.name
                if item.level == 1 and item.module:
                    module.imported[known] = (item.module, alias.name)
                elif alias.name == "__version__" and item.module == "transformers":
                    module.version_names.add(known)
        elif isinstance(item, ast.Assign) and mentions_version(item.value, module.version_names):
            module.version_names.update(target.id for target in item.targets if isinstance(target, ast.Name))
    # Most files name none of these, and need not be walked to their last expression.
    members = frozenset(member for member in _CACHE_MEMBERS if member in text)
    module.uses = _uses(tree, module, members)
    return module


def _uses(tree: ast.Module, module: Module, members: frozenset[str]) -> dict[str, int]:
    """What the file needs unconditionally: nothing under ``try``, a test of the release or of ``hasattr``, or for type checkers alone.

    A member that the file defines, or sets on an object itself, is its own.
    """
    own = {name for item in ast.walk(tree) if (name := _own_member(item)) is not None} if members else set()
    found: dict[str, int] = {}
    stack: list[ast.AST] = list(reversed(tree.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Try) or (isinstance(node, (ast.If, ast.IfExp)) and _chooses(node.test, module.version_names)):
            continue
        if isinstance(node, ast.If) and _is_for_checkers(node.test):
            stack.extend(reversed(node.orelse))
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").partition(".")[0] == "transformers":
            found.update((alias.name, node.lineno) for alias in node.names if alias.name not in found)
        elif isinstance(node, ast.Attribute) and node.attr in members and node.attr not in own:
            found.setdefault(node.attr, node.lineno)
        below = ast.iter_child_nodes(node) if members else [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        stack.extend(reversed([child for child in below if isinstance(child, ast.AST)]))
    return found


def _own_member(item: ast.AST) -> str | None:
    if isinstance(item, Function):
        return item.name
    return item.attr if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store) else None


def _is_for_checkers(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else "") == "TYPE_CHECKING"


def _chooses(test: ast.expr, names: set[str]) -> bool:
    asked = (node.id for node in ast.walk(test) if isinstance(node, ast.Name))
    return mentions_version(test, names) or any(name == "hasattr" or name.startswith("is_") for name in asked)


def mentions_version(expression: ast.expr, names: set[str]) -> bool:
    """Whether an expression depends on the release of transformers, directly or through one of the names."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and node.attr == "__version__" and root(node) == "transformers":
            return True
        if isinstance(node, ast.Name) and (node.id in names or "transformers_version" in node.id.lower()):
            return True
        if isinstance(node, ast.Constant) and node.value == "transformers":
            return True
    return False


def accepts(function: Function, name: str) -> bool:
    """Whether a function takes a keyword, by name or as one of ``**kwargs``."""
    arguments = function.args
    return arguments.kwarg is not None or any(
        argument.arg == name for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )


def class_attributes(item: ast.stmt) -> Iterator[str]:
    """Names that a statement of a class body assigns."""
    targets = item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) and item.value else []
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def self_attributes(statement: ast.AST) -> Iterator[tuple[str, int]]:
    """Attributes of ``self`` that a statement assigns, each with its line."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            yield node.attr, node.lineno


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def root(node: ast.expr) -> str | None:
    """The name at the left end of ``name.a[0].b``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
