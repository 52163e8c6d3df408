"""With which Python the import of a release ends, whatever its metadata says: read from its source.

An import ends where it reaches a module or a name that the standard library gave up, and from Python 3.11 on where a dataclass has a
default that cannot be hashed: an instance of another dataclass that is neither frozen nor without ``eq`` (dataclasses.py, ``_get_field``;
before 3.11 lists, dicts and sets alone were refused). Only what is certain counts: statements of a module that no ``if`` and no ``try``
holds, and modules that such statements import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from envdoctor.records import dataclass
from envdoctor.world.standard_library import MODULES, NAMES, last_minor

_DATACLASSES_HASH = 11
# What a file has that may end an import: most have nothing of it, and are not parsed.
_GONE = sorted(
    {*(name for name in MODULES if last_minor(MODULES[name])), *(name.rpartition(".")[0] for name in NAMES if last_minor(NAMES[name]))}
)
_SIGN = re.compile(
    rb"^\s*(?:from|import)\s+(?:"
    + "|".join(map(re.escape, _GONE)).encode()
    + rb")\b|^\s*\w+\s*:.*=\s*(?:field\(.*default\s*=\s*)?[\w.]*[A-Z]\w*\(",
    re.MULTILINE,
)
# setuptools brings it, and what needs it mostly requires that.
_BROUGHT = frozenset(("distutils",))


@dataclass(frozen=True, slots=True)
class End:
    """The first Python 3.``minor`` with which an import ends, and where and why."""

    minor: int
    path: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class _Module:
    path: str
    body: tuple[ast.stmt, ...]
    bound: Mapping[str, tuple[str, str]]
    """What an import binds: (module, name) of a ``from``, (module, "") of a module."""
    classes: Mapping[str, ast.ClassDef]


class Package:
    """The modules of a release, by their dotted names."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = {_dotted(path): path for path in sources if path.endswith(".py")}
        self._contents = sources
        self._read: dict[str, _Module | None] = {}

    def module(self, name: str) -> _Module | None:
        """A module by its name; None where there is none, or its source is of another Python."""
        if name not in self._read:
            path = self._sources.get(name)
            self._read[name] = None if path is None else _parse(path, name, self._contents[path], path.endswith("__init__.py"))
        return self._read[name]

    def reached(self, top: str) -> Iterator[tuple[str, _Module]]:
        """The modules that the import of one of them certainly leads to."""
        waiting, seen = [top], set()
        while waiting:
            name = waiting.pop()
            parent = name.rpartition(".")[0]
            if name in seen:
                continue
            seen.add(name)
            if parent and parent not in seen:
                waiting.append(parent)
            found = self.module(name)
            if found is None:
                continue
            yield name, found
            for module, member in _taken(found.body, name, found.path.endswith("__init__.py")):
                waiting += [module, f"{module}.{member}"] if member else [module]

    def is_unhashable(self, module: str, name: str, depth: int = 0) -> bool:
        """Whether a name of a module is a dataclass whose instances have no hash."""
        found = self.module(module)
        if found is None or depth > 4:
            return False
        if name in found.classes:
            return _has_no_hash(found.classes[name], found)
        source, member = found.bound.get(name, ("", ""))
        return bool(member) and self.is_unhashable(source, member, depth + 1)


def find_end(sources: Mapping[str, bytes], tops: Iterable[str]) -> End | None:
    """The first end of the import of a release, of which ``sources`` are the files by their paths in site-packages."""
    if not any(_SIGN.search(content) for content in sources.values()):
        return None
    package = Package(sources)
    ends = [end for top in tops for name, module in package.reached(top) for end in _ends(package, name, module)]
    return min(ends, key=lambda end: (end.minor, end.path, end.line), default=None)


def _ends(package: Package, name: str, module: _Module) -> Iterator[End]:
    for stmt in _certain(module.body):
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                yield from _of_module(alias.name, module, stmt.lineno)
        elif isinstance(stmt, ast.ImportFrom) and not stmt.level and stmt.module:
            yield from _of_module(stmt.module, module, stmt.lineno)
            for alias in stmt.names:
                yield from _of_name(f"{stmt.module}.{alias.name}", module, stmt.lineno)
        elif isinstance(stmt, ast.ClassDef):
            yield from _of_dataclass(package, name, module, stmt)
        for node in _evaluated(stmt):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                source, member = module.bound.get(node.value.id, ("", "x"))
                if not member:
                    yield from _of_name(f"{source}.{node.attr}", module, node.lineno)


def _of_module(name: str, module: _Module, line: int) -> Iterator[End]:
    known = name if name in MODULES else name.partition(".")[0]
    last = last_minor(MODULES.get(known, ""))
    if last is not None and known not in _BROUGHT:
        yield End(last + 1, module.path, line, f"imports {known}")


def _of_name(name: str, module: _Module, line: int) -> Iterator[End]:
    last = last_minor(NAMES.get(name, ""))
    if last is not None:
        yield End(last + 1, module.path, line, f"takes {name}")


