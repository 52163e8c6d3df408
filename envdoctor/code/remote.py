"""The modules of a snapshot that its ``auto_map`` reaches, outlined for one set of installed releases."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from envdoctor.code.gates import Gates
from envdoctor.code.outline import bind, class_shape, flat, method_of
from envdoctor.code.scan import Found, Scan
from envdoctor.code.shape import Method, ModuleShape, Use
from envdoctor.records import dataclass, field
from envdoctor.sources.model.class_tree import parsed
from envdoctor.sources.model.model_directory import ModelDirectory

MODULES_LIMIT = 32


@dataclass(frozen=True, slots=True)
class Import:
    """``from module import name`` (``name`` empty for ``import module``); ``method`` is the function it stands in."""

    module: str
    name: str
    line: int
    method: str
    guarded: bool


@dataclass(slots=True)
class RemoteModule:
    """One file: ``uses`` by the class that they stand in, ``""`` for functions and the top level.

    ``kinds`` are the names of classes that a variable of a function is annotated with or made by; ``refers`` are the names
    that a definition needs; ``set_elsewhere`` are attributes that are assigned to objects other than ``self``.
    """

    file: str
    shape: ModuleShape = field(default_factory=ModuleShape)
    imports: list[Import] = field(default_factory=list)
    uses: dict[str, list[Use]] = field(default_factory=dict)
    kinds: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)
    refers: dict[str, set[str]] = field(default_factory=dict)
    set_elsewhere: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    functions: dict[str, Method] = field(default_factory=dict)
    minor_gates: list[tuple[int, str, int]] = field(default_factory=list)


class RemoteCode:
    """The reached modules by name, the entries first; what cannot be read is a skip of the directory."""

    def __init__(self, directory: ModelDirectory, entries: Iterable[str], releases: Mapping[str, str]) -> None:
        self.directory = directory
        self.releases = releases
        self.modules: dict[str, RemoteModule] = {}
        waiting = [entry.rpartition("--")[2].rpartition(".")[0] for entry in entries if "--" not in entry]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop(0)
            if name in seen or not name.isidentifier():
                continue
            seen.add(name)
            if len(self.modules) == MODULES_LIMIT:
                directory.skip(f"{name}.py", f"more than {MODULES_LIMIT} modules are not compared with the library")
                break
            module = self._read(name)
            if module is not None:
                self.modules[name] = module
                for item in module.imports:
                    if item.module.startswith("."):
                        waiting.append(item.module[1:].partition(".")[0] or item.name)

    def _read(self, name: str) -> RemoteModule | None:
        file = f"{name}.py"
        source = parsed(self.directory, file)
        if source is None:
            return None
        try:
            return outline(file, source[0], self.releases)
        except RecursionError:
            self.directory.skip(file, "not compared with the library: nested too deeply")
            return None


def outline(file: str, tree: ast.Module, releases: Mapping[str, str]) -> RemoteModule:
    """The outline of one module, the branches left out that these releases do not take."""
    module = RemoteModule(file)
    gates = Gates(releases)
    stars: list[str] = []
    definitions: list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = []
    for item in flat(tree.body, gates.decide):
        gates.learn(item)
        if isinstance(item, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            definitions.append(item)
            module.shape.names[item.name] = ""
        else:
            bind(item, module.shape, stars, "")
            if isinstance(item, ast.Assign):
                for target in item.targets:
                    if isinstance(target, ast.Name):
                        module.refers.setdefault(target.id, set()).update(_names(item.value))
    module.shape.stars = tuple(stars)
    module.shape.names.update((name, ".") for name, bound in module.shape.names.items() if bound.startswith(":"))
    top = Found()
    scan = Scan(top, everything=True, decide=gates.decide, definitions=False)
    scan.block(tree.body)
    for item in definitions:
        module.refers.setdefault(item.name, set()).update(_names(item))
        if isinstance(item, ast.ClassDef):
            found = Found()
            module.shape.classes.setdefault(item.name, class_shape(item, everything=True, decide=gates.decide, found=found))
            _keep(module, item.name, found)
        else:
            module.functions[item.name] = method_of(item, bound=False)
            Scan(top, everything=True, decide=gates.decide).function(item, item.name)
    _keep(module, "", top)
    module.texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    module.minor_gates = sorted(gates.minor_only(tree))
    return module


def _keep(module: RemoteModule, owner: str, found: Found) -> None:
    module.uses.setdefault(owner, []).extend(found.uses)
    module.set_elsewhere |= found.strings
    module.kinds.update(((owner, method, name), kinds) for (method, name), kinds in found.kinds.items())
    for node, method, guarded in found.imports:
        if isinstance(node, ast.Import):
            module.imports += [Import(alias.name, "", node.lineno, method, guarded) for alias in node.names]
        else:
            source = "." * node.level + (node.module or "")
            module.imports += [Import(source, alias.name, node.lineno, method, guarded) for alias in node.names]


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def relative(target: str) -> str:
    """The module of a relative import as bound by ``outline``: its bare name, or empty for what is not one."""
    return target[1:] if target.startswith(".") else ""
