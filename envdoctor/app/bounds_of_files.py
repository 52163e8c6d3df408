"""What the files of a project ask of the packages that somebody states a release of: a remedy that stays within it comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envdoctor.app.gathered import Gathered
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import VersionCondition, exact, version_condition
from envdoctor.remedies.remedy import Remedy


def within_bounds_first(remedies: Sequence[Remedy], gathered: Gathered) -> tuple[Remedy, ...]:
    """The remedies, of those that clear as much those first that break the fewest lines of the files, else in their order."""
    bounds = _bounds(gathered) if len(remedies) > 1 else {}
    if not bounds:
        return tuple(remedies)
    first = remedies[0]
    return tuple(
        sorted(remedies, key=lambda one: (one.clears != first.clears or bool(one.proof and not first.proof), _broken(one, bounds)))
    )


def _bounds(gathered: Gathered) -> dict[str, VersionCondition]:
    """What lines ask of packages of which another source states the release; a line that is pinned moves as its fact does."""
    lines = dict.fromkeys(line for target in gathered.targets for line in target.collected.wanted if " @ " not in line)
    if not lines:
        return {}
    from packaging.requirements import InvalidRequirement, Requirement

    found: dict[str, list[str]] = {}
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        found.setdefault(canonical(requirement.name), []).append(str(requirement.specifier))
    return {name: version_condition(",".join(filter(None, some))) for name, some in found.items() if any(some)}


def _broken(remedy: Remedy, bounds: Mapping[str, VersionCondition]) -> int:
    pins = ((name, pin.removeprefix("==")) for name, pin in remedy.pins.items() if name in bounds)
    return sum(not (bounds[name].admits(exact(pin)) or bounds[name].admits(exact(pin.partition("+")[0]))) for name, pin in pins)
