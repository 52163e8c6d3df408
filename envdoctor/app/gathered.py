"""One situation as read: what its sources say, and what the files of its models show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Facts
from envdoctor.records import dataclass
from envdoctor.sources.situation import Situation

if TYPE_CHECKING:
    from envdoctor.atlas.renames import Rename
    from envdoctor.checks.hit import Hit
    from envdoctor.edits.edit import Edited
    from envdoctor.sources.machine.interpreter import Installed
    from envdoctor.sources.model.adapter import Adapter
    from envdoctor.sources.model.snapshot import Snapshot
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation


@dataclass(frozen=True, slots=True)
class Gathered:
    """One situation as read. ``facts`` has the stated and read ones, ``derived`` also what follows from them.

    ``hits`` and ``notes`` are what the files of its ``snapshots`` and ``adapters`` show, once they were examined.
    ``label`` says which choice of its targets it is; empty for what is always there. ``installation`` is what markers were
    evaluated for, where anybody said. ``renamed`` are the edits of its scripts, each with what they rename
    and the keywords that they leave.
    """

    patient: str
    interpreter: Path | None
    situation: Situation
    derived: Facts
    installed: Installed | None
    has_plan: bool
    trust: bool = False
    snapshots: tuple[Snapshot, ...] = ()
    adapters: tuple[Adapter, ...] = ()
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    label: str = ""
    targets: tuple[Target, ...] = ()
    installation: Installation | None = None
    renamed: tuple[tuple[Edited, tuple[Rename, ...], frozenset[str]], ...] = ()

    @property
    def facts(self) -> Facts:
        return self.situation.facts

    @property
    def constraints(self) -> tuple[str, ...]:
        """Requirements that narrow what is installed and install nothing."""
        return tuple(line for target in self.targets for line in target.collected.constraints)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The packages that are taken from a URL, a path or a repository."""
        wanted = (line for target in self.targets for line in target.collected.wanted)
        return tuple(dict.fromkeys(line.partition(" @ ")[0] for line in wanted if " @ " in line))

    @property
    def projects(self) -> tuple[tuple[str, str], ...]:
        """Name and version of the packages that the manifests among the targets are of."""
        return tuple(dict.fromkeys(target.collected.project for target in self.targets if target.collected.project is not None))

    @property
    def apart(self) -> bool:
        """Whether the declared packages are installed with ``--no-deps``, all of them."""
        declaring = [target.collected for target in self.targets if target.collected.wanted]
        return bool(declaring) and all(one.apart for one in declaring)
