"""The releases that a pin may name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from envdoctor.facts import Fact, Facts, Origin
from envdoctor.hardware.torch_builds import variants
from envdoctor.releases import Release, releases
from envdoctor.versions import Exact, VersionCondition, exact, version_condition


@lru_cache(maxsize=256)
def _installable(package: str, python: str | None) -> tuple[Exact, ...]:
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
        return _installable(package, None)
    # "3.10" as people state it means some patch release of it: the last one.
    return _installable(package, python.text if python.text.count(".") > 1 else f"{python.text}.99")


def distance(release: Exact, current: Exact | None, known: tuple[Exact, ...]) -> int:
    """How many releases lie between two, in release order; 0 when nothing is known of the current one."""
    return 0 if current is None else abs(_place(release, known) - _place(current, known))


def _place(release: Exact, known: tuple[Exact, ...]) -> int:
    below = version_condition(f"<{release.text.partition('+')[0]}")
    return sum(below.admits(other) for other in known)


def nearest_first(package: str, wanted: VersionCondition, facts: Facts) -> tuple[Exact, ...]:
    """The releases that satisfy the condition, nearest to the current one first; ties: the later one.

    Without a current version: the lowest of an open range (the first that cures), else the highest.
    """
    known = installable(package, facts)
    value = facts.value(f"packages.{package}")
    current = value if isinstance(value, Exact) else None
    fitting = [release for release in known if wanted.admits(release)]
    if current is None:
        return tuple(fitting if known and wanted.admits(known[-1]) else reversed(fitting))
    order = {release.text: place for place, release in enumerate(known)}
    return tuple(sorted(fitting, key=lambda release: (distance(release, current, known), -order[release.text])))


def pinned(package: str, release: Exact, facts: Facts) -> str:
    """The exact pin, ``==2.5.1+cu118``: the CUDA label of the current build is kept where that release has it."""
    value = facts.value(f"packages.{package}")
    label = value.text.partition("+")[2] if isinstance(value, Exact) else ""
    if package == "torch" and label and label in variants(".".join(release.text.split(".")[:2])):
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
