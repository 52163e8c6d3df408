"""What to do first where several things cure: a change of plan or code before an older release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.remedies.cures import Cure


def changes_first(cures: Sequence[Cure], finding: Finding, stated: Facts) -> tuple[Cure, ...]:
    """The cures with changes of plan and code before the first pin that goes back to an older release; else in their order.

    What a check says in general (move one of two pins), and what waits for an open range, stays where it is.
    """
    first = next((place for place, cure in enumerate(cures) if goes_back(cure.pins, stated)), None)
    if first is None or finding.newest or finding.rule.condition is None:
        return tuple(cures)
    later = [cure for cure in cures[first:] if _is_change(cure)]
    return (*cures[:first], *later, *(cure for cure in cures[first:] if cure not in later))


def goes_back(pins: Mapping[str, str], stated: Facts) -> bool:
    """Whether one of the pins is below the release that is stated."""
    return any(_is_below(pin, stated.value(f"packages.{name}")) for name, pin in pins.items())


def _is_change(cure: Cure) -> bool:
    # Where no release is known to pin, prose names the range. To go without a package is for who does not need it.
    return bool(cure.plan) or (cure.kind == "code" and not cure.text.startswith(("install ", "pip uninstall ")))


def _is_below(pin: str, value: object) -> bool:
    if not isinstance(value, Exact):
        return False
    try:
        return version_condition(f"<{value}").admits(exact(pin.removeprefix("==")))
    except ValueError:  # a build, of which no range can be made
        return False


__all__ = ["changes_first", "goes_back"]
