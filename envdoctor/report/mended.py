"""What ``fix`` did, or would do, as values: a part of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envdoctor.records import dataclass, field

if TYPE_CHECKING:
    from envdoctor.facts.fact import Skip
    from envdoctor.remedies.remedy import Remedy
    from envdoctor.remedies.shown import Shown


@dataclass(frozen=True, slots=True)
class Diff:
    """One file: the unified diff of it, and whether it was written."""

    file: str
    diff: str
    written: bool


@dataclass(frozen=True, slots=True)
class Proved:
    """The cure of one situation in an environment that was built: of how many packages, in how many seconds, or why it was not.

    ``rows`` say of each finding whether it was there before, and is there after; ``left_out`` are packages that were not installed on
    either side, each with the reason.
    """

    label: str
    python: str = ""
    packages: int = 0
    seconds: float = 0.0
    rows: tuple[Shown, ...] = ()
    left_out: tuple[Skip, ...] = ()
    failure: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing that was run speaks against the cure."""
        return not self.failure and all(row.result != "not cured" for row in self.rows)

    @property
    def shown(self) -> bool:
        """Whether every finding was seen to go away."""
        return not self.failure and all(row.result == "cured" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Mended:
    """The diffs, the lines to paste where no file keeps the packages, and what was refused.

    ``alternatives`` are other sets of pins, ``settings`` what the plan files get. ``left`` are the rules, or other reasons, for
    which something is still to be done when the run has ended. ``instead`` are lines that would do by pins what the plan's settings do,
    ``by_hand`` the rules of ``left`` for which neither a file nor a command does anything.
    ``proved`` is what came of building it, where that was asked for.
    """

    diffs: tuple[Diff, ...] = ()
    commands: tuple[str, ...] = ()
    refused: tuple[Skip, ...] = ()
    alternatives: tuple[Remedy, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()
    proved: tuple[Proved, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing that was run speaks against it."""
        return all(one.holds for one in self.proved)

    def status(self) -> int:
        """1 where something is left to do. Where the cure was built: 1 where that speaks against it, 2 where not all of it was shown."""
        if not self.proved:
            return int(bool(self.left))
        if not self.holds or self.by_hand or self.refused:
            return 1
        return 0 if all(one.shown for one in self.proved) else 2

    @property
    def written(self) -> bool:
        return bool(self.diffs) and all(diff.written for diff in self.diffs)


__all__ = ["Diff", "Mended", "Proved"]
