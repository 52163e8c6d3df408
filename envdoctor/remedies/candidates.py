"""The releases that a pin may name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from envdoctor.facts import Fact, Facts, Origin
from envdoctor.hardware.torch_builds import variants
from envdoctor.releases import Release, as_of, releases
from envdoctor.versions import Exact, PackageValue, Ranged, VersionCondition, exact, version_condition


@lru_cache(maxsize=256)
def _installable(package: str, python: str | None, day: str) -> tuple[Exact, ...]:
    return tuple(exact(release.version) for release in releases(package) if not release.yanked and _admits(release, python))


def _admits(release: Release, python: str | None) -> bool:
    if python is None or release.requires_python is None:
        return True
    return version_condition("".join(release.requires_python.split())).admits(exact(python))


def installable(package: str, facts: Facts) -> tuple[Exact, ...]:
    """The releases of a package that were not withdrawn and run on the patient's Python, oldest first.

    Empty for a package whose releases are not bundled.
    """
    python = facts.value("python")
    if not isinstance(python, Exact):
        return _installable(package, None, as_of())
    # "3.10" as people state it means some patch release of it: the last one.
    return _installable(package, python.text if python.text.count(".") > 1 else f"{python.text}.99", as_of())


def distances(current: PackageValue | None, known: Sequence[Exact]) -> list[int]:
    """How far each release is from the current version, in releases.

    Of a range, or where nothing is known, the newest release is the nearest; those outside the range are farther than all in it.
    """
    if isinstance(current, Exact):
        below = version_condition(f"<{current.text.partition('+')[0]}")
        place = sum(below.admits(other) for other in known)
        return [abs(index - place) for index in range(len(known))]
    allowed = version_condition(current.text if isinstance(current, Ranged) else "")
    return [len(known) - index + (0 if allowed.admits(release) else len(known)) for index, release in enumerate(known)]


def nearest_first(package: str, wanted: VersionCondition, facts: Facts) -> tuple[Exact, ...]:
    """The releases that satisfy the condition, nearest to the current one first; ties: the later one.

    Without a current version: the lowest of an open range (the first that cures), else the highest.
    """
    known = installable(package, facts)
    value = facts.value(f"packages.{package}")
    current = value if isinstance(value, Exact) else None
    if current is None:
        fitting = [release for release in known if wanted.admits(release)]
        return tuple(fitting if known and wanted.admits(known[-1]) else reversed(fitting))
    ordered = sorted(zip(distances(current, known), reversed(range(len(known))), known, strict=True), key=lambda entry: entry[:2])
    return tuple(release for _, _, release in ordered if wanted.admits(release))


def pinned(package: str, release: Exact, facts: Facts) -> str:
    """The exact pin, ``==2.5.1+cu118``: the label of the current build is kept where that release has it (every one has a CPU build)."""
    value = facts.value(f"packages.{package}")
    label = value.text.partition("+")[2] if isinstance(value, Exact) else ""
    if package == "torch" and (label == "cpu" or (label and label in variants(".".join(release.text.split(".")[:2])))):
        return f"=={release.text}+{label}"
    return f"=={release.text}"


def moved(stated: Facts, pins: Mapping[str, Exact]) -> Facts:
    """The stated facts with releases in place of the current ones.

    The CUDA of the current torch build says nothing of another one and is forgotten with it.
    """
    kept = stated.without("cuda") if "torch" in pins else stated
    return kept.with_facts(
        Fact(f"packages.{name}", exact(pinned(name, release, stated).removeprefix("==")), Origin("pin")) for name, release in pins.items()
    )
