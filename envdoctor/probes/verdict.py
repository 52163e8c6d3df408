"""What a probe says in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from envdoctor.records import dataclass, field, replace

Ruling: TypeAlias = Literal["confirmed", "refuted", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Cured:
    """One thing changed under which the fault was gone: in words, and as facts of a plan where it is one."""

    words: str
    plan: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One probe's answer about one patient.

    ``measured`` is what the child saw, empty where it saw nothing; ``seconds`` is the wall time
    from the start of the child to its end. ``cured_by`` are changes under which a confirmed fault was gone, each measured.
    """

    probe: str
    verdict: Ruling
    reason: str
    measured: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    cured_by: tuple[Cured, ...] = ()

    def but(self, reason: str) -> Verdict:
        """The same experiment, which for this reason decides nothing of the question at hand."""
        return replace(self, verdict="inconclusive", reason=f"{reason}: {self.reason}", cured_by=())
