"""What a probe says in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Ruling: TypeAlias = Literal["confirmed", "refuted", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One probe's answer about one patient.

    ``measured`` is what the child saw, empty where it saw nothing; ``seconds`` is the wall time
    from the start of the child to its end.
    """

    probe: str
    verdict: Ruling
    reason: str
    measured: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0
