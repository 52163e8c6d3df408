"""What a version condition cannot say: code that looks, and says which rule holds.

A check of facts alone is judged again for every set of pins that a remedy proposes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.checks import (
    architectures,
    asked_for,
    asserted_at_import,
    atlas,
    built_for_numpy,
    built_for_torch,
    capped_later,
    declared_together,
    extras_together,
    hardware,
    kernels_for_gpu,
    misspelt_names,
    pickles_refused,
    plan_keys,
    python_ends,
    ranges_together,
    required_through,
    run_by_plans,
    stated_together,
    stated_uses,
    wheels_for_python,
    wheels_for_system,
    withdrawn,
)
from envdoctor.checks.hit import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envdoctor.facts.fact import Facts
    from envdoctor.sources.machine.interpreter import Installed

FACT_CHECKS = (
    *hardware.CHECKS,
    *architectures.CHECKS,
    *declared_together.CHECKS,
    *ranges_together.CHECKS,
    *stated_together.CHECKS,
    *required_through.CHECKS,
    *asked_for.CHECKS,
    *atlas.CHECKS,
    *run_by_plans.CHECKS,
    *withdrawn.CHECKS,
    *built_for_torch.CHECKS,
    *built_for_numpy.CHECKS,
    *capped_later.CHECKS,
    *extras_together.CHECKS,
    *wheels_for_python.CHECKS,
    *wheels_for_system.CHECKS,
    *asserted_at_import.CHECKS,
    *kernels_for_gpu.CHECKS,
    *pickles_refused.CHECKS,
    *python_ends.CHECKS,
    *stated_uses.CHECKS,
    *plan_keys.CHECKS,
    *misspelt_names.CHECKS,
)

# What is raised by some checks alone: whoever asks after one finding of theirs need not run the others. The other findings are cheap.
_RAISED_BY = {
    **dict.fromkeys(("import-breaks", "import-needs-package", "part-breaks"), atlas.CHECKS),
    "requirements-contradict": (*declared_together.CHECKS, *ranges_together.CHECKS),
    "requirement-unsatisfiable": declared_together.CHECKS,
    "requirement-refuses-python": (*declared_together.CHECKS, *stated_together.CHECKS, *required_through.CHECKS),
    **dict.fromkeys(
        ("declared-requirement-unmet", "declared-requirement-missing", "transformers-refuses-at-import"),
        (*stated_together.CHECKS, *required_through.CHECKS),
    ),
    "package-refuses-at-import": (*stated_together.CHECKS, *asserted_at_import.CHECKS),
    "plan-runs-into-break": run_by_plans.CHECKS,
    "release-yanked": withdrawn.CHECKS,
    **dict.fromkeys(("built-for-another-torch", "compiled-part-for-another-torch"), built_for_torch.CHECKS),
    "built-for-numpy-1": built_for_numpy.CHECKS,
    "excluded-by-a-later-release": capped_later.CHECKS,
    "extra-requirement-unmet": extras_together.CHECKS,
    **dict.fromkeys(("no-wheel-for-this-python", "compiled-for-this-python"), (*wheels_for_python.CHECKS, *wheels_for_system.CHECKS)),
    "no-kernels-for-this-gpu": kernels_for_gpu.CHECKS,
    "pickled-weights-refused": pickles_refused.CHECKS,
    "import-ends-with-python": python_ends.CHECKS,
    "code-breaks": stated_uses.CHECKS,
    "plan-key-refused": plan_keys.CHECKS,
    "name-misspelt": misspelt_names.CHECKS,
}


def hits_of_rule(rule: str, facts: Facts) -> Iterator[Hit]:
    """What the checks of facts say under one rule."""
    return (hit for check in _RAISED_BY.get(rule, FACT_CHECKS) for hit in check(facts) if hit.rule == rule)


def installed_hits(installed: Installed) -> tuple[Hit, ...]:
    """What the metadata of an installed stack shows."""
    from envdoctor.checks.requirements import declared
    from envdoctor.checks.soft_minimums import soft_minimums
    from envdoctor.sources.machine.interpreter import marker_environment

    return (*declared(installed, marker_environment(installed)), *soft_minimums(installed))
