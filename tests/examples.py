"""How many examples a law gets that is wider or costlier than others: a share of what the profile gives to each."""

from __future__ import annotations

from hypothesis import settings


def examples(percent: int) -> int:
    """``percent`` of the examples of the profile that is in force (see ``conftest.py``), at least five."""
    return max(5, settings().max_examples * percent // 100)
