"""Comparing the releases that an estimate was given; where one is not known, the newest ways are counted."""

from __future__ import annotations

from envdoctor.facts.versions import exact, version_condition


def at_least(release: str, bound: str) -> bool:
    """Whether a release is a bound or later; True where it is not known."""
    if not release or release == "-":
        return True
    return version_condition(f">={bound}").admits(exact(release))
