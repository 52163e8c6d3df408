"""What ``fix`` did, or would do, as values: a part of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envdoctor.records import dataclass, field

if TYPE_CHECKING:
    from envdoctor.facts.fact import Skip
    from envdoctor.remedies.remedy import Remedy


@dataclass(frozen=True, slots=True)
class Diff:
    """One file: the unified diff of it, and whether it was written."""

    file: str
    diff: str
    written: bool


@dataclass(frozen=True, slots=True)
class Mended:
    """The diffs, the lines to paste where no file keeps the packages, and what was refused.

    ``alternatives`` are other sets of pins, ``settings`` what the plan files get. ``left`` are the rules, or other reasons, for
    which something is still to be done when the run has ended. ``instead`` are lines that would do by pins what the plan's settings do,
    ``by_hand`` the rules of ``left`` for which neither a file nor a command does anything.
    """

    diffs: tuple[Diff, ...] = ()
    commands: tuple[str, ...] = ()
    refused: tuple[Skip, ...] = ()
    alternatives: tuple[Remedy, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()

    @property
    def written(self) -> bool:
        return bool(self.diffs) and all(diff.written for diff in self.diffs)


__all__ = ["Diff", "Mended"]
