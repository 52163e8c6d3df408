"""A class that lacks what its base demands of it."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import place_of

RUN = "error-of-the-run"
# Python's own sentence until 3.11, and since 3.12.
_ABSTRACT = re.compile(
    r"Can't instantiate abstract class (?P<cls>\w{1,80}) (?:with abstract methods? (?P<old>[\w, ]{1,200})|without an implementation for "
    r"abstract methods? (?P<new>[\w', ]{1,200}))"
)


def judge_abstract(failure: Failure) -> Hit | None:
    """A class that was written before its base demanded a method: https://github.com/iamlab-cmu/isaacgym-utils/pull/22."""
    found = _ABSTRACT.search(failure.message)
    if found is None:
        return None
    methods = re.findall(r"\w+", found["old"] or found["new"])
    frame = failure.frames[-1] if failure.frames else None
    at = f"{place_of(frame)} makes one; " if frame is not None else ""
    return Hit(
        RUN,
        True,
        detail=f"{at}its base demands that of every class that derives from it: it was written for a release whose base did not, or it is "
        "the base itself, of which no object is made",
        edge=f"code:abstract:{found['cls']}",
        headline=f"{found['cls']} has no {' and '.join(f'{one}()' for one in methods)}, which its base class demands",
        advice=f"def {', def '.join(f'{one}(self, ...)' for one in methods)} in {found['cls']}, as the base declares it; or the release of "
        "the base's package that the class was written for",
    )
