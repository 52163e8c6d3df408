"""What scripts take of packages, read by a reader of its own for ``own_code.py recall``: nothing of envdoctor's is used here.

Each use is a line of Python that can be run alone: an import, an attribute, a call with what it passes, and the like of an object by the
class that it was made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator


def imported(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """The names that an import binds, each with what brings it under the name ``it``, and with the import alone."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        for alias in node.names:
            if alias.name != "*":
                line = f"from {node.module} import {alias.name}"
                yield alias.asname or alias.name, f"{line} as it", line
    elif isinstance(node, ast.Import):
        for alias in node.names:
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or whole, f"import {whole} as it", f"import {alias.name}"


def never_run(body: list[ast.stmt]) -> set[ast.AST]:
    """The annotations that Python does not look at: those of what a function assigns, and all of them where the file says so."""
    nodes = [node for item in body for node in ast.walk(item)]
    later = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in nodes)
    told = [node.annotation for node in nodes if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None] if later else []
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    told += [node.returns for node in functions if later and node.returns is not None]
    inner = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.AnnAssign)]
    return {*told, *(node.annotation for node in inner)}


def uses_of(body: list[ast.stmt]) -> Iterator[tuple[str, int, str]]:
    """The imports, attributes and calls of a file that stand under no ``if``, ``try`` or ``with``, each as a line that can be run alone.

    Nothing of envdoctor's own reader is used here.
    """
    names: dict[str, str] = {}
    brought: dict[str, set[str]] = {}
    stores = {node.id for item in body for node in ast.walk(item) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stores |= {node.arg for item in body for node in ast.walk(item) if isinstance(node, ast.arg)}
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    stores |= {node.name for item in body for node in ast.walk(item) if isinstance(node, defined)}
    waiting: list[ast.AST] = list(body)
    plain: list[ast.AST] = []
    never = never_run(body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If | ast.Try | ast.With | ast.IfExp | ast.BoolOp | ast.While) or node in never:
            continue
        plain.append(node)
        waiting += ast.iter_child_nodes(node)
    for node in (node for item in body for node in ast.walk(item)):
        for name, brings, _ in imported(node):
            brought.setdefault(name, set()).add(brings)
    for node in plain:
        for name, brings, line in imported(node):
            # Of a name that two imports bind it is not known which one a use means: the cells of a notebook are run in any order.
            if len(brought[name]) == 1:
                names[name] = brings
            yield "import", node.lineno, line  # type: ignore[attr-defined]
    yield from uses_of_objects(body, plain, names)
    for node in plain:
        function = node.func if isinstance(node, ast.Call) else node
        chain: list[str] = []
        while isinstance(function, ast.Attribute):
            chain.insert(0, function.attr)
            function = function.value
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            continue
        if (
            not isinstance(function, ast.Name)
            or function.id not in names
            or function.id in stores
            or not (chain or isinstance(node, ast.Call))
        ):
            continue
        taken = f"{names[function.id]}; {'.'.join(['it', *chain])}"
        if not isinstance(node, ast.Call):
            yield "attribute", node.lineno, taken  # type: ignore[attr-defined]
        elif not any(isinstance(one, ast.Starred) for one in node.args) and all(one.arg for one in node.keywords) and len(chain) < 2:
            passed = ", ".join([*["None"] * len(node.args), *(f"{one.arg}=None" for one in node.keywords)])
            # What has no signature that Python can tell refuses nothing here.
            call = f"{taken}; s = S({'.'.join(['it', *chain])}); s and s.bind({passed})"
            yield "call", node.lineno, f"{call}"


def uses_of_objects(body: list[ast.stmt], plain: list[ast.AST], names: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    """The methods that are called of objects which a name is bound to once, told of the class that they are made of."""
    nodes = [node for item in body for node in ast.walk(item)]
    times: dict[str, int] = {}
    for node in nodes:
        name = (
            node.id if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else node.arg if isinstance(node, ast.arg) else ""
        )
        times[name] = times.get(name, 0) + 1
    classes: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            name, made = node.targets[0].id, made_of(node.value.func, names)
            if times.get(name) == 1 and len(node.targets) == 1 and made:
                classes[name] = made
    for node in plain:
        # What is read and not called may be set on the object itself, which no line of the class shows.
        function = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            continue
        if function.value.id in classes:
            taken = f"{classes[function.value.id]}.{function.attr}"
            member = taken.partition("; ")[2]
            keywords = [one.arg for one in node.keywords]
            if not keywords:
                yield "attribute", node.lineno, taken
            elif all(keywords):
                passed = ", ".join(f"{one}=None" for one in keywords)
                yield "call", node.lineno, f"{taken}; s = S({member}, True); s and s.bind_partial({passed})"


def made_of(function: ast.expr, names: dict[str, str]) -> str:
    """The class that a call makes an object of, as the line that brings it; empty where it may be another one's."""
    chain: list[str] = []
    while isinstance(function, ast.Attribute):
        chain.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or function.id not in names:
        return ""
    if chain and chain[-1] == "from_pretrained":
        chain.pop()
    last = chain[-1] if chain else names[function.id].partition(" as it")[0].rpartition(" ")[2]
    return f"{names[function.id]}; {'.'.join(['it', *chain])}" if last[:1].isupper() and not last.startswith("Auto") else ""
