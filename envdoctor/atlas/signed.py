"""How the functions and classes of a module are written down: signatures with what their bodies refuse, and bases."""

from __future__ import annotations

import ast

from envdoctor.atlas.lazy_names import LazyNames
from envdoctor.atlas.literals import as_link
from envdoctor.atlas.rebinding import rebound_names
from envdoctor.atlas.refusals import Function, refusals_of, write_refusals
from envdoctor.atlas.signatures import COPIES, HIDDEN, last_word, of_function


class Signed(LazyNames):
    """Knows what stands beside a function in its module."""

    def look_around(self, tree: ast.Module) -> None:
        """The functions and classes at the top level, before any of them is read."""
        self.beside = {} if self.own else {item.name: item for item in tree.body if isinstance(item, ast.FunctionDef)}
        self.classes = frozenset(item.name for item in tree.body if isinstance(item, ast.ClassDef))
        self.rebound = rebound_names(tree.body) if self.own else frozenset()

    def signature(self, node: Function, *, bound: bool) -> str:
        """The signature of a function with what its body refuses."""
        told = of_function(node, bound=bound)
        if self.own or told == HIDDEN:
            return told
        told = write_refusals(refusals_of(node, self.beside), told, self.link)
        calls = [one for one in node.decorator_list if isinstance(one, ast.Call) and last_word(one) == COPIES]
        copied = [one.args[0] for one in calls if len(one.args) == 1]
        method = self.link(copied[0]) if copied else ""
        return f"{told},^{method}" if method else HIDDEN if copied else told

    def link(self, called: ast.expr) -> str:
        """The full name of a function of the same package that a call goes to; empty where that is not known."""
        first = called.value if isinstance(called, ast.Attribute) else called
        if not isinstance(first, ast.Name):
            return ""
        here = first.id in self.beside or first.id in self.classes
        target = self.bound.get(first.id) or (f"{self.module}:{first.id}" if here else "")
        if ":" not in target or target.partition(":")[0].partition(".")[0] != self.top:
            return ""
        return f"{target}.{called.attr}" if isinstance(called, ast.Attribute) else target

    def base(self, node: ast.expr, scope: dict[str, str | None] | None) -> str:
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            target = self.bound.get(node.id) if scope is None or node.id not in scope else scope[node.id]
            if target:
                return as_link(target)
            return f"{self.module}:{node.id}" if node.id not in ("object", "Enum", "str", "dict") else node.id
        found = self.dotted(node, scope) if isinstance(node, ast.Attribute) else None
        return as_link(found) if found is not None else "?"
