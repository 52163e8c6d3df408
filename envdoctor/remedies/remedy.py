"""What cures all findings at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remedy:
    """The pins that clear the findings named in ``clears``; what no pin clears is ``unfixable``."""

    pins: Mapping[str, str]
    clears: tuple[str, ...]
    unfixable: tuple[str, ...]
    verified: str = "none"
