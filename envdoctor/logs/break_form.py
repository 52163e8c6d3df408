"""The form of an error of a few words that one change, or one thing that is missing, is behind."""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Break:
    """``says`` is a pattern of the error. Where frames were printed, ``line`` must be in the code of the innermost one and ``within`` be
    the function of one. A stated release of the first of ``packages`` that ``since`` does not admit refutes it."""

    says: str
    means: str
    behind: str
    advice: str
    rule: str
    packages: tuple[str, ...] = ()
    since: str = ""
    pins: tuple[tuple[str, str], ...] = ()
    line: str = ""
    within: str = ""
