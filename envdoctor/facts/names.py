"""Names of packages as they are compared."""

from __future__ import annotations

import re

# packaging.utils has the same in one line, and imports logging and subprocess beside it: 15 ms of every run.
_SEPARATORS = re.compile(r"[-_.]+")


def canonical(name: str) -> str:
    """A package's name as PEP 503 compares it."""
    return _SEPARATORS.sub("-", name).lower()
