"""Calls and objects between parts whose releases nobody lists here: what is certain is that the two are of different states.

Told at last, as possible: who calls, what is called, and what to bring to one state. https://github.com/huggingface/parler-tts/issues/46,
https://github.com/espnet/espnet/issues/6079, https://github.com/open-mmlab/mmdetection/issues/5775, https://github.com/Nerogar/OneTrainer/issues/332
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.own_code import OWN, innermost_own, is_known, is_of_a_package, package_in, say_how
from envdoctor.logs.owners_anywhere import has_class
from envdoctor.logs.statements import MissingArguments, MissingMember, RefusedKeyword, TooManyArguments, parse_statement
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import describe, named, place_of
from envdoctor.world.releases import listed

RAISED = "error-raised-by-package"
# A class with a shorter name is anybody's.
_TELLING = 8
_Refused = (RefusedKeyword, MissingArguments, TooManyArguments)
# What Python itself calls, and what hands on what it is given.
_PASSING = re.compile(
    r"[\\/]lib[\\/]python3[\w.]{0,6}[\\/](?!(?:site|dist)-packages)|<frozen |[\\/]torch[\\/]nn[\\/]modules[\\/]module\.py$"
)
_ONE_STATE = (
    "bring the project and what it brings (submodules, repositories, its requirements file) to one state: the newest, or that of a release"
)


def judge_states(failure: Failure, facts: Facts) -> Hit | None:
    """Two parts of different states, of which at least one is no package that was read; None where both are known."""
    statement = parse_statement(failure)
    frame = next((one for one in reversed(failure.frames) if not _PASSING.search(one.path)), None)
    package = package_in(frame) if frame is not None else ""
    if package == "transformers_modules":
        return None
    if isinstance(statement, _Refused):
        return _call(statement, frame, package, failure, facts)
    if isinstance(statement, MissingMember):
        return _object(statement, frame, package, facts)
    return None


def _call(
    statement: RefusedKeyword | MissingArguments | TooManyArguments, frame: Frame | None, package: str, failure: Failure, facts: Facts
) -> Hit | None:
    """A call that does not go together with what is called."""
    function, how = statement.function, say_how(statement)
    cls = function.rpartition(".")[0].rpartition(".")[2]
    if not function:
        return None
    if not package:
        return _of_no_package(function, cls, how, frame) if cls and (frame is None or innermost_own(failure) is frame) else None
    if cls and is_known(package) and has_class(cls):
        return None
    handed = isinstance(statement, RefusedKeyword) and statement.keyword not in (frame.text if frame is not None else "")
    own = next((one for one in reversed(failure.frames) if not is_of_a_package(one) and not _PASSING.search(one.path)), None)
    hands = "; it hands on what it was given" if handed else ""
    ours = f", from the project's own {place_of(own)}" if own is not None else ""
    return Hit(
        RAISED,
        None,
        detail=f"{describe(package, facts)} calls it ({place_of(frame) if frame is not None else ''}){hands}{ours}: what is called is of "
        f"{package} itself, of the project, or of a package beside it, and of another state than the caller",
        packages=named(package),
        edge=f"{package}:call:{function}"[:160],
        headline=f"{function}() {how}, and is called otherwise",
        advice=(
            f"take {package} and what calls it at one state: the release of {package} that the project names, or that of the project's "
            "day; a setting or an argument of your own that it passes on goes by the signature that this release has"
        ),
    )


def _of_no_package(function: str, cls: str, how: str, frame: Frame | None) -> Hit | None:
    """A class that is of no package that was read, called by the project, or by nobody knows whom."""
    if not _is_nobodys(cls):
        return None
    where = f"{place_of(frame)} calls it; " if frame is not None else ""
    return Hit(
        OWN,
        None,
        detail=f"{where}no package that was read has a class {cls}: it is of the project, or of a library that it brings or requires",
        edge=f"call:{function}"[:160],
        headline=f"{function}() {how}: who calls it and {cls} are of two states",
        advice=f"{_ONE_STATE}; then install its requirements again",
    )


def _is_nobodys(cls: str) -> bool:
    """Whether a class with a telling name is of no package that was read."""
    if len(cls) < _TELLING or cls in ("NoneType", "Namespace") or cls == cls.lower():
        return False
    # DeepSpeedZeroOptimizer says whose it is.
    word = cls.lower()
    return not any(len(name) >= _TELLING and word.startswith(name.replace("-", "")) for name in listed()) and not has_class(cls)


def _object(one: MissingMember, frame: Frame | None, package: str, facts: Facts) -> Hit | None:
    """An object of a class of nobody that is known, and who asks it for what it does not have."""
    if (frame is not None and not package) or not _is_nobodys(one.cls):
        return None
    asks = f"{describe(package, facts)} asks for it ({place_of(frame)}); " if frame is not None else ""
    whose = f"{package} and what the project derives from it" if package else "the project and the package whose class it derives from"
    return Hit(
        RAISED if package else OWN,
        None,
        detail=f"{asks}no package that was read has a class {one.cls}: it is of the project, or of what it brings along, and what it "
        "inherits is of another release than it was written for",
        packages=named(package),
        edge=f"{package or 'code'}:object:{one.cls}.{one.name}"[:160],
        headline=f"{one.cls} has no {one.name}: {whose} are of two states",
        advice=(
            f"the release of {package} that the project names, or that of the project's day; or a newer state of the project"
            if package
            else _ONE_STATE
        ),
    )
