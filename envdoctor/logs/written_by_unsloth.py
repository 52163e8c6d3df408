"""What fails in a file that unsloth wrote of a trainer of trl: it was made of another state of trl or unsloth than what runs it."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ARGUMENT, ATTRIBUTE, NAME
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import (
    MissingArguments,
    MissingAttribute,
    MissingMember,
    MissingName,
    RefusedKeyword,
    Statement,
    TooManyArguments,
)
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import describe, place_of
from envdoctor.world.dependencies import dependencies

# unsloth_zoo/compiler.py; https://github.com/unslothai/unsloth/issues/1931, https://github.com/unslothai/unsloth/issues/2930
_WRITTEN = re.compile(r"(?:^|[\\/])unsloth_compiled_cache[\\/]Unsloth(?P<trainer>\w+)\.py$")
_FRESH = (
    "both of one day, and what they wrote anew: pip install --upgrade --force-reinstall --no-deps --no-cache-dir unsloth unsloth_zoo, "
    "remove the folder unsloth_compiled_cache, and start Python anew"
)


def judge_written(statement: Statement | None, failure: Failure, facts: Facts) -> Hit | None:
    """A name, an argument or an attribute that a compiled trainer asks for and does not find; None for other errors and other files."""
    frame = next((one for one in reversed(failure.frames) if _WRITTEN.search(one.path)), None)
    if frame is None or frame is not failure.frames[-1]:
        return None
    if isinstance(statement, MissingName):
        rule, what = NAME, f"{statement.name} of {statement.module or 'trl'}"
    elif isinstance(statement, MissingAttribute):
        rule, what = ATTRIBUTE, f"{statement.module}.{statement.name}"
    elif isinstance(statement, MissingMember) and "Trainer" in statement.cls:
        rule, what = ATTRIBUTE, f"{statement.name} of {statement.cls}"
    elif isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments)):
        rule, what = ARGUMENT, f"other arguments of {statement.function}()"
    else:
        return None
    return _tell(rule, what, frame, facts)


def _tell(rule: str, what: str, frame: Frame, facts: Facts) -> Hit:
    unsloth, trl = facts.value("packages.unsloth"), facts.value("packages.trl")
    asked = (
        [one.specifier for one in dependencies("unsloth", unsloth.text) or () if one.name == "trl"] if isinstance(unsloth, Exact) else []
    )
    wants = ",".join(one for one in asked if one)
    outside = bool(wants) and isinstance(trl, Exact) and not admits(wants, trl)
    takes = f"; unsloth {unsloth} is for trl{wants}" if wants else ""
    detail = (
        f"{place_of(frame)} is written by unsloth as it is loaded, from {describe('trl', facts)}, and asks for {what}: it is of "
        f"another trl than the one that is there, or {describe('unsloth', facts)} writes it wrongly{takes}"
    )
    pins = (("trl", wants),) if outside else ()
    return Hit(
        rule,
        True,
        (("packages.unsloth", "wrote the file"),),
        detail=detail,
        packages=("unsloth", "unsloth-zoo", "trl"),
        pins=pins,
        edge=f"unsloth:compiled:{what}"[:160],
        headline="A trainer that unsloth wrote does not fit the trl that is there",
        advice="" if pins else _FRESH,
        by_hand=_FRESH if pins else "",
    )
