"""Builds whose source imports a module that Python itself no longer has: no package brings it, whatever an installer proposes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.logs.by_uv import read_asker
from envdoctor.world.standard_library import MODULES, last_minor

# Names that a project's own module may as well have.
_EVERYBODYS = frozenset(("parser", "formatter", "symbol", "chunk"))
_BY_LAST: dict[int, list[str]] = {}
for _name, _wanted in MODULES.items():
    if (_last := last_minor(_wanted)) is not None and _name not in _EVERYBODYS:
        _BY_LAST.setdefault(_last, []).append(_name)

GONE = tuple(
    (
        re.compile(rf"No module named '({'|'.join(map(re.escape, names))})'"),
        f"its source wants the module {{0}}, which Python has up to 3.{last}",
        f"{{asker}}, or Python 3.{last} (uv venv --python 3.{last}, conda create -n ENV python=3.{last})",
    )
    for last, names in sorted(_BY_LAST.items())
)
"""What a build says, what it lacked, and what to do; ``{asker}`` is what ``say_later`` says."""


def say_later(name: str, lines: Sequence[tuple[int, str]]) -> str:
    """Which package to take a later release of: the one that asks for what could not be built, where an installer says who it is."""
    asker = read_asker(lines)
    if asker is not None and asker[0] != name:
        return f"take a later release of {asker[0]} ({asker[1]} asks for {name or 'it'})"
    return f"take a later release of {name or 'it'}, or of what asks for it"
