"""What a check found: the outcome of one rule that code decides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """One rule that holds (``outcome`` True) or that cannot be told for want of the ``missing`` facts (None).

    ``because`` pairs a fact's name with the condition it satisfies, in words. ``pins`` are alternatives,
    nearest first: a package and the specifier under which the rule no longer holds. ``plan`` are plan
    facts to set together instead.
    """

    rule: str
    outcome: bool | None
    because: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    detail: str = ""
    packages: tuple[str, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    plan: tuple[tuple[str, object], ...] = ()
