"""The outline of a Python module, from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from envdoctor.atlas.literals import absolute, texts
from envdoctor.code.scan import Decide, Found, Function, Scan, display, returned
from envdoctor.code.shape import ClassShape, Method, ModuleShape, Signature

# Decorators that leave the signature of a function as it is written.
_TRANSPARENT = frozenset(
    (
        "abstractmethod", "no_grad", "inference_mode", "wraps", "torch_compilable_check", "override", "overload", "final", "lru_cache",
        "cache", "add_start_docstrings", "add_end_docstrings", "add_start_docstrings_to_model_forward", "add_code_sample_docstrings",
        "replace_return_docstrings", "auto_docstring", "jit", "script", "ignore", "unused", "is_offline_mode", "use_kernelized_func",
    )
)  # fmt: skip
_KINDS = frozenset(("property", "classmethod", "staticmethod", "cached_property"))


def module_shape(tree: ast.Module, text: str, package: str) -> ModuleShape:
    """The outline of a module of a library; ``package`` is what its relative imports start from."""
    shape = ModuleShape()
    stars: list[str] = []
    for item in flat(tree.body, _at_run_time):
        bind(item, shape, stars, package)
    shape.stars = tuple(stars)
    shape.open = "__getattr__" in shape.names
    if "_LazyModule" not in text and ("sys.modules[__name__]" in text or "globals()[" in text or "globals().update" in text):
        shape.open = True
    if "define_import_structure(" in text and shape.structure is None and "_LazyModule" in text:
        shape.structure = ("models",) if 'prefix="models"' in text else ("",)
    for target, alias in _aliases(tree):
        shape.aliases.setdefault(alias, target)
    return shape


def _at_run_time(test: ast.expr) -> bool | None:
    return False if dotted(test).rpartition(".")[2] == "TYPE_CHECKING" else None


def flat(body: Iterable[ast.stmt], decide: Decide | None = None) -> Iterator[ast.stmt]:
    """Statements, and those that a branch, a ``try`` or a ``with`` may run at import."""
    stack = list(reversed(list(body)))
    while stack:
        item = stack.pop()
        yield item
        inner: list[ast.stmt] = []
        if isinstance(item, ast.If):
            known = decide(item.test) if decide is not None else None
            inner = [*(item.body if known is not False else ()), *(item.orelse if known is not True else ())]
        elif isinstance(item, (ast.For, ast.While, ast.With)):
            inner = item.body
        elif isinstance(item, ast.Try) or type(item).__name__ == "TryStar":
            parts: list[ast.AST] = [item, *getattr(item, "handlers", ())]
            inner = [inside for part in parts for inside in getattr(part, "body", ())]
            inner += [*getattr(item, "orelse", ()), *getattr(item, "finalbody", ())]
        stack += reversed(inner)


def bind(item: ast.stmt, shape: ModuleShape, stars: list[str], package: str) -> None:
    """Enter into the outline what a statement of the top level binds; ``stars`` collects what it imports whole."""
    names = shape.names
    if isinstance(item, ast.ClassDef):
        names[item.name] = ""
        shape.classes.setdefault(item.name, class_shape(item))
    elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
        names[item.name] = ""
        shape.functions.setdefault(item.name, method_of(item, bound=False))
    elif isinstance(item, ast.Import):
        for alias in item.names:
            names[alias.asname or alias.name.partition(".")[0]] = f"{alias.name if alias.asname else alias.name.partition('.')[0]}:"
    elif isinstance(item, ast.ImportFrom):
        module = absolute(item.module, item.level, package)
        for alias in item.names:
            if alias.name == "*":
                stars.append(module)
            else:
                names.setdefault(alias.asname or alias.name, f"{module}:{alias.name}")
    elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = item.targets if isinstance(item, ast.Assign) else [item.target]
        for target in targets:
            _assign(target, item.value, shape)
    elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
        _extend(item.value, shape)
    if isinstance(item, ast.For | ast.With):
        for node in ast.walk(item.target if isinstance(item, ast.For) else item.items[0]):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.setdefault(node.id, "")


def _assign(target: ast.expr, value: ast.expr | None, shape: ModuleShape) -> None:
    if isinstance(target, ast.Name):
        if target.id == "_import_structure" and isinstance(value, ast.Dict):
            for key, listed in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    shape.lazy.setdefault(key.value, []).extend(texts(listed))
        elif target.id == "__all__" and value is not None:
            shape.exported = (*(shape.exported or ()), *texts(value))
        elif target.id == "_LEGACY_MODULE_ALIASES" and isinstance(value, ast.Dict):
            keys = texts(ast.List(elts=[key for key in value.keys if key is not None]))
            shape.aliases.update(zip(keys, texts(ast.List(elts=value.values)), strict=False))
        shape.names[target.id] = f"={value.id}" if isinstance(value, ast.Name) else shape.names.get(target.id, "")
    elif isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            _assign(part, None, shape)
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == "_import_structure":
        key = target.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and value is not None:
            shape.lazy.setdefault(key.value, []).extend(texts(value))


def _extend(call: ast.Call, shape: ModuleShape) -> None:
    """``_import_structure["generation"].extend([...])`` and ``.append("...")``."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in ("extend", "append") and isinstance(func.value, ast.Subscript) and call.args:
        owner, key = func.value.value, func.value.slice
        if isinstance(owner, ast.Name) and owner.id == "_import_structure" and isinstance(key, ast.Constant) and isinstance(key.value, str):
            shape.lazy.setdefault(key.value, []).extend(texts(call.args[0]))


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Calls such as ``_create_tokenization_alias(f"{__name__}.old", ".new")``."""
    for item in flat(tree.body):
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and isinstance(item.value.func, ast.Name):
            given = item.value.args
            if item.value.func.id.endswith("_alias") and len(given) == 2 and isinstance(given[0], ast.JoinedStr):
                tail = given[0].values[-1]
                if isinstance(tail, ast.Constant) and isinstance(given[1], ast.Constant):
                    yield str(given[1].value).lstrip("."), str(tail.value).lstrip(".")


# --- classes and functions -----------------------------------------------------------------------


def class_shape(node: ast.ClassDef, *, everything: bool = False, decide: Decide | None = None, found: Found | None = None) -> ClassShape:
    """The outline of a class; with ``everything`` its uses are those of all names."""
    found = Found() if found is None else found
    scan = Scan(found, everything=everything, decide=decide)
    bases = tuple(dotted(base) for base in node.bases)
    shape = ClassShape(node.name, node.lineno, bases, tuple(dotted(item) for item in node.decorator_list))
    for item in flat(node.body, decide):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            told = method_of(item, bound=True)
            if told.kind != "setter":
                shape.methods[item.name] = told
            elif item.name not in shape.methods:
                shape.attributes.setdefault(item.name, "")
            scan.function(item, item.name)
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            for target in item.targets if isinstance(item, ast.Assign) else [item.target]:
                if isinstance(target, ast.Name):
                    shape.attributes[target.id] = display(item.value)
                    if target.id == "attribute_map" and isinstance(item.value, ast.Dict):
                        for key in item.value.keys:
                            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                                shape.attributes.setdefault(key.value, "")
        elif isinstance(item, ast.ClassDef):
            shape.attributes.setdefault(item.name, "")
    shape.stores, shape.uses, shape.dynamic = found.stores, found.uses, found.dynamic
    if found.dynamic and not everything:
        shape.strings = frozenset(
            item.value
            for item in ast.walk(node)
            if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.value.isidentifier() and len(item.value) < 60
        )
    return shape


def method_of(node: Function, *, bound: bool) -> Method:
    """A function's outline; ``bound``: in a class, where the first parameter is the object."""
    kind = "method"
    for decorator in node.decorator_list:
        name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
        if name in ("setter", "deleter"):
            kind = "setter"
        elif name in _KINDS:
            kind = "property" if name == "cached_property" else name
        elif name not in _TRANSPARENT:
            kind = ""
            break
    return Method(node.name, node.lineno, kind, signature(node, bound and kind != "staticmethod"), returned(node))


def signature(node: Function, bound: bool) -> Signature:
    arguments = node.args
    positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    required, only = len(positional) - len(arguments.defaults), len(arguments.posonlyargs)
    if bound and positional:
        positional, required, only = positional[1:], max(required - 1, 0), max(only - 1, 0)
    needed = [item.arg for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    stars = int(arguments.vararg is not None) + 2 * int(arguments.kwarg is not None)
    return Signature(tuple(positional), required, only, tuple(item.arg for item in arguments.kwonlyargs), tuple(needed), stars)


def dotted(node: ast.expr) -> str:
    """``a.b.c`` as text; what is called, or subscripted, without its arguments; empty for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
