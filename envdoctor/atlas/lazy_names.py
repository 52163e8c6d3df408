"""Names that a module gives on request: those of ``_import_structure`` and its like, and what adds to them at the top level."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from envdoctor.atlas.expressions import Expressions
from envdoctor.atlas.literals import absolute_text, texts

LAZY_TABLES = frozenset(("_import_structure", "_SUBMOD_ATTRS", "MODULE_ATTRS", "_LAZY_IMPORTS", "_lazy_imports"))


class LazyNames(Expressions):
    """Reads the tables of lazy modules; ``asks_others`` says that one gives more than its table names."""

    asks_others = False

    def lazy_table(self, value: ast.Dict) -> None:
        for key, listed in zip(value.keys, value.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                continue
            if isinstance(listed, ast.Constant) and isinstance(listed.value, str):  # name: ".module:name"
                module, _, name = listed.value.partition(":")
                self.out.lazy[key.value] = f"{absolute_text(module, self.home)}:{name or key.value}"
                continue
            self.lazy_names(key.value, texts(listed))

    def dynamic_table(self, value: ast.Dict) -> None:
        """``_dynamic_imports`` of pydantic (``"BaseModel": (__spec__.parent, ".main")``) and of langchain (``"AIMessage": "ai"``)."""
        self.asks_others = True
        for key, told in zip(value.keys, value.values, strict=True):
            module = told.elts[-1] if isinstance(told, ast.Tuple) and told.elts else told
            if isinstance(key, ast.Constant) and isinstance(module, ast.Constant) and isinstance(module.value, str):
                name = str(key.value)
                source = f"{self.home}.{module.value.lstrip('.')}"
                self.out.lazy[name] = f"{self.home}.{name}" if module.value == "__module__" else f"{source}:{name}"

    def lazy_names(self, submodule: str, names: Iterable[str]) -> None:
        full = f"{self.home}.{submodule.lstrip('.')}"
        self.out.lazy.setdefault(submodule.partition(".")[0], f"{self.home}.{submodule.partition('.')[0]}")
        for name in names:
            self.out.lazy[name] = f"{full}:{name}"

    def lazily(self, target: ast.Subscript, value: ast.expr | None) -> None:
        """``_import_structure["generation"] = [...]``, also with ``+=``."""
        key = target.slice
        known = isinstance(target.value, ast.Name) and target.value.id in LAZY_TABLES
        if known and value is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
            self.lazy_names(key.value, texts(value))

    def extend(self, node: ast.expr) -> None:
        """Calls at the top level that add names: to the structure of a lazy module, to ``__all__``, or an old name of a submodule."""
        if not isinstance(node, ast.Call):
            return
        func = node.func
        if isinstance(func, ast.Attribute) and node.args:
            owner = func.value
            if isinstance(owner, ast.Subscript) and func.attr in ("extend", "append"):
                self.lazily(owner, node.args[0])
            elif isinstance(owner, ast.Name) and owner.id in LAZY_TABLES and func.attr == "update" and isinstance(node.args[0], ast.Dict):
                self.lazy_table(node.args[0])
            elif isinstance(owner, ast.Name) and owner.id == "__all__" and func.attr in ("extend", "append"):
                self.out.exported += texts(node.args[0])
        elif isinstance(func, ast.Name) and func.id.endswith("_alias") and len(node.args) == 2 and isinstance(node.args[0], ast.JoinedStr):
            tail = node.args[0].values[-1]
            if isinstance(tail, ast.Constant) and isinstance(node.args[1], ast.Constant):
                self.out.aliases[str(tail.value).lstrip(".")] = str(node.args[1].value).lstrip(".")
