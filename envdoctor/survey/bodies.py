"""When the functions of a package changed: for each the releases whose body is another than that of the release before.

    changes peft
    read 0.8.2 0.9.0 0.10.0 0.11.0
    in peft.tuners.lora.model
    LoraModel._create_new_module 0.9.0 0.11.0

A body is compared without its docstring, comments, layout and signature. A function that never changed has no line; ``read`` are the
releases.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

_LAYOUT = re.compile(r"[\s,()]+")
Bodies = Mapping[str, int]
"""The checksum of each function's body (CRC-32), by its qualified name."""


def bodies_of(source: str) -> dict[str, int]:
    """The functions of a file.

    Raises:
        SyntaxError, ValueError, RecursionError: it is no Python of this interpreter.
    """
    found: dict[str, int] = {}
    _add(ast.parse(source).body, "", source.split("\n"), found)
    return found


def _add(body: Sequence[ast.stmt], prefix: str, lines: Sequence[str], found: dict[str, int]) -> None:
    for one in body:
        if isinstance(one, ast.ClassDef):
            _add(one.body, f"{prefix}{one.name}.", lines, found)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            # A name that is bound twice (a property and its setter, two branches) is one function.
            before = found.get(f"{prefix}{one.name}", 0)
            found[f"{prefix}{one.name}"] = _checksum(_without_docstring(one.body), lines, before)
        elif isinstance(one, ast.If | ast.Try):
            for part in (one.body, one.orelse, *([handler.body for handler in one.handlers] if isinstance(one, ast.Try) else ())):
                _add(part, prefix, lines, found)


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return body[1:] if told else body


def _checksum(body: Sequence[ast.stmt], lines: Sequence[str], start: int = 0) -> int:
    parts = []
    for one in body:
        for line in lines[one.lineno - 1 : one.end_lineno]:
            text = line.strip()
            if text and not text.startswith("#"):
                parts.append(_LAYOUT.sub("", text.partition("  # ")[0]).replace("'", '"'))
    return zlib.crc32("".join(parts).encode("utf-8", "replace"), start)


def write_changes(package: str, modules: Mapping[str, Mapping[str, Sequence[tuple[int, int]]]], releases: Sequence[str]) -> Iterator[str]:
    """The lines of a package: ``modules`` have for each function its checksum in each release (by its place) that has it."""
    yield f"changes {package}"
    yield f"read {' '.join(releases)}"
    for module in sorted(modules):
        told = []
        for name, states in sorted(modules[module].items()):
            changed = [place for (_, before), (place, after) in pairwise(states) if before != after]
            if changed:
                told.append(f"{name} {' '.join(releases[place] for place in changed)}")
        if told:
            yield f"in {module}"
            yield from told