def _of_dataclass(package: Package, name: str, module: _Module, cls: ast.ClassDef) -> Iterator[End]:
    if _decorator(cls, module) is None:
        return
    for stmt in cls.body:
        if not isinstance(stmt, ast.AnnAssign) or not isinstance(stmt.target, ast.Name) or _is_no_field(stmt.annotation):
            continue
        default = _default(stmt.value, module)
        if not isinstance(default, ast.Call):
            continue
        called = default.func
        if isinstance(called, ast.Name):
            made = package.is_unhashable(name, called.id)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            source, member = module.bound.get(called.value.id, ("", ""))
            made = package.is_unhashable(f"{source}.{member}" if member else source, called.attr)
        else:
            continue
        if made:
            told = f"the default of {cls.name}.{stmt.target.id} is an instance of {ast.unparse(called)}, which has no hash"
            yield End(_DATACLASSES_HASH, module.path, stmt.lineno, told)


def _default(value: ast.expr | None, module: _Module) -> ast.expr | None:
    """What stands for the default: of ``field(default=...)`` what it is given."""
    if isinstance(value, ast.Call) and _names(value.func, module, "field"):
        return next((one.value for one in value.keywords if one.arg == "default"), None)
    return value


def _is_no_field(annotation: ast.expr) -> bool:
    return any(word in ast.unparse(annotation) for word in ("ClassVar", "InitVar"))


def _has_no_hash(cls: ast.ClassDef, module: _Module) -> bool:
    decorator = _decorator(cls, module)
    if decorator is None:
        return False
    given = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    if None in given or any(isinstance(given.get(name), ast.Constant) and given[name].value for name in ("frozen", "unsafe_hash")):  # type: ignore[attr-defined]
        return False
    if "eq" in given:
        return False
    return not any(
        (isinstance(stmt, ast.FunctionDef) and stmt.name == "__hash__")
        or (isinstance(stmt, ast.Assign) and any(isinstance(one, ast.Name) and one.id == "__hash__" for one in stmt.targets))
        for stmt in cls.body
    )


def _decorator(cls: ast.ClassDef, module: _Module) -> ast.expr | None:
    """The decorator that makes a class a dataclass of the standard library."""
    return next(
        (one for one in cls.decorator_list if _names(one.func if isinstance(one, ast.Call) else one, module, "dataclass")),
        None,
    )


def _names(expr: ast.expr, module: _Module, wanted: str) -> bool:
    if isinstance(expr, ast.Name):
        return module.bound.get(expr.id) == ("dataclasses", wanted)
    return (
        isinstance(expr, ast.Attribute)
        and expr.attr == wanted
        and isinstance(expr.value, ast.Name)
        and module.bound.get(expr.value.id) == ("dataclasses", "")
    )


def _certain(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that a module certainly comes to; those in the bodies of its classes are among them."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, ast.ClassDef):
            yield from _certain(stmt.body)
        if isinstance(stmt, ast.Raise):
            return


def _evaluated(stmt: ast.stmt) -> Iterator[ast.AST]:
    """What a statement computes when it is come to: of a function its decorators and defaults alone, of a class its bases."""
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts: list[ast.AST] = [*stmt.decorator_list, *stmt.args.defaults, *(one for one in stmt.args.kw_defaults if one is not None)]
    elif isinstance(stmt, ast.ClassDef):
        parts = [*stmt.decorator_list, *stmt.bases]
    elif isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
        parts = [stmt.value] if stmt.value is not None else []
    else:
        parts = []
    while parts:
        part = parts.pop()
        if isinstance(part, (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        yield part
        parts += ast.iter_child_nodes(part)


def _taken(body: Iterable[ast.stmt], name: str, is_package: bool) -> Iterator[tuple[str, str]]:
    """The modules, and the names in them, that a module certainly imports."""
    for stmt in _certain(body):
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                yield alias.name, ""
        elif isinstance(stmt, ast.ImportFrom):
            module = _from(stmt, name, is_package)
            for alias in stmt.names:
                yield module, "" if alias.name == "*" else alias.name


def _from(stmt: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not stmt.level:
        return stmt.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - stmt.level + (1 if is_package else 0)]
    return ".".join([*parts, *([stmt.module] if stmt.module else [])])


def _parse(path: str, name: str, content: bytes, is_package: bool) -> _Module | None:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return None
    bound: dict[str, tuple[str, str]] = {}
    for stmt in ast.walk(tree):
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                bound[alias.asname or alias.name.partition(".")[0]] = (alias.name if alias.asname else alias.name.partition(".")[0], "")
        elif isinstance(stmt, ast.ImportFrom):
            for alias in stmt.names:
                bound[alias.asname or alias.name] = (_from(stmt, name, is_package), alias.name)
    classes = {stmt.name: stmt for stmt in tree.body if isinstance(stmt, ast.ClassDef)}
    return _Module(path, tuple(tree.body), bound, classes)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
