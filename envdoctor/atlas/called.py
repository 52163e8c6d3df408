"""Functions of a module that the module itself calls while it is loaded: what their bodies take, its import takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.guards import NEVER, joined
from envdoctor.atlas.outline import Taken
from envdoctor.atlas.signatures import last_word

Function = ast.FunctionDef | ast.AsyncFunctionDef
# They leave it to the call to run the body.
_RUN = frozenset(("lru_cache", "cache", "staticmethod", "classmethod"))


def runs_through(node: Function) -> bool:
    """Whether a call runs the body of a function from its top to its end, but for tests at its top level that return."""
    if isinstance(node, ast.AsyncFunctionDef) or any(last_word(one) not in _RUN for one in node.decorator_list):
        return False
    ends = {id(one) for item in node.body for one in (item, *(item.body[-1:] if isinstance(item, ast.If) else ()))}
    for item in _own(node):
        if isinstance(item, ast.Yield | ast.YieldFrom) or (isinstance(item, ast.Return) and id(item) not in ends):
            return False
    return True


def _own(node: Function) -> Iterator[ast.AST]:
    """What stands in a function, without what stands in those within it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        item = waiting.pop()
        yield item
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(item)


def taken_by_calls(calls: Sequence[tuple[str, str, str]], functions: Mapping[str, bool], taken: Sequence[Taken]) -> Iterator[Taken]:
    """What the functions take that are called while the module is loaded, as if it stood there.

    ``calls`` are callers (empty: the module itself), names and conditions; ``functions`` those that ``runs_through`` holds of.
    """
    reached: dict[str, str] = {}
    waiting = [(name, guard) for caller, name, guard in calls if not caller]
    while waiting:
        name, guard = waiting.pop(0)
        inner = name if functions.get(name) else f"{name}.__init__" if functions.get(f"{name}.__init__") else ""
        if not inner or inner in reached or guard == NEVER:
            continue
        reached[inner] = guard
        waiting += [(one, joined(guard, condition)) for caller, one, condition in calls if caller == inner]
    for one in taken:
        if one.where in reached:
            guard = joined(reached[one.where], one.guard)
            if guard != NEVER:
                yield Taken(one.name, one.line, guard, "", one.call)
