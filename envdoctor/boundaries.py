"""Claims about released wheels: whether a symbol, parameter, default, requirement or line is there.

A rule's ``[[boundary]]`` says that its claim is true from ``first`` on, or up to and with ``last``. It is checked on the
release named and on its neighbour on the other side, in the wheels as published: unpacked in memory, never installed, never imported.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from packaging.utils import canonicalize_name

Claim = Literal["has", "parameter", "default", "requires", "contains"]
Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
CLAIMS: tuple[Claim, ...] = ("has", "parameter", "default", "requires", "contains")
_MOST_BYTES = 64 * 2**20


class UnreadableClaimError(ValueError):
    """A claim that is not of its form, or about a file that the wheel does not have."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """One claim; exactly one of ``first`` and ``last`` is a release."""

    package: str
    first: str | None
    last: str | None
    claim: Claim
    text: str

    def release(self) -> str:
        return self.first or self.last or ""

    def neighbour(self, releases: Sequence[str]) -> str | None:
        """The release on the other side of the bound; None at the end of the list.

        Raises:
            UnreadableClaimError: the release named was never published.
        """
        if self.release() not in releases:
            raise UnreadableClaimError(f"{self.package} {self.release()} is no published release")
        place = releases.index(self.release()) + (-1 if self.first is not None else 1)
        return releases[place] if 0 <= place < len(releases) else None


def boundary_of(table: Mapping[str, object]) -> Boundary:
    """Read one ``[[boundary]]`` table that lint has accepted."""
    claim = next(name for name in CLAIMS if name in table)
    first, last = table.get("first"), table.get("last")
    return Boundary(
        canonicalize_name(str(table["package"])), None if first is None else str(first), None if last is None else str(last), claim, str(table[claim])
    )


def holds_in(boundary: Boundary, wheel: Path) -> bool:
    """Whether the claim is true of a wheel.

    Raises:
        UnreadableClaimError: the claim is not of its form.
    """
    with zipfile.ZipFile(wheel) as archive:
        if boundary.claim == "requires":
            return _requires(archive, boundary.text)
        if boundary.claim == "contains":
            return _contains(archive, boundary.text)
        return _symbol(archive, boundary.claim, boundary.text)


def _read(archive: zipfile.ZipFile, name: str) -> str | None:
    try:
        info = archive.getinfo(name)
    except KeyError:
        return None
    if info.file_size > _MOST_BYTES:
        raise UnreadableClaimError(f"{name} is larger than 64 MiB")
    return archive.read(info).decode("utf-8", errors="replace")


def _requires(archive: zipfile.ZipFile, wanted: str) -> bool:
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = re.findall(r"^Requires-Dist:\s*(.+)$", _read(archive, metadata) or "", re.MULTILINE)
    return any(_flat(line).startswith(_flat(wanted)) for line in lines)


def _flat(requirement: str) -> str:
    return re.sub(r"[\s()]", "", requirement).lower().replace("_", "-")


def _contains(archive: zipfile.ZipFile, text: str) -> bool:
    path, colon, wanted = text.partition(": ")
    if not colon:
        raise UnreadableClaimError(f"{text!r}: expected 'path/in/wheel.py: literal text'")
    return wanted in (_read(archive, path) or "")


def _symbol(archive: zipfile.ZipFile, claim: Claim, text: str) -> bool:
    match = re.fullmatch(r"([\w.]+):([\w.]+)(?:\((\w+)\)(?:=(.+))?)?", text)
    if match is None or (claim == "has") is not (match[3] is None) or (claim == "default") is not (match[4] is not None):
        raise UnreadableClaimError(f"{text!r}: expected module:name, module:name(parameter) or module:name(parameter)=value")
    path = match[1].replace(".", "/")
    source = _read(archive, f"{path}.py") or _read(archive, f"{path}/__init__.py")
    if source is None:
        return False
    found = _find(ast.parse(source).body, match[2].split("."))
    if claim == "has" or found is None:
        return found is not None
    function = _callable(found)
    return function is not None and _has_parameter(function, match[3], match[4])


def _find(body: Sequence[ast.stmt], path: Sequence[str]) -> ast.stmt | None:
    for node in _flattened(body):
        if path[0] in _names(node):
            if len(path) == 1:
                return node
            if isinstance(node, ast.ClassDef):
                return _find(node.body, path[1:])
    return None


def _flattened(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body, those under ``if`` and ``try`` included: libraries define and import there too."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        for name in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                found += _flattened(getattr(node, name, []))
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                found += _flattened(handler.body)
    return found


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in node.names}
    return set()


def _callable(node: ast.stmt) -> Function | ast.ClassDef | None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node
    if isinstance(node, ast.ClassDef):
        return cast("Function | None", _find(node.body, ["__init__"])) or node
    return None


def _has_parameter(function: Function | ast.ClassDef, name: str, default: str | None) -> bool:
    if isinstance(function, ast.ClassDef):
        # A dataclass: its annotated fields are the parameters of its __init__.
        field = _find(function.body, [name])
        return isinstance(field, ast.AnnAssign) and (default is None or (field.value is not None and ast.unparse(field.value) == default))
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    values: dict[str, ast.expr | None] = dict.fromkeys(argument.arg for argument in [*positional, *arguments.kwonlyargs])
    values |= {a.arg: v for a, v in zip(reversed(positional), reversed(arguments.defaults), strict=False)}
    values |= {a.arg: v for a, v in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    if name not in values:
        return False
    value = values[name]
    return default is None or (value is not None and ast.unparse(value) == default)
