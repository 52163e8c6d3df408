"""The Pythons that a torch release has wheels for, where its metadata names no end."""

from __future__ import annotations

from envdoctor.facts.versions import Exact, version_condition

# The first torch with a wheel for each Python; the one before has none (read on the package index: 2.1.2, 2.4.1 and 2.8.0).
_FIRST = {"3.11": "1.13", "3.12": "2.2", "3.13": "2.5", "3.14": "2.9"}


def has_a_wheel(torch: Exact, python: str) -> bool:
    """Whether a release is new enough for a minor release of Python; its ``Requires-Python`` says which are too old for it."""
    first = _FIRST.get(".".join(python.split(".")[:2]))
    return first is None or not version_condition(f"<{first}").admits(torch)


__all__ = ["has_a_wheel"]
