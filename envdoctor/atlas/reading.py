"""One pass over a module's syntax tree: its outline.

What a statement takes from other modules is told with the condition over it and with the function whose body it stands in; a ``try`` that
reckons with the absence counts as a condition that releases do not decide.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from envdoctor.atlas import guards as conditions
from envdoctor.atlas.called import runs_through, taken_by_calls
from envdoctor.atlas.expressions import RAISES, parameters
from envdoctor.atlas.flags import attempt_flags, is_asking, may_skip, names_of, put_in_place, reckons, skip_tests
from envdoctor.atlas.guards import NEVER, UNKNOWN
from envdoctor.atlas.lazy_names import LAZY_TABLES
from envdoctor.atlas.literals import absolute, as_link, names_taken, parts_of, texts
from envdoctor.atlas.on_request import read_requests
from envdoctor.atlas.outline import Kind, Outline
from envdoctor.atlas.rebinding import imported_by
from envdoctor.atlas.signatures import HIDDEN, last_word
from envdoctor.atlas.signed import Signed
from envdoctor.syntax.parsing import parse_python
from envdoctor.syntax.walking import children, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

MODULE_ONLY = "~module"
"""A guard that saves a missing module and not a missing name: ``except ModuleNotFoundError``."""

_SAVES = frozenset(("ImportError", "AttributeError", "TypeError", "Exception", "BaseException"))
_MODULE = frozenset(("ModuleNotFoundError",))
_EXPIRED = frozenset(("__former_attrs__", "__expired_attributes__"))


def read_module(text: str, module: str, *, package: bool) -> Outline:
    """The outline of a module's source.

    Raises:
        NoPythonError: it is no Python that this interpreter reads.
        RecursionError: it is nested too deep.
    """
    return read_tree(parse_python(text), text, module, package=package)


def read_contents(text: str, module: str, *, package: bool) -> Outline:
    """What a module holds, without what the bodies of its functions take; raises what ``read_module`` does."""
    reader = _Reader(text, module, package)
    reader.shallow = True
    return reader.read(parse_python(text))


def read_tree(tree: ast.Module, text: str, module: str, *, package: bool = False, hides: bool = True) -> Outline:
    """The outline of a module that was parsed already; without ``hides`` nothing in it assigns to a name that an import of it binds."""
    reader = _Reader(text, module, package)
    reader.hides = hides
    return reader.read(tree)


class _Reader(Signed):
    hides = True

    def read(self, tree: ast.Module) -> Outline:
        self.run_through: dict[str, bool] = {}
        self.look_around(tree)
        self.block(tree.body, "", "", None, "")
        out = self.out
        if self.own:
            return self._without_patched(out)
        out.taken += taken_by_calls(self.calls, self.run_through, out.taken)
        closed = bool(out.lazy) or out.structure is not None
        text = self.text
        asked = read_requests(tree, text, self.guards.names)
        out.names += asked.names
        if asked.refuses:
            out.functions.pop("__getattr__", None)
        if "__getattr__" in out.functions or ("__getattr__" in out.names and not closed):
            out.open = not out.lazy or self.asks_others
        replaced = "sys.modules[__name__]" in text and not closed and not asked.in_place and "_LazyModule" not in text
        if replaced or asked.unexplained:
            out.open = True
        return self._without_patched(out)

    def _without_patched(self, out: Outline) -> Outline:
        """An outline without what is taken of what the module itself puts there."""
        below = tuple(f"{name}." for name in self.patched)
        out.taken = [one for one in out.taken if not below or not f"{one.name.replace(':', '.')}.".startswith(below)]
        return out

    # --- statements ------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt], guard: str, where: str, scope: dict[str, str | None] | None, condition: str) -> None:
        for item in body:
            if guard == NEVER:
                return
            self.statement(item, guard, where, scope, condition)
            self.forget(item, scope)
            if isinstance(item, ast.If) and item.body and isinstance(item.body[-1], ast.Return | ast.Raise | ast.Continue):
                guard = conditions.joined(guard, conditions.negated(self.guards.of(item.test)))
            elif may_skip(item):
                guard = conditions.joined(guard, UNKNOWN)

    def statement(self, item: ast.stmt, guard: str, where: str, scope: dict[str, str | None] | None, condition: str) -> None:
        kind = type(item)
        if kind is ast.Expr:
            assert isinstance(item, ast.Expr)
            if not isinstance(item.value, ast.Constant):
                if scope is None:
                    self.extend(item.value)
                self.expression(item.value, guard, where, scope, condition)
        elif isinstance(item, ast.Import | ast.ImportFrom):
            self.imports(item, guard, where, scope)
        elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self.assigned(item, guard, where, scope, condition)
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            self.function(item, guard, where, scope)
        elif isinstance(item, ast.ClassDef):
            self.klass(item, guard, where, scope)
        elif isinstance(item, ast.If):
            test = self.guards.of(item.test)
            self.expression(item.test, guard, where, scope, condition)
            words = self.words(item.test)
            self.block(item.body, conditions.joined(guard, test), where, scope, words)
            self.block(item.orelse, conditions.joined(guard, conditions.negated(test)), where, scope, f"not ({words})" if words else "")
        elif isinstance(item, ast.Try) or kind.__name__ == "TryStar":
            self.attempt(item, guard, where, scope, condition)
        elif isinstance(item, ast.With | ast.AsyncWith):
            for one in item.items:
                self.expression(one.context_expr, guard, where, scope, condition)
                if scope is None and one.optional_vars is not None:
                    self.bind_target(one.optional_vars)
            saves = any(last_word(one.context_expr) in RAISES for one in item.items)
            self.block(item.body, conditions.joined(guard, UNKNOWN) if saves else guard, where, scope, condition)
        elif isinstance(item, ast.For | ast.AsyncFor | ast.While):
            self.expression(item.iter if not isinstance(item, ast.While) else item.test, guard, where, scope, condition)
            if scope is None and not isinstance(item, ast.While):
                self.bind_target(item.target)
            self.block([*item.body, *item.orelse], guard, where, scope, condition)
        elif isinstance(item, ast.Global):
            self.out.names += item.names  # put there once the function is called, by the module itself or by whoever uses it
        elif isinstance(item, ast.Assert):
            if not self.own:
                self.asserted(item, where)
            for part in (item.test, item.msg):
                if part is not None:
                    self.expression(part, guard, where, scope, condition)
        elif isinstance(item, ast.Raise):
            if not self.own:
                self.raised(item, where, condition)
            for part in (item.exc, item.cause):
                if part is not None:
                    self.expression(part, guard, where, scope, condition)
        else:
            for child in children(item):
                if isinstance(child, ast.expr):
                    self.expression(child, guard, where, scope, condition)
                elif isinstance(child, ast.stmt):
                    self.statement(child, guard, where, scope, condition)
                elif type(child).__name__ == "match_case":
                    self.block(getattr(child, "body", []), conditions.joined(guard, UNKNOWN), where, scope, condition)

    def imports(self, item: ast.Import | ast.ImportFrom, guard: str, where: str, scope: dict[str, str | None] | None) -> None:
        if isinstance(item, ast.Import):
            for alias in item.names:
                self.record(alias.name, item.lineno, guard, where)
                self.bind(alias.asname or alias.name.partition(".")[0], alias.name if alias.asname else alias.name.partition(".")[0], scope)
            return
        module = absolute(item.module, item.level, self.home)
        for alias in names_taken(item, module):
            self.record(f"{module}:{alias.name}", item.lineno, guard, where)
            if alias.name != "*":
                self.bind(alias.asname or alias.name, f"{module}:{alias.name}", scope)
            elif scope is None:
                self.out.stars.append(module)

    def bind(self, name: str, target: str, scope: dict[str, str | None] | None) -> None:
        if scope is not None:
            scope[name] = target
            return
        self.guards.modules[name] = target.replace(":", ".")
        earlier = self.bound.get(name, target)
        plain = ":" not in target
        self.bound[name] = target if earlier == target or (plain and earlier is not None and earlier.partition(".")[0] == target) else None
        self.out.links.setdefault(name, target)

    def bind_target(self, target: ast.expr) -> None:
        self.out.names += [node.id for node in walk(target) if isinstance(node, ast.Name)]

    def assigned(
        self, item: ast.Assign | ast.AnnAssign | ast.AugAssign, guard: str, where: str, scope: dict[str, str | None] | None, condition: str
    ) -> None:
        targets = item.targets if isinstance(item, ast.Assign) else [item.target]
        if item.value is not None:
            self.expression(item.value, guard, where, scope, condition)
            if self.guards.asks(item.value):
                self.guards.flags.update((name, UNKNOWN) for target in targets for name in names_of(target))
        if isinstance(item, ast.AnnAssign) and scope is None and self.annotations:
            self.expression(item.annotation, guard, where, scope, condition)
        for target in targets:
            self.patched.update(put_in_place(target))
            if isinstance(target, ast.Name):
                if scope is None:
                    self.top_level(target.id, item)
                elif item.value is not None and not isinstance(item, ast.AugAssign):
                    self.texts[target.id] = item.value
            elif isinstance(target, ast.Attribute):
                name = self.dotted(target, scope)
                if name is not None and name.partition(".")[0].partition(":")[0] != self.top:
                    self.patched.add(name.replace(":", "."))
                elif name is not None and scope is None:
                    self.out.given.append(name.replace(":", "."))
                self.expression(target.value, guard, where, scope, condition)
            elif isinstance(target, ast.Subscript):
                if scope is None:
                    self.lazily(target, item.value)
                self.expression(target.value, guard, where, scope, condition)
                self.expression(target.slice, guard, where, scope, condition)
            elif scope is None:
                self.bind_target(target)

    def top_level(self, name: str, item: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        value = item.value
        out = self.out
        if isinstance(item, ast.AnnAssign) and value is None:
            return
        if value is not None and not isinstance(item, ast.AugAssign):
            self.guards.names[name] = value
            self.worded(name, value)
        if name == "__all__" and value is not None:
            out.exported += texts(value)
        elif name in LAZY_TABLES and isinstance(value, ast.Dict):
            self.lazy_table(value)
        elif name == "_dynamic_imports" and isinstance(value, ast.Dict):
            self.dynamic_table(value)
        elif name == "_LEGACY_MODULE_ALIASES" and isinstance(value, ast.Dict):
            keys = [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            out.aliases.update(zip(keys, texts(ast.List(elts=value.values)), strict=False))
        elif name in _EXPIRED and value is not None:
            out.expired += (
                texts(ast.List(elts=[key for key in value.keys if key is not None])) if isinstance(value, ast.Dict) else texts(value)
            )
        if isinstance(value, ast.Name) and isinstance(item, ast.Assign):
            target = self.bound.get(value.id)
            out.links.setdefault(name, target if target else f"{self.module}:{value.id}")
        elif isinstance(value, ast.Attribute) and isinstance(item, ast.Assign) and (found := self.dotted(value, None)) is not None:
            out.links.setdefault(name, as_link(found))
        else:
            out.names.append(name)

    # --- functions and classes ---------------------------------------------------------------------

    def function(self, node: Function, guard: str, where: str, scope: dict[str, str | None] | None, owner: str = "") -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, guard, where, scope, "")
            if isinstance(decorator, ast.Name):
                self.calls.append((where, decorator.id, guard))
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.expression(default, guard, where, scope, "")
        if self.annotations:
            for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
                if item is not None and item.annotation is not None:
                    self.expression(item.annotation, guard, where, scope, "")
            if node.returns is not None:
                self.expression(node.returns, guard, where, scope, "")
        if is_asking(node, lambda one: reckons(one, _SAVES, parts_of), self.guards.asks):
            self.guards.flags[node.name] = UNKNOWN
        if not where and not owner and scope is None:
            told = self.signature(node, bound=False)
            overload = any(last_word(item) == "overload" for item in node.decorator_list)
            if not overload and node.name in self.overloads:
                # What only checkers of types are told gives way to the definition itself.
                self.overloads.discard(node.name)
                self.out.functions[node.name] = told
            else:
                # Two definitions under two conditions: which one is there is not known.
                self.out.functions[node.name] = told if self.out.functions.get(node.name, told) == told else HIDDEN
                self.overloads |= {node.name} if overload else set()
        if self.shallow:
            return
        inner: dict[str, str | None]
        if where:
            inner = dict(scope or {})
            inner.update(dict.fromkeys(parameters(arguments)))
        else:
            inner = dict.fromkeys(parameters(arguments))
            for found in walk(node) if self.hides else ():
                if type(found) is ast.Name and type(found.ctx) is not ast.Load:
                    inner[found.id] = None
            self.texts = {}
        name = f"{where}.{node.name}" if where else f"{owner}.{node.name}" if owner else node.name
        # Of two definitions under two conditions it is not known which one is called.
        if not self.own:
            self.run_through[name] = name not in self.run_through and runs_through(node)
        # A function that is made under a condition is called under it.
        skipped = any(self.guards.looks(test) for test in skip_tests(node.decorator_list))
        self.block(node.body, conditions.joined(guard, UNKNOWN) if skipped else guard, name, inner, "")

    def klass(self, node: ast.ClassDef, guard: str, where: str, scope: dict[str, str | None] | None) -> None:
        for part in (*node.decorator_list, *node.bases, *(item.value for item in node.keywords)):
            self.expression(part, guard, where, scope, "")
        shape = Kind([self.base(base, scope) for base in node.bases], {}, False, [last_word(item) for item in node.decorator_list])
        if any(item.arg == "metaclass" and last_word(item.value) not in ("ABCMeta", "EnumMeta", "type") for item in node.keywords):
            shape.dynamic = True
        if not where and scope is None:
            self.out.classes.setdefault(node.name, shape)
        self.parents.append(shape.bases[0] if shape.bases else "")
        self.members(node.body, shape, guard, where, scope, f"{where}.{node.name}" if where else node.name)
        self.parents.pop()

    def members(
        self, body: Iterable[ast.stmt], shape: Kind, guard: str, where: str, scope: dict[str, str | None] | None, name: str
    ) -> None:
        for item in body:
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                words = [last_word(one) for one in item.decorator_list]
                value = "p" if "property" in words or "cached_property" in words else self.signature(item, bound=True)
                if "overload" in words:
                    shape.members.setdefault(item.name, "")  # a stub may have nothing else of it
                elif "setter" not in words:
                    shape.members[item.name] = value
                if item.name in ("__getattr__", "__getattribute__"):
                    shape.dynamic = True
                if not self.own:
                    self.stores(item, shape)
                self.function(item, guard, where, scope, name)
            elif isinstance(item, ast.Assign | ast.AnnAssign):
                targets = item.targets if isinstance(item, ast.Assign) else [item.target]
                for target in targets:
                    for node in walk(target):
                        if isinstance(node, ast.Name):
                            # A field of a dataclass says whether it has a default.
                            shape.members.setdefault(
                                node.id, ("=" if item.value is not None else ":") if isinstance(item, ast.AnnAssign) else ""
                            )
                if item.value is not None:
                    self.expression(item.value, guard, where, scope, "")
                if isinstance(item, ast.AnnAssign) and self.annotations:
                    self.expression(item.annotation, guard, where, scope, "")
            elif isinstance(item, ast.ClassDef):
                shape.members.setdefault(item.name, "")
                self.klass(item, guard, where or name, scope or {})
            elif isinstance(item, ast.If):
                test = self.guards.of(item.test)
                self.members(item.body, shape, conditions.joined(guard, test), where, scope, name)
                self.members(item.orelse, shape, conditions.joined(guard, conditions.negated(test)), where, scope, name)
            elif isinstance(item, ast.Try):
                self.members([*item.body, *item.orelse], shape, conditions.joined(guard, UNKNOWN), where, scope, name)
                for handler in item.handlers:
                    self.members(handler.body, shape, conditions.joined(guard, UNKNOWN), where, scope, name)
            else:
                shape.members.update(dict.fromkeys(imported_by(item), ""))  # transformers.Trainer.get_learning_rates, since 5.2
                self.statement(item, guard, where, scope if scope is not None else {}, "")

    def stores(self, node: Function, shape: Kind) -> None:
        """``self.name = ...`` in a method; ``setattr(self, ...)`` and ``self.__dict__`` make any name."""
        own = node.args.args[0].arg if node.args.args else ""
        if not own:
            return
        for found in walk(node):
            kind = type(found)
            if kind is ast.Attribute:
                assert isinstance(found, ast.Attribute)
                if type(found.ctx) is ast.Store and type(found.value) is ast.Name and found.value.id == own:
                    shape.members.setdefault(found.attr, "")
                elif found.attr == "__dict__" and type(found.value) is ast.Name and found.value.id == own:
                    shape.dynamic = True
            elif kind is ast.Call:
                assert isinstance(found, ast.Call)
                called = found.func
                if type(called) is ast.Name and called.id == "setattr" and found.args:
                    first = found.args[0]
                    if type(first) is ast.Name and first.id == own:
                        text = found.args[1] if len(found.args) > 1 else None
                        if isinstance(text, ast.Constant) and isinstance(text.value, str):
                            shape.members.setdefault(text.value, "")
                        else:
                            shape.dynamic = True

    # --- try -----------------------------------------------------------------------------------------

    def attempt(self, item: ast.stmt, guard: str, where: str, scope: dict[str, str | None] | None, condition: str) -> None:
        inside = guard
        handlers: list[ast.ExceptHandler] = getattr(item, "handlers", [])
        for handler in handlers:
            if reckons(handler, _SAVES, parts_of):
                inside = conditions.joined(guard, UNKNOWN)
            elif inside == guard and reckons(handler, _MODULE, parts_of):
                inside = conditions.joined(guard, MODULE_ONLY)
        self.block(getattr(item, "body", []), inside, where, scope, condition)
        for handler in handlers:
            self.block(handler.body, conditions.joined(guard, UNKNOWN), where, scope, condition)
        self.block(getattr(item, "orelse", []), inside, where, scope, condition)
        self.block(getattr(item, "finalbody", []), guard, where, scope, condition)
        if inside != guard:
            for name, told in attempt_flags(item).items():
                self.guards.flags[name] = told
                self.guards.names.pop(name, None)
