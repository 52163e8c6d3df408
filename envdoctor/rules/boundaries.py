"""Claims about released wheels: whether a symbol, parameter, default, requirement or line is there.

A rule's ``[[boundary]]`` says that its claim is true from ``first`` on, or up to and with ``last``. It is checked on the
release named and on its neighbour on the other side, in the wheels as published: unpacked in memory, never installed, never imported.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeGuard

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envdoctor.records import dataclass
from envdoctor.syntax.parsing import NoPythonError, parse_python

Claim = Literal["has", "parameter", "default", "requires", "contains"]
CLAIMS: tuple[Claim, ...] = ("has", "parameter", "default", "requires", "contains")
_MOST_BYTES = 64 * 2**20


class UnreadableClaimError(ValueError):
    """A claim that is not of its form, or about a file that cannot be read."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """One claim; exactly one of ``first`` and ``last`` is a release."""

    package: str
    first: str | None
    last: str | None
    claim: Claim
    text: str

    def __str__(self) -> str:
        side = f"first {self.first}" if self.first is not None else f"last {self.last}"
        return f"{self.package} {side}: {self.claim} {self.text}"

    def release(self) -> str:
        return self.first or self.last or ""

    def neighbour(self, releases: Sequence[str]) -> str | None:
        """The release on the other side of the bound; None at the end of the list.

        Raises:
            UnreadableClaimError: the release named was never published.
        """
        if self.release() not in releases:
            raise UnreadableClaimError(f"{self.package} {self.release()} is no published release with a wheel")
        place = releases.index(self.release()) + (-1 if self.first is not None else 1)
        return releases[place] if 0 <= place < len(releases) else None


def boundary_of(table: Mapping[str, str]) -> Boundary:
    """Read one ``[[boundary]]`` table that lint has accepted."""
    claim = next(name for name in CLAIMS if name in table)
    return Boundary(canonicalize_name(table["package"]), table.get("first"), table.get("last"), claim, table[claim])


def boundaries_of(table: Mapping[str, object]) -> tuple[Boundary, ...]:
    """The claims of a rule; those that are not of their form, which lint tells, are left out."""
    listed = table.get("boundary", [])
    return tuple(boundary_of(item) for item in (listed if isinstance(listed, list) else [listed]) if is_boundary(item))


def is_boundary(item: object) -> TypeGuard[Mapping[str, str]]:
    """Whether a table names a package, one side of the bound and one claim, all as text, and nothing else."""
    if not isinstance(item, Mapping) or not all(isinstance(value, str) and value for value in item.values()):
        return False
    sides, claims = {"first", "last"} & set(item), set(CLAIMS) & set(item)
    return len(sides) == len(claims) == 1 and set(item) == {"package"} | sides | claims


def holds_in(boundary: Boundary, wheel: Path) -> bool:
    """Whether the claim is true of a wheel.

    Raises:
        UnreadableClaimError: the claim is not of its form, or the wheel cannot be read.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            if boundary.claim == "requires":
                return _requires(archive, boundary.text)
            if boundary.claim == "contains":
                return _contains(archive, boundary.text)
            return _symbol(archive, boundary.claim, boundary.text)
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableClaimError(f"{wheel.name}: {error}") from error


def _read(archive: zipfile.ZipFile, name: str) -> str | None:
    try:
        info = archive.getinfo(name)
    except KeyError:
        return None
    if info.file_size > _MOST_BYTES:
        raise UnreadableClaimError(f"{name} is larger than 64 MiB")
    return archive.read(info).decode("utf-8", errors="replace")


def _requires(archive: zipfile.ZipFile, wanted: str) -> bool:
    """Whether a Requires-Dist line is for the same distribution and has every clause of the wanted one.

    A requirement without a marker is not met by a line that only an extra brings in.
    """
    try:
        claimed = Requirement(wanted)
    except InvalidRequirement as error:
        raise UnreadableClaimError(f"{wanted!r}: expected a requirement, such as numpy<2.0,>=1.17") from error
    return any(_covers(line, claimed) for line in _declared(archive))


