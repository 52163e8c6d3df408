"""What a Python file defines, as digests of its syntax: comments and formatting do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping

from envdoctor.syntax.parsing import SOURCE_LIMIT, NoPythonError, parse_python, python_text, too_dense

WHOLE = "*"
"""The key of the whole file: equal digests mean the same program."""
TOP = "(module)"
"""The key of what stands outside functions and classes."""

MOST_DEFINITIONS = 1000


def definitions_of(data: bytes) -> dict[str, str] | None:
    """The digest of every function and class by its dotted name; None for bytes that cannot be parsed.

    A class's own digest leaves out its methods, which have theirs. The digests leave out what releases of Python spell
    differently (absent fields, contexts, kinds of literals).
    """
    if len(data) > SOURCE_LIMIT or too_dense(data):
        return None
    try:
        tree = parse_python(python_text(data))
    except NoPythonError:
        return None
    found: dict[str, list[str]] = {}
    rest: list[ast.stmt] = []
    for item in tree.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(item.name, []).append(_digest([item]))
        elif isinstance(item, ast.ClassDef):
            methods = [one for one in item.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
            for method in methods:
                found.setdefault(f"{item.name}.{method.name}", []).append(_digest([method]))
            own = [one for one in item.body if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
            found.setdefault(item.name, []).append(_digest([*item.bases, *item.keywords, *item.decorator_list, *own]))
        else:
            rest.append(item)
    named = {name: digests[0] if len(digests) == 1 else _joined(digests) for name, digests in found.items()}
    if len(named) > MOST_DEFINITIONS:
        named = {}
    return {WHOLE: _digest(tree.body), TOP: _digest(rest)} | {name: named[name] for name in sorted(named)}


def _joined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:32]


def _digest(nodes: Iterable[ast.AST]) -> str:
    """Written by hand, without recursion: ast.dump changed its output between releases, and deep code overflows it."""
    digest = hashlib.sha256()
    stack: list[object] = [list(nodes)]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            digest.update(item.text)
        elif isinstance(item, ast.AST):
            digest.update(f"({type(item).__name__}".encode())
            stack.append(_END)
            for name in reversed(item._fields):
                value = getattr(item, name, None)
                if value is None and not isinstance(item, ast.Constant):
                    continue
                if value == [] or name in ("ctx", "kind", "type_comment", "type_ignores"):
                    continue
                stack += [value, _Text(f" {name}=".encode())]
        elif isinstance(item, list):
            digest.update(b"[")
            stack.append(_CLOSE)
            stack.extend(reversed(item))
        else:
            text = hex(item) if type(item) is int else repr(item)
            digest.update(f"{type(item).__name__}:{len(text)}:{text}".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:32]


class _Text:
    """A piece of the canonical text that waits on the stack."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text


_END, _CLOSE = _Text(b")"), _Text(b"]")


def compare_definitions(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[list[str], list[str], list[str]]:
    """Names that changed, that are new, and that are gone."""
    names = sorted((before.keys() | after.keys()) - {WHOLE})
    changed = [name for name in names if name in before and name in after and before[name] != after[name]]
    return changed, [name for name in names if name not in before], [name for name in names if name not in after]
