"""The Pythons that a situation admits."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition

_MINORS = tuple(range(6, 16))


def minors_of(facts: Facts) -> tuple[int, ...]:
    """The second numbers of the Pythons that the situation admits, the oldest first; none where nobody says which it is."""
    python = facts.value("python")
    if isinstance(python, Exact):
        return tuple(minor for minor in _MINORS if python.key is not None and python.key[:2] == (3, minor))
    if isinstance(python, Ranged) and python.text:
        wanted = version_condition(python.text)
        return tuple(minor for minor in _MINORS if any(wanted.admits(exact(f"3.{minor}.{patch}")) for patch in (0, 9, 99)))
    return ()