def _declared(archive: zipfile.ZipFile) -> Iterator[Requirement]:
    # One level deep: libraries carry the metadata of the copies that they vendor.
    metadata = next((name for name in archive.namelist() if name.count("/") == 1 and name.endswith(".dist-info/METADATA")), None)
    if metadata is None:
        raise UnreadableClaimError("the wheel has no METADATA")
    headers = (_read(archive, metadata) or "").replace("\r\n", "\n").partition("\n\n")[0]
    for line in re.findall(r"^Requires-Dist:\s*(.+)$", headers, re.MULTILINE):
        try:
            yield Requirement(line)
        except InvalidRequirement:  # legacy specifiers, which nothing can be compared with
            continue


def _covers(line: Requirement, claimed: Requirement) -> bool:
    same = canonicalize_name(line.name) == canonicalize_name(claimed.name) and claimed.extras <= line.extras
    return same and set(claimed.specifier) <= set(line.specifier) and _same_marker(line.marker, claimed.marker)


def _same_marker(line: Marker | None, claimed: Marker | None) -> bool:
    if claimed is None:
        return line is None or "extra" not in str(line)
    return str(line) == str(claimed)


def _contains(archive: zipfile.ZipFile, text: str) -> bool:
    path, _, wanted = text.partition(": ")
    if not wanted.strip():
        raise UnreadableClaimError(f"{text!r}: expected 'path/in/wheel.py: literal text'")
    return wanted in (_read(archive, path) or "")


def _symbol(archive: zipfile.ZipFile, claim: Claim, text: str) -> bool:
    match = re.fullmatch(r"([\w.]+):([\w.]+)(?:\((\w+)\)(?:=(.+))?)?", text)
    if match is None or (claim == "has") is not (match[3] is None) or (claim == "default") is not (match[4] is not None):
        raise UnreadableClaimError(f"{text!r}: expected module:name, module:name(parameter) or module:name(parameter)=value")
    path = match[1].replace(".", "/")
    default = None if match[4] is None else _normal(match[4])
    for file in (f"{path}.py", f"{path}/__init__.py"):
        source = _read(archive, file)
        if source is not None:
            found = _find(_parsed(source, file).body, match[2].split("."))
            return any(claim == "has" or _takes(node, match[3], default) for node in found)
    return False


def _parsed(source: str, file: str) -> ast.Module:
    try:
        return parse_python(source)
    except NoPythonError as error:
        raise UnreadableClaimError(f"{file}: this interpreter cannot parse it: {error}") from error


def _normal(expression: str) -> str:
    """An expression as ``ast.unparse`` writes it, so that quotes and spaces do not matter."""
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UnreadableClaimError(f"the default {expression!r} is no Python expression") from error


def _find(body: Sequence[ast.stmt], path: Sequence[str]) -> Iterator[ast.stmt]:
    """Every definition of a dotted name: a library may define a class once for each of two cases."""
    for node in _flattened(body):
        if path[0] in _names(node):
            if len(path) == 1:
                yield node
            elif isinstance(node, ast.ClassDef):
                yield from _find(node.body, path[1:])


def _flattened(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, those under ``if``, ``try`` and ``with`` included: libraries define and import there too."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            for name in ("body", "orelse", "finalbody"):
                yield from _flattened(getattr(node, name, []))
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from _flattened(handler.body)


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {
            part.id
            for target in node.targets
            for part in ast.walk(target)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name for alias in node.names}
    return set()


def _takes(node: ast.stmt, parameter: str, default: str | None) -> bool:
    """Whether a call of what the statement defines takes the parameter, with that default where one is given."""
    if isinstance(node, ast.ClassDef):
        written = [one for one in _find(node.body, ["__init__"]) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if not written:
            # A dataclass: its annotated fields are the parameters of its __init__.
            return any(isinstance(one, ast.AnnAssign) and _is(one.value, default) for one in _find(node.body, [parameter]))
        return any(_takes(one, parameter, default) for one in written)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    values: dict[str, ast.expr | None] = dict.fromkeys(argument.arg for argument in [*positional, *arguments.kwonlyargs])
    values |= {a.arg: v for a, v in zip(reversed(positional), reversed(arguments.defaults), strict=False)}
    values |= {a.arg: v for a, v in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return parameter in values and _is(values[parameter], default)


def _is(value: ast.expr | None, default: str | None) -> bool:
    if default is None:
        return True
    if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)) and ast.unparse(value.func).endswith("field"):
        value = next((keyword.value for keyword in value.keywords if keyword.arg in ("default", "default_factory")), None)
    return value is not None and ast.unparse(value) == default
