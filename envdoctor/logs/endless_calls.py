"""Functions that call themselves without end: which they are, and what the last of them reads.

https://github.com/deepspeedai/DeepSpeed/pull/4962
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.other_states import RAISED
from envdoctor.logs.own_code import OWN, package_in
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of

_SAYS = re.compile(r"maximum recursion depth exceeded")
# A longer round is told by no traceback that people paste.
_LONGEST_ROUND = 6
_LEAST = 2
_VARIABLE = re.compile(
    r"['\"](?P<name>[A-Z][A-Z0-9_]{3,60})['\"] in os\.environ|environ(?:\.get\(|\[)['\"](?P<other>[A-Z][A-Z0-9_]{3,60})['\"]"
)


def judge_endless(failure: Failure) -> Hit | None:
    """The functions of one round, each with its line; None where no frames repeat."""
    if failure.kind != "RecursionError" or not _SAYS.search(failure.message):
        return None
    found = _round(failure.frames)
    if not found:
        return None
    names = list(dict.fromkeys(one.function for one in found if one.function))
    places = "; ".join(f"{place_of(one)}: `{one.text[:80]}`" for one in found[:3])
    package = next((package_in(one) for one in found if package_in(one)), "")
    read = next((shown for one in failure.frames[-8:] if (shown := _VARIABLE.search(one.text)) is not None), None)
    variable = (read["name"] or read["other"]) if read is not None else ""
    how = f"{names[0]} calls itself" if len(names) == 1 else f"{' calls '.join((*names[:3], names[0]))}"
    looks_up = any(name in ("__getattr__", "__getattribute__") for name in names)
    why = (
        "; __getattr__ looks up an attribute that the object does not have yet (a copy or an unpickling before __init__ ran)"
        if looks_up
        else f"; {variable} is read on the way"
        if variable
        else ""
    )
    advice = f"leave {variable} unset, or set it to another value; " if variable else ""
    advice += f"a release of {package} before or after" if package else f"a condition in {names[0]} that ends it"
    return Hit(
        RAISED if package else OWN,
        True,
        detail=f"{places}{why}",
        packages=named(package),
        edge=f"{package or 'code'}:endless:{names[0]}"[:160],
        headline=f"{how}, without end",
        advice=advice,
    )


def _round(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The frames of one round, where the last ones, but for what they end in, repeat."""
    marks = [(one.path, one.line) for one in frames]
    for skipped in range(8):
        end = len(frames) - skipped
        for size in range(1, _LONGEST_ROUND + 1):
            if end >= _LEAST * size and marks[end - size : end] == marks[end - 2 * size : end - size]:
                return tuple(frames[end - size : end])
    return ()
