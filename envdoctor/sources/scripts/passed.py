"""What a script gives its own functions, and what its objects keep: each place at which a parameter or an attribute gets a value.

``train(accelerator, model)`` and ``self.accelerator = Accelerator()`` say what a name is that no assignment of its scope shows. Of a
function that is handed on, decorated or called with ``*arguments`` nobody can tell who gives it what.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.names import LOCAL, ancestry, dotted
from envdoctor.sources.scripts.outline import Guard, Outline, Scope, Store

# An expression, and the scope that it is of.
Place: TypeAlias = "tuple[ast.expr, Scope]"
_Runs: TypeAlias = "Callable[[Guard | None], bool | None]"


class Passed:
    """Places at which parameters and attributes get their values; an index is made when somebody asks for the first."""

    def __init__(self, found: Outline) -> None:
        self.found = found
        self._mentions: dict[str, list[tuple[ast.Name, Scope, Guard | None]]] | None = None
        self._stores: dict[str, list[Store]] | None = None

    # --- parameters -----------------------------------------------------------------------------

    def to_parameter(self, name: str, place: Scope, runs: _Runs) -> list[Place]:
        """What each call of the file gives a parameter; nothing where that is not all that it can be given."""
        node = place.node
        if not isinstance(node, Function) or node.decorator_list or place.parent is None:
            return []
        of_class = isinstance(place.parent.node, ast.ClassDef)
        if of_class and node.name != "__init__":
            return []
        parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args)][int(of_class) :]
        if name not in parameters and name not in (one.arg for one in node.args.kwonlyargs):
            return []
        calls = self._calls(place.parent.node if of_class else node, runs)
        default = place.defaults.get(name)
        given: list[Place] = []
        for call, scope in calls:
            argument = _argument(call, parameters, name)
            if not _is_plain(call) or (argument is None and default is None):
                return []
            given += [(argument, scope)] if argument is not None else [(default, place.parent)] if default is not None else []
        return given

    def _calls(self, node: ast.AST, runs: _Runs) -> list[tuple[ast.Call, Scope]]:
        """The calls of a function or class of the file; none where it is mentioned in another way."""
        name = getattr(node, "name", "")
        entry = self.found.classes.get(name) if isinstance(node, ast.ClassDef) else self.found.functions.get(name)
        if entry is None or entry[0] is not node:
            return []
        calls = []
        for mention, scope, guard in self._mentioned(name):
            call = self.found.parents.get(id(mention))
            if not isinstance(call, ast.Call) or call.func is not mention or dotted(self.found, mention, scope) != f"{LOCAL}.{name}":
                return []
            if runs(guard) is not False:
                calls.append((call, scope))
        return calls

    def _mentioned(self, name: str) -> list[tuple[ast.Name, Scope, Guard | None]]:
        if self._mentions is None:
            self._mentions = {}
            known = self.found.functions.keys() | self.found.classes.keys()
            for node, scope, guard in self.found.names:
                if type(node) is ast.Name and node.id in known:
                    self._mentions.setdefault(node.id, []).append((node, scope, guard))
        return self._mentions.get(name, [])

    # --- attributes -----------------------------------------------------------------------------

    def to_attribute(self, node: ast.Attribute, scope: Scope, runs: _Runs) -> list[Place] | None:
        """What methods of the class make of ``self.name``; nothing where anybody else does too; None for no attribute of ``self``."""
        owner = class_of_self(node.value, scope)
        if owner is None:
            return None
        names = [one for one in ancestry(self.found, f"{LOCAL}.{owner.name}") if one.startswith(f"{LOCAL}.")]
        owners = [entry[0] for one in names if (entry := self.found.classes.get(one.removeprefix(f"{LOCAL}."))) is not None]
        if owner not in owners:
            return []
        given: list[Place] = []
        for store in self._stored(node.attr):
            by = class_of_self(store.target, store.scope)
            if by is None:
                return []
            if by in owners and runs(store.guard) is not False:
                if store.value is None:
                    return []
                given.append((store.value, store.scope))
        # What is none until it is made.
        return [one for one in given if not (isinstance(one[0], ast.Constant) and one[0].value is None)] or given

    def _stored(self, attribute: str) -> Iterator[Store]:
        if self._stores is None:
            self._stores = {}
            for store in self.found.stores:
                self._stores.setdefault(store.key, []).append(store)
        yield from self._stores.get(attribute, ())


def class_of_self(node: ast.expr, scope: Scope) -> ast.ClassDef | None:
    """The class whose method's first parameter a name is."""
    place: Scope | None = scope if isinstance(node, ast.Name) else None
    while place is not None:
        assert isinstance(node, ast.Name)
        if node.id in place.bindings:
            return None
        if node.id in place.params:
            owner = place.parent.node if place.parent is not None else None
            method = place.node
            first = next(iter(place.params)) if isinstance(method, Function) and not method.decorator_list else ""
            return owner if isinstance(owner, ast.ClassDef) and node.id == first else None
        place = place.parent
    return None


def _argument(call: ast.Call, parameters: list[str], name: str) -> ast.expr | None:
    at = parameters.index(name) if name in parameters else len(call.args)
    if at < len(call.args):
        return call.args[at]
    return next((word.value for word in call.keywords if word.arg == name), None)


def _is_plain(call: ast.Call) -> bool:
    return all(word.arg is not None for word in call.keywords) and not any(isinstance(one, ast.Starred) for one in call.args)
