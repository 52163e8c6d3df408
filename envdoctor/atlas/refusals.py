"""What the body of a function refuses although its signature takes it, as far as its first statements say so.

``if names is not lib.no_default and prefix is not lib.no_default: raise ...`` refuses the two together, ``if kwargs: raise ...`` every
keyword that was not popped before, and a call of a function beside it, to which own parameters are passed on, what that one refuses.
What is handed on as ``**kwargs`` is told by the name of the function that it goes to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from envdoctor.records import dataclass, field
from envdoctor.syntax.walking import walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

_MOST = 12
_MOST_TOGETHER = 4
_DEEPEST = 3
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith)


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter that is refused if it is given; ``truly``: if that is something that counts as true, so that None is let through.

    ``against`` is what stands for not given, where the source compares with something of its own.
    """

    name: str
    truly: bool
    against: str = ""


@dataclass(slots=True)
class Refusals:
    """``together`` are parameters that are refused if all of them are given; ``popped`` the keywords that are taken out of ``**kwargs``.

    ``closed``: any other keyword is refused. ``onward`` is where all others are handed, as the source calls it.
    """

    together: list[frozenset[Given]] = field(default_factory=list)
    popped: list[str] = field(default_factory=list)
    closed: bool = False
    onward: ast.expr | None = None


def refusals_of(node: Function, functions: Mapping[str, Function], depth: int = 0) -> Refusals:
    """What a function refuses; ``functions`` are those at the top level of its module."""
    if isinstance(node, ast.AsyncFunctionDef) or _may_yield(node):
        return Refusals()  # its body does not run when it is called
    return _Body(node, functions, depth).read()


