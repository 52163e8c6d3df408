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
from envdoctor.syntax.walking import walk

# An expression, and the scope that it is of.
Place: TypeAlias = "tuple[ast.expr, Scope]"
_Runs: TypeAlias = "Callable[[Guard | None], bool | None]"


class Passed:
    """Places at which parameters and attributes get their values; an index is made when somebody asks for the first."""

    def __init__(self, found: Outline) -> None:
        self.found = found
        self._mentions: dict[str, list[tuple[ast.Name, Scope, Guard | None]]] | None = None
        self._methods: dict[str, list[tuple[ast.Attribute, Scope, Guard | None]]] | None = None
        self._stores: dict[str, list[Store]] | None = None

    # --- parameters -----------------------------------------------------------------------------

    def to_parameter(self, name: str, place: Scope, runs: _Runs) -> list[Place]:
        """What each call of the file gives a parameter; nothing where that is not all that it can be given."""
        node = place.node
        if not isinstance(node, Function) or node.decorator_list or place.parent is None:
            return []
        owner = place.parent.node
        of_class = isinstance(owner, ast.ClassDef)
        parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args)][int(of_class) :]
        if name not in parameters and name not in (one.arg for one in node.args.kwonlyargs):
            return []
        if isinstance(owner, ast.ClassDef) and node.name != "__init__":
            calls = self._method_calls(owner, node.name, runs)
        else:
            calls = self._calls(owner if of_class else node, runs)
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

    def _method_calls(self, owner: ast.ClassDef, name: str, runs: _Runs) -> list[tuple[ast.Call, Scope]]:
        """The calls of a method of a class of the file; none where it is taken from what may be an object of another class."""
        calls = []
        for mention, scope, guard in self._attributes(name):
            call = self.found.parents.get(id(mention))
            if not isinstance(call, ast.Call) or call.func is not mention or not self._is_of(mention.value, scope, owner):
                return []
            if runs(guard) is not False:
                calls.append((call, scope))
        return calls

    def _is_of(self, node: ast.expr, scope: Scope, owner: ast.ClassDef) -> bool:
        """Whether an expression is an object of just this class: ``self``, ``Loop()``, or a name that is one."""
        if class_of_self(node, scope) is owner:
            return True
        bindings = (
            next((place.bindings[node.id] for place in _places(scope) if node.id in place.bindings), [])
            if isinstance(node, ast.Name)
            else []
        )
        made = bindings[0].value if len(bindings) == 1 and bindings[0].index is None else node
        return isinstance(made, ast.Call) and dotted(self.found, made.func, scope) == f"{LOCAL}.{owner.name}"

    def _attributes(self, name: str) -> list[tuple[ast.Attribute, Scope, Guard | None]]:
        if self._methods is None:
            self._methods = {}
            known = self.found.functions.keys()
            for node, scope, guard in self.found.names:
                if type(node) is ast.Attribute and node.attr in known:
                    self._methods.setdefault(node.attr, []).append((node, scope, guard))
        return self._methods.get(name, [])

    # --- results --------------------------------------------------------------------------------

    def to_result(self, name: str) -> list[Place]:
        """What a function of the file gives back; nothing where it may end without, or is wrapped."""
        entry = self.found.functions.get(name.removeprefix(f"{LOCAL}."))
        node = entry[0] if entry is not None else None
        if node is None or node.decorator_list or not isinstance(node, ast.FunctionDef) or not isinstance(node.body[-1], ast.Return):
            return []
        if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in walk(node)):
            return []
        scope = next((one for one in self.found.scopes if one.node is node), None)
        return [(value, scope) for value in self.found.returns.get(id(scope), ())] if scope is not None else []

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
        return None if owner is None else self.to_kept(owner, node.attr, runs)

    def to_own(self, kind: str, attribute: str, runs: _Runs) -> list[Place]:
        """The same of an object of a class of the file, by the class's dotted name."""
        entry = self.found.classes.get(kind.removeprefix(f"{LOCAL}."))
        return [] if entry is None else self.to_kept(entry[0], attribute, runs)

    def to_kept(self, owner: ast.ClassDef, attribute: str, runs: _Runs) -> list[Place]:
        """What methods of a class and of those that it derives from make of an attribute."""
        names = [one for one in ancestry(self.found, f"{LOCAL}.{owner.name}") if one.startswith(f"{LOCAL}.")]
        owners = [entry[0] for one in names if (entry := self.found.classes.get(one.removeprefix(f"{LOCAL}."))) is not None]
        if owner not in owners:
            return []
        given: list[Place] = []
        for store in self._stored(attribute):
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


def _places(scope: Scope) -> Iterator[Scope]:
    place: Scope | None = scope
    while place is not None:
        yield place
        place = place.parent


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
