"""A method of Python's text that is asked of an object of another class: a name or a path is wanted where the object itself was given."""

from __future__ import annotations

from envdoctor.atlas.answers import answer as look_up
from envdoctor.checks.hit import Hit
from envdoctor.logs.callables_named import classes_named
from envdoctor.logs.callers import asker_of
from envdoctor.logs.own_code import is_of_a_package, package_in
from envdoctor.logs.plain_kinds import kind_of
from envdoctor.logs.plain_objects import asked_of
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of

OF_INPUT = "error-of-what-was-given"
# What nothing but a text has; split, replace, format and encode have other objects too.
_OF_TEXT = frozenset(
    ("lower", "upper", "startswith", "endswith", "strip", "lstrip", "rstrip", "splitlines", "isdigit", "rsplit", "removeprefix",
     "removesuffix", "casefold", "isspace", "isupper", "islower", "partition", "rpartition", "title", "capitalize")
)  # fmt: skip
# Columns of pandas have them under .str; modules, classes and functions are told apart elsewhere.
_OTHERS = frozenset(("Series", "Index", "MultiIndex", "DataFrame", "module", "type", "function", "method", "builtin_function_or_method"))
_PATHS = ("Path", "PosixPath", "WindowsPath", "PurePath")


def judge_text_wanted(one: MissingMember, failure: Failure) -> Hit | None:
    """What stands where a text is wanted; None for Python's own objects, and for a class that has such a method in a release."""
    if one.name not in _OF_TEXT or not one.cls[:1].isalpha() or one.cls in _OTHERS or kind_of(one.cls, one.name) is not None:
        return None
    if one.cls[0].islower() or any((has := look_up(f"{cls}.{one.name}")) is not None and has.there for cls in classes_named(one.cls)):
        return None
    frame = asker_of(failure)
    own = next((one for one in reversed(failure.frames) if one.text and not is_of_a_package(one)), None)
    it = asked_of(one.name, frame) if frame is not None else ""
    where = f" ({place_of(frame)}{f': `{frame.text[:120]}`' if frame.text else ''})" if frame is not None else ""
    handed = f"; the project's own line hands it over: {place_of(own)}: `{own.text[:100]}`" if own is not None and own is not frame else ""
    package = package_in(frame) if frame is not None else ""
    path = one.cls in _PATHS
    return Hit(
        OF_INPUT,
        True,
        detail=f".{one.name}() is a method of a text, and {it or 'what was given'} is of class {one.cls}{where}{handed}",
        packages=named(package),
        edge=f"{package or 'code'}:{one.cls}.{one.name}"[:160],
        headline=f"An object of class {one.cls} is given where a text is wanted",
        advice="str(path) in its place" if path else f"the name or the path from which the {one.cls} was loaded, as a text, in its place",
    )
