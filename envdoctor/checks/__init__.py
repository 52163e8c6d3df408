"""What a version condition cannot say: code that looks, and says which rule holds.

A check of facts alone is judged again for every set of pins that a remedy proposes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.checks import architectures, asked_for, atlas, declared_together, hardware, stated_together
from envdoctor.checks.hit import Hit

if TYPE_CHECKING:
    from envdoctor.sources.machine.interpreter import Installed

FACT_CHECKS = (
    *hardware.CHECKS,
    *architectures.CHECKS,
    *declared_together.CHECKS,
    *stated_together.CHECKS,
    *asked_for.CHECKS,
    *atlas.CHECKS,
)


def installed_hits(installed: Installed) -> tuple[Hit, ...]:
    """What the metadata of an installed stack shows."""
    from envdoctor.checks.requirements import declared
    from envdoctor.checks.soft_minimums import soft_minimums
    from envdoctor.sources.machine.interpreter import marker_environment

    return (*declared(installed, marker_environment(installed)), *soft_minimums(installed))
