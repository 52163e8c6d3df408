"""A call that was refused, and the releases under which it fits and does not."""

from __future__ import annotations

from envdoctor.atlas.binding import Bound
from envdoctor.records import dataclass

ARGUMENT = "error-argument-refused"


@dataclass(frozen=True, slots=True)
class Fitting:
    """A call and the releases under which it fits (``there``) and does not (``gone``); ``told`` says in words why not, ``advice`` how the
    call is written there. ``maybe`` are the releases before all others, of which a decorator hides what they take."""

    symbol: str
    bound: Bound
    there: int
    gone: int
    told: str = ""
    advice: str = ""
    maybe: int = 0
