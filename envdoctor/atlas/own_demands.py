"""What a file demands of the release of a package by itself: ``assert version.parse(mmcv.__version__) < ...``, ``if ...: raise``.

What stands under a ``try`` or another test is left out, and so is what can be read in more than one way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.outline import Said
from envdoctor.records import dataclass
from envdoctor.syntax.walking import walk

DEMANDS = "demands"
DISTRIBUTION = "distribution "
_SIGNS: Mapping[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc|\.?post|\.?dev)[0-9]*)?")
_PARSES = re.compile(r"version|^v$|parse", re.IGNORECASE)
_DEEP = 8
_REQUIREMENT = re.compile(r"([A-Za-z][\w.-]*)\s*((?:[<>=!]=|[<>])\s*[0-9][\w.]*(?:\s*,\s*(?:[<>=!]=|[<>])\s*[0-9][\w.]*)*)")
_METADATA = ("importlib.metadata:version", "importlib_metadata:version")
_ENDS = frozenset(("exit", "_exit", "quit", "abort"))


@dataclass(frozen=True, slots=True)
class _Release:
    """The release of a module, or of a distribution; of its numbers the first ``first`` (0: all). ``text``: as text, not yet read."""

    module: str
    first: int = 0
    text: bool = True


@dataclass(frozen=True, slots=True)
class _Number:
    """A release that is written out; ``parts`` of it, where it is numbers."""

    told: str
    parts: int = 0
    text: bool = True


def demands_of(body: Sequence[ast.stmt]) -> list[Said]:
    """Every demand of a file: ``text`` is the module, ``condition`` what its release has to meet, ``where`` the function that asks."""
    modules = dict(_imported(body))
    return list(_in_block(body, "", _Names(modules, _bound(body))))


def _imported(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in (one for item in body for one in walk(item) if isinstance(one, ast.Import | ast.ImportFrom)):
        for alias in node.names:
            if isinstance(node, ast.Import):
                yield (alias.asname or alias.name.partition(".")[0], alias.name if alias.asname else alias.name.partition(".")[0])
            elif node.module and not node.level:
                yield (alias.asname or alias.name, f"{node.module}:{alias.name}")


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The names that a block binds once; of one that is bound again nobody knows which value a test meets."""
    found: dict[str, ast.expr] = {}
    again: set[str] = set()
    for item in body:
        targets = item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign | ast.AugAssign) else []
        for name in (node.id for target in targets for node in walk(target) if isinstance(node, ast.Name)):
            again |= {name} if name in found else set()
            if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None and isinstance(targets[0], ast.Name):
                found[name] = item.value
            elif (place := _place(name, targets[0])) is not None and isinstance(item, ast.Assign):
                found[name] = ast.Subscript(item.value, ast.Constant(place), ast.Load())
            else:
                again.add(name)
    return {name: value for name, value in found.items() if name not in again}


