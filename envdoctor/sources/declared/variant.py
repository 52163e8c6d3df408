"""A choice that a file offers. It stands apart from `declarations`, for which packaging is imported: a plan is read without."""

from __future__ import annotations

from envdoctor.facts.fact import Collected
from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """One consistent choice that a file offers, whole: what is always installed, and what the choice adds.

    ``label`` is empty for what is always installed; else ``extra train``, ``group dev``, ``stage build``.
    """

    label: str
    collected: Collected


__all__ = ["Variant"]
