"""Whether a requirement under a marker counts in a stack, of which the Python and the system may not be known."""

from __future__ import annotations

import re
from functools import lru_cache

from envdoctor.world.installation import Installation

_SYSTEMS = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}
_OF_PYTHON = frozenset(("python_version", "python_full_version"))
_OF_SYSTEM = frozenset(("sys_platform", "platform_system", "os_name"))
_VARIABLE = re.compile(r"\b[a-z]+_[a-z_]+\b")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@lru_cache(maxsize=4096)
def is_asked(marker: str, python: str, system: str) -> bool:
    """Whether a marker holds for sure under a Python (empty: not known) on a system as a Stack names it (empty: not known)."""
    if not marker:
        return True
    known = (_OF_PYTHON if python else frozenset()) | (_OF_SYSTEM if system in _SYSTEMS else frozenset())
    if not known.issuperset(_VARIABLE.findall(_QUOTED.sub("", marker))):
        return False
    return Installation().on(_SYSTEMS.get(system), None).with_python(python).holds(marker)


__all__ = ["is_asked"]