def _place(name: str, target: ast.expr) -> int | None:
    """Which of the names of ``major, minor = ...`` one is."""
    names = [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else []
    return names.index(name) if isinstance(target, ast.Tuple) and len(names) == len(target.elts) else None


def _in_block(body: Sequence[ast.stmt], where: str, names: _Names) -> Iterator[Said]:
    for item in body:
        if isinstance(item, ast.Assert):
            yield from _told(names.meets(item.test, True), where, item.lineno)
        elif isinstance(item, ast.If):
            if _is_entry(item.test):
                yield from _in_block(item.body, where, names)
            elif _ends(item.body) and not item.orelse:
                yield from _told(names.meets(item.test, False), where, item.lineno)
            elif any(isinstance(node, ast.Return) for node in walk(item)):
                return  # what follows is come to in some cases alone
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            yield from _told(names.asked(item.value), where, item.lineno)
        elif isinstance(item, ast.With):
            yield from _in_block(item.body, where, names) if not _saves(item) else ()
        elif isinstance(item, ast.ClassDef) and not where:
            yield from _in_block([one for one in item.body if isinstance(one, ast.FunctionDef)], item.name, names)
        elif isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and where.count(".") == 0:
            inner = _Names(names.modules | dict(_imported(item.body)), {**names.bound, **_bound(item.body)}, _arguments(item))
            yield from _in_block(item.body, f"{where}.{item.name}" if where else item.name, inner)
        elif isinstance(item, ast.Return | ast.Raise):
            return


def _told(demands: Mapping[str, list[str]], where: str, line: int) -> Iterator[Said]:
    return (Said(DEMANDS, module, where, line, ",".join(atoms)) for module, atoms in demands.items())


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    told = function.args
    return frozenset(one.arg for one in (*told.posonlyargs, *told.args, *told.kwonlyargs))


def _is_entry(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _saves(item: ast.With) -> bool:
    """Whether a ``with`` lets an exception pass: ``contextlib.suppress``, ``pytest.raises``."""
    words = ((_last(one.context_expr.func) if isinstance(one.context_expr, ast.Call) else "") for one in item.items)
    return any(word in ("suppress", "raises", "assertRaises", "catch_warnings") for word in words)


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether a block does nothing but end the run."""
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return _last(last.value.func) in _ENDS
    return isinstance(last, ast.Raise) and last.exc is not None and "Skip" not in ast.dump(last.exc)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Names:
    """What names stand for: modules, and what was bound once."""

    def __init__(self, modules: Mapping[str, str], bound: Mapping[str, ast.expr], arguments: frozenset[str] = frozenset()) -> None:
        self.modules = dict(modules)
        self.bound = {name: value for name, value in bound.items() if name not in arguments}

    def meets(self, test: ast.expr, holds: bool) -> dict[str, list[str]]:
        """What releases have to meet, each by itself, for a test to come out as it ``holds``."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.meets(test.operand, not holds)
        found: dict[str, list[str]] = {}
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
            for module, atoms in (pair for value in test.values for pair in self.meets(value, holds).items()):
                found.setdefault(module, []).extend(atoms)
        elif isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
            sides = [test.left, *test.comparators]
            for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
                module, atom = self._compared(left, _SIGNS.get(type(op), ""), right, holds)
                found.setdefault(module, []).append(atom)
        elif isinstance(test, ast.Call) and holds:
            module, atom = self._begins(test)
            found.setdefault(module, []).append(atom)
        return {module: some for module, atoms in found.items() if module and (some := [atom for atom in atoms if atom])}

    def _compared(self, left: ast.expr, sign: str, right: ast.expr, holds: bool) -> tuple[str, str]:
        one, other = self._read(left), self._read(right)
        if isinstance(one, _Number) and isinstance(other, _Release):
            one, other, sign = other, one, _TURNED.get(sign, "")
        if not sign or not isinstance(one, _Release) or not isinstance(other, _Number):
            return "", ""
        sign = sign if holds else _OPPOSITE[sign]
        if one.module == "python" and not one.first:
            # Of ``sys.version_info`` all five parts are compared: 3.8.0 is above (3, 8).
            whole = {"<": "<", "<=": "<", ">": ">=", ">=": ">="}.get(sign, "")
            return ("python", f"{whole}{other.told}") if whole and 0 < other.parts < 3 else ("", "")
        if one.text != other.text and other.parts == 0 and one.first == 0:
            return "", ""
        if one.first or other.parts:
            return (one.module, _of_first(sign, other)) if one.first == other.parts else ("", "")
        return one.module, f"{chr(34) if one.text else ''}{sign}{other.told}"

    def _begins(self, test: ast.Call) -> tuple[str, str]:
        """``torch.__version__.startswith("1.7")``."""
        if isinstance(test.func, ast.Attribute) and test.func.attr == "startswith" and len(test.args) == 1:
            release, begins = self._read(test.func.value), getattr(test.args[0], "value", None)
            told = isinstance(begins, str) and _NUMBER.fullmatch(begins.removesuffix("."))
            if isinstance(release, _Release) and release.text and not release.first and told:
                return release.module, f"^{begins}"
        return "", ""

    def _read(self, node: ast.expr, depth: int = _DEEP) -> _Release | _Number | None:
        if depth == 0:
            return None
        if isinstance(node, ast.Constant):
            return _constant(node.value)
        if isinstance(node, ast.Tuple | ast.List):
            if node.elts and all(isinstance(one, ast.Name) for one in node.elts):
                return self._unpacked([self.bound.get(one.id) for one in node.elts if isinstance(one, ast.Name)])
            numbers = [one.value for one in node.elts if isinstance(one, ast.Constant) and type(one.value) is int]
            return _Number(".".join(map(str, numbers)), len(numbers), False) if numbers and len(numbers) == len(node.elts) else None
        if isinstance(node, ast.Name):
            told = self.modules.get(node.id, "")
            if node.id in self.bound:
                return self._read(self.bound[node.id], depth - 1)
            return _Release(told.partition(":")[0]) if told.endswith(":__version__") else None
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, depth)
        if isinstance(node, ast.Subscript):
            return self._of_part(node, depth)
        return self._of_call(node, depth) if isinstance(node, ast.Call) else None

    def _unpacked(self, parts: Sequence[ast.expr | None]) -> _Release | None:
        """``(major, minor)`` of ``major, minor = map(int, torch.__version__.split(".")[:2])``."""
        places = [(id(one.value), getattr(one.slice, "value", None)) for one in parts if isinstance(one, ast.Subscript)]
        first = parts[0]
        if not isinstance(first, ast.Subscript) or places != [(id(first.value), place) for place in range(len(parts))]:
            return None
        release = self._of_numbers(first.value)
        return _Release(release.module, len(parts), False) if release is not None and release.first >= len(parts) else None

    def asked(self, call: ast.Call) -> dict[str, list[str]]:
        """What ``check_min_version("4.40.0")`` and ``require_version("datasets>=2.14.0")`` of transformers, and diffusers', ask."""
        known = self.modules.get(call.func.id, "") if isinstance(call.func, ast.Name) else ""
        package, name = known.partition(".")[0], known.rpartition(":")[2]
        wanted = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if not isinstance(wanted, str) or package not in ("transformers", "diffusers"):
            return {}
        if name == "check_min_version" and _NUMBER.fullmatch(wanted):
            return {package: [f">={wanted}"]}
        found = _REQUIREMENT.fullmatch(wanted) if name == "require_version" else None
        return {} if found is None else {f"{DISTRIBUTION}{found[1]}": found[2].replace(" ", "").split(",")}

    def _of_attribute(self, node: ast.Attribute, depth: int) -> _Release | _Number | None:
        if node.attr == "__version__" and isinstance(node.value, ast.Name):
            module = self.modules.get(node.value.id, "")
            return _Release(module) if module and ":" not in module else None
        if node.attr == "version" and isinstance(node.value, ast.Call) and _last(node.value.func) == "get_distribution":
            return _named(node.value)
        if node.attr == "version_info" and isinstance(node.value, ast.Name) and self.modules.get(node.value.id) == "sys":
            return _Release("python", 0, False)
        if node.attr in ("base_version", "public"):
            return self._read(node.value, depth - 1)
        return None

    def _of_part(self, node: ast.Subscript, depth: int) -> _Release | _Number | None:
        base, at = node.value, node.slice
        if isinstance(base, ast.Attribute) and base.attr == "version_info":
            end = _end(at)
            return _Release("python", end, False) if end else None
        # ``torch.__version__.split("+")[0]``
        if isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) and isinstance(at, ast.Constant) and at.value == 0:
            cuts = [one.value for one in base.args if isinstance(one, ast.Constant)]
            return self._read(base.func.value, depth - 1) if base.func.attr == "split" and cuts in (["+"], ["a"], ["dev"]) else None
        return None

    def _of_call(self, node: ast.Call, depth: int) -> _Release | _Number | None:
        name = _last(node.func)
        if name == "version" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.func, ast.Attribute):
            return _named(node)
        if isinstance(node.func, ast.Name) and self.modules.get(node.func.id) in _METADATA:
            return _named(node)
        if len(node.args) != 1 or node.keywords:
            return None
        if name in ("tuple", "list"):
            return self._of_numbers(node.args[0])
        if not _PARSES.search(name):
            return None
        found = self._read(node.args[0], depth - 1)
        if isinstance(found, _Release):
            return _Release(found.module, found.first, False)
        return _Number(found.told, 0, False) if isinstance(found, _Number) and not found.parts else None

    def _of_numbers(self, node: ast.expr) -> _Release | None:
        """``tuple(int(x) for x in torch.__version__.split(".")[:2])``."""
        releases = [found for one in walk(node) if isinstance(one, ast.Attribute | ast.Name) and (found := self._read(one))]
        releases = releases or [found for one in walk(node) if isinstance(one, ast.Call) and (found := self._read(one))]
        ends = [_end(one) for one in walk(node) if isinstance(one, ast.Slice)]
        release = releases[0] if len(releases) == 1 else None
        return _Release(release.module, ends[0], False) if isinstance(release, _Release) and len(ends) == 1 and ends[0] else None


def _end(at: ast.expr) -> int:
    """How many of the first parts a slice takes; 0 where it is another one."""
    if isinstance(at, ast.Slice) and at.lower is None and isinstance(at.upper, ast.Constant) and type(at.upper.value) is int:
        return at.upper.value
    return 0


def _constant(value: object) -> _Number | None:
    return _Number(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None


def _named(call: ast.Call) -> _Release | None:
    value = call.args[0].value if len(call.args) == 1 and isinstance(call.args[0], ast.Constant) else None
    return _Release(f"{DISTRIBUTION}{value}") if isinstance(value, str) else None


def _of_first(sign: str, number: _Number) -> str:
    """What the first numbers of a release have to be, as a bound of all of it: of two numbers, ``<= (2, 0)`` is below 2.1."""
    *before, last = number.told.split(".")
    after = ".".join((*before, str(int(last) + 1)))
    return {"<=": f"<{after}", ">": f">={after}", "==": f"^{number.told}."}.get(sign, "" if sign == "!=" else f"{sign}{number.told}")


__all__ = ["DEMANDS", "DISTRIBUTION", "demands_of"]
