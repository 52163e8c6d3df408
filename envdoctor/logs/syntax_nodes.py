"""Nodes of Python's own syntax tree: a field that came with a later Python, or that another package's nodes have and these lack."""

from __future__ import annotations

import ast
import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.asked import ATTRIBUTE
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of

# https://docs.python.org/3/library/ast.html: since which Python nodes have a field.
_SINCE = {"type_params": "3.12", "posonlyargs": "3.8", "type_comment": "3.8", "end_lineno": "3.8", "end_col_offset": "3.8", "kind": "3.8"}
_OF_TREES = re.compile(r"\bg?ast\b|\bast_|_ast\b|\bnode\b")
_RUNS = re.compile(r"[\\/][Pp]ython3\.?(\d{1,2})[\\/]")
# Run: nodes of gast 0.6.0 list type_params under every Python, those of 0.5.4 do not.
_BY_GAST = "type_params"


def is_node(cls: str) -> bool:
    """Whether a class is one of the syntax tree's, by its name."""
    found = getattr(ast, cls, None) if cls[:1].isupper() else None
    return isinstance(found, type) and issubclass(found, ast.AST)


def judge_node(one: MissingMember, failure: Failure) -> Hit | None:
    """A field that a node of the syntax tree does not have; None where the class may be anybody's."""
    since = _SINCE.get(one.name)
    code = " ".join((failure.message, *(f"{frame.path} {frame.text}" for frame in failure.frames)))
    if since is None or not is_node(one.cls) or not (one.name == _BY_GAST or _OF_TREES.search(code)):
        return None
    runs = [int(found[1]) for frame in failure.frames if (found := _RUNS.search(frame.path)) is not None]
    if runs and runs[-1] >= int(since.partition(".")[2]):
        return None  # that Python's nodes have it: this one was made by hand
    walker = next((package_of(frame.package) for frame in reversed(failure.frames) if frame.package), "")
    detail = f"{one.cls} is a node of Python's syntax tree (ast), which has {one.name} from Python {since} on"
    advice = f"Python {since} or later, or a release of {walker or 'what walks the tree'} for this Python"
    packages = named(walker)
    pins: tuple[tuple[str, str], ...] = ()
    if one.name == _BY_GAST and f".{_BY_GAST}" not in code:
        detail += "; gast 0.6.0 lists it among its fields under an older Python too, where nodes of ast have none; gast 0.5.4 does not"
        packages, pins = named("gast", walker), (("gast", "==0.5.4"),)
        advice = ""
    return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, pins=pins, edge=f"{walker or 'code'}:ast.{one.cls}.{one.name}",
               by_hand=f"Python {since} or later" if pins else "", advice=advice)  # fmt: skip
