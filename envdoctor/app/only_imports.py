"""What a script shows by what is not in it: scripts that do nothing but import, and those that name no chat template."""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path

from envdoctor.syntax.parsing import NoPythonError, parse_python

_LARGEST = 64 * 1024


def only_imports(path: str) -> bool:
    """Whether a file of Python holds imports alone, and texts that explain them."""
    with suppress(OSError, NoPythonError):
        file = Path(path)
        body = parse_python(file.read_bytes()).body if path.endswith(".py") and file.stat().st_size <= _LARGEST else []
        return bool(body) and all(isinstance(item, ast.Import | ast.ImportFrom) or _is_text(item) for item in body)
    return False


def names_no_template(path: str) -> bool:
    """Whether the words ``chat_template`` are nowhere in a file, be it as a call, a method that is handed on or a text."""
    with suppress(OSError):
        file = Path(path)
        return file.stat().st_size <= _LARGEST and b"chat_template" not in file.read_bytes()
    return False


def _is_text(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)


__all__ = ["names_no_template", "only_imports"]