class _Body:
    def __init__(self, node: Function, functions: Mapping[str, Function], depth: int) -> None:
        self.node, self.functions, self.depth = node, functions, depth
        arguments = node.args
        self.kwargs = arguments.kwarg.arg if arguments.kwarg is not None else ""
        positional = [*arguments.posonlyargs, *arguments.args]
        self.given: dict[str, str] = {one.arg: one.arg for one in (*positional, *arguments.kwonlyargs)}
        self.defaults: dict[str, ast.expr] = {}
        for one, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
            self.defaults[one.arg] = default
        self.defaults |= {
            one.arg: default for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is not None
        }
        self.found = Refusals()

    def read(self) -> Refusals:
        for item in self.node.body:
            if isinstance(item, _NESTED):
                continue
            if isinstance(item, ast.If):
                if self._test(item):
                    break
            elif isinstance(item, ast.Raise):
                break
            elif isinstance(item, _BLOCKS):
                if _may_leave(item):
                    break
            else:
                self._inner(item)
                if isinstance(item, ast.Return):
                    break
            self._pop(item)
            self._forget(item)
        self._hand_on()
        del self.found.together[_MOST:]
        return self.found

    def _test(self, item: ast.If) -> bool:
        """Read what a test refuses; whether the body may end here without a refusal."""
        if _raises(item.body) and not _may_leave(*item.body[:-1]):
            if isinstance(item.test, ast.Name) and item.test.id == self.kwargs and self._only_popped(item):
                self.found.closed = True
            self.found.together += self._refused_by(item.test)
            if len(item.orelse) == 1 and isinstance(item.orelse[0], ast.If):
                return self._test(item.orelse[0])
            return _may_leave(*item.orelse)
        return _may_leave(item)

    def _refused_by(self, test: ast.expr) -> Iterator[frozenset[Given]]:
        """The sets of parameters for each of which a test holds."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            for one in test.values:
                yield from self._refused_by(one)
            return
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        told = [self._given(one) for one in parts]
        known = frozenset(one for one in told if one is not None)
        if len(known) <= _MOST_TOGETHER and None not in told:
            yield known

    def _given(self, test: ast.expr) -> Given | None:
        """The parameter of which a test says that it was given."""
        if isinstance(test, ast.Name):
            name = self.given.get(test.id)
            return None if name is None else Given(name, True)
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
            return None
        name, against = self.given.get(test.left.id), test.comparators[0]
        default = self.defaults.get(test.left.id)
        if name is None or not isinstance(test.ops[0], ast.IsNot):
            return None
        if isinstance(against, ast.Constant) and against.value is None:
            return Given(name, True)
        # Of anything else that it is compared with only what stands for not given at all is told.
        mark = ast.dump(against)
        inner = default is None and self.depth > 0 and isinstance(against, ast.Attribute | ast.Name)
        return Given(name, False, mark) if inner or (default is not None and ast.dump(default) == mark) else None

    def _inner(self, item: ast.stmt) -> None:
        """What a function beside it refuses, of the own parameters that are passed on to it."""
        value = item.value if isinstance(item, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return) else None
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)) or self.depth >= _DEEPEST:
            return
        callee = self.functions.get(value.func.id)
        if callee is None or callee is self.node or callee.decorator_list:
            return
        names = [one.arg for one in (*callee.args.posonlyargs, *callee.args.args)]
        passed = dict(zip(names, value.args, strict=False)) | {one.arg: one.value for one in value.keywords if one.arg}
        if any(isinstance(one, ast.Starred) for one in value.args):
            return
        for some in refusals_of(callee, self.functions, self.depth + 1).together:
            ours = [self._ours(one, passed.get(one.name)) for one in some]
            if None not in ours:
                self.found.together.append(frozenset(one for one in ours if one is not None))

    def _ours(self, one: Given, value: ast.expr | None) -> Given | None:
        """The own parameter that is passed on as a parameter of another function."""
        if not isinstance(value, ast.Name) or value.id not in self.given:
            return None
        default = self.defaults.get(value.id)
        if one.against and (default is None or ast.dump(default) != one.against) and not (default is None and self.depth > 0):
            return None
        return Given(self.given[value.id], one.truly, one.against)

    def _pop(self, item: ast.stmt) -> None:
        """``x = kwargs.pop("x", None)``: a parameter by another way."""
        found = [_popped(one, self.kwargs) for one in walk(item)] if self.kwargs else []
        self.found.popped += [name for name in found if name]

    def _forget(self, item: ast.stmt) -> None:
        """What was assigned to is no parameter any more, unless a keyword was popped into it."""
        for node in walk(item):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                self.given.pop(node.id, None)
        if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
            key = _popped(item.value, self.kwargs)
            if key and isinstance(item.value, ast.Call) and len(item.value.args) == 2:
                self.given[item.targets[0].id], self.defaults[item.targets[0].id] = key, item.value.args[1]

    def _only_popped(self, last: ast.If) -> bool:
        """Whether nothing was done with ``**kwargs`` before a test of it but to pop keywords."""
        allowed = 0
        for item in self.node.body:
            if item is last:
                break
            allowed += sum(bool(_popped(one, self.kwargs)) for one in walk(item))
        uses = [one for item in self.node.body for one in walk(item) if isinstance(one, ast.Name) and one.id == self.kwargs]
        return len([one for one in uses if one.lineno < last.lineno]) == allowed

    def _hand_on(self) -> None:
        """All keywords are handed on, where that is the only thing that is done with them, whatever way the body goes."""
        uses = [one for item in self.node.body for one in walk(item) if isinstance(one, ast.Name) and one.id == self.kwargs]
        if not self.kwargs or len(uses) != 1 or self.found.closed:
            return
        for item in self.node.body:
            if isinstance(item, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return) and isinstance(item.value, ast.Call):
                call = item.value
                if any(one.arg is None and one.value is uses[0] for one in call.keywords):
                    self.found.onward = call.func
                    return
            if isinstance(item, ast.Return) or (not isinstance(item, _NESTED) and _may_leave(item)):
                return


def _popped(call: ast.AST, kwargs: str) -> str:
    """The keyword that is taken out of ``**kwargs``; empty for anything else."""
    if not (kwargs and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "pop" and call.args):
        return ""
    owner, key = call.func.value, call.args[0]
    named = isinstance(owner, ast.Name) and owner.id == kwargs and isinstance(key, ast.Constant) and isinstance(key.value, str)
    return str(key.value) if named and isinstance(key, ast.Constant) else ""


def _may_yield(node: Function) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, _NESTED):
            waiting += ast.iter_child_nodes(one)
    return False


def _raises(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def _may_leave(*items: ast.stmt) -> bool:
    """Whether a function may return in the middle of these statements."""
    waiting: list[ast.AST] = list(items)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Return):
            return True
        if not isinstance(one, _NESTED):
            waiting += ast.iter_child_nodes(one)
    return False


def write_refusals(told: Refusals, signature: str, link: Callable[[ast.expr], str]) -> str:
    """A signature with what the body refuses: ``a=,b=,!a&b~`` and ``**>module:function``; ``link`` tells where a call goes."""
    parts = signature.split(",")
    names = {part.removesuffix("=") for part in parts}
    if parts[-1] == "**" and told.closed:
        popped = [f"{name}=" for name in dict.fromkeys(told.popped) if name not in names]
        star = [] if {"*", "*-"} & set(parts) or not popped else ["*-"]
        parts = [*parts[:-1], *star, *popped] or ["-"]
    elif parts[-1] == "**" and told.onward is not None and (target := link(told.onward)):
        parts[-1] = f"**>{target}"
    names |= set(told.popped)
    sets = (sorted(f"{one.name}{'~' * one.truly}" for one in some) for some in told.together if {one.name for one in some} <= names)
    return ",".join([*parts, *dict.fromkeys(f"!{'&'.join(some)}" for some in sets)])
