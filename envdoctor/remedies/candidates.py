"""The releases that a pin may name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import TypeAlias

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.loaded_with import with_what_is_loaded
from envdoctor.facts.versions import ABSENT, Exact, PackageValue, Ranged, VersionCondition, exact, version_condition
from envdoctor.world.releases import Release, as_of, releases
from envdoctor.world.torch_builds import variants
from envdoctor.world.wheel_pythons import SYSTEMS, is_hard_to_build, wheels_of

Listed: TypeAlias = "Callable[[str], Sequence[Release]]"
"""The releases of a package by its normalised name, oldest first."""

# Whose build is of a torch, and so has the label of that build.
_OF_TORCH = ("torchvision", "torchaudio")
_MINORS = range(6, 16)
_ENDLESS = exact("999999999")
# Days from a first release to the second that only names which changed hands have: transformers 0.1 (1135), datasets 0.0.9 (1850).
_CHANGED_HANDS = 1000


@lru_cache(maxsize=256)
def _installable(package: str, python: str | None, system: str | None, day: str) -> tuple[Exact, ...]:
    known = releases(package)
    hard, minor = is_hard_to_build(package), minor_of(python)
    for suits in (system, ""):  # where no release has a wheel for the system, the Python alone tells
        fit = [one for one in known if (one.wheel or not hard) and _has_wheel(package, one.version, minor, suits)]
        if fit or not suits:
            break
    return _fit(fit or known, python)


def _has_wheel(package: str, release: str, minor: int | None, system: str | None) -> bool:
    """Whether a release that has no source archive has a wheel for a Python and a system, where these are stated."""
    wheels = None if minor is None and not system else wheels_of(package, release)
    minors = _MINORS if minor is None else (minor,)
    return wheels is None or any(wheels.suit(one, at) for one in minors for at in ((system,) if system else SYSTEMS))


def minor_of(python: str | None) -> int | None:
    """The second number of a Python 3; None where none is stated."""
    stated = re.match(r"3\.([0-9]+)", python or "")
    return None if stated is None else int(stated[1])


def _fit(known: Sequence[Release], python: str | None) -> tuple[Exact, ...]:
    return tuple(exact(release.version) for release in _of_the_project(known) if not release.yanked and _admits(release, python))


def _of_the_project(known: Sequence[Release]) -> Sequence[Release]:
    """The releases without a first one that somebody else made, years before, of something that had the same name."""
    days = [date.fromisoformat(release.date) for release in known[:2] if release.date]
    return known[1:] if len(days) == 2 and (days[1] - days[0]).days > _CHANGED_HANDS else known


def _admits(release: Release, python: str | None) -> bool:
    return python is None or release.requires_python is None or _runs_on(release.requires_python, python)


@lru_cache(maxsize=4096)
def _runs_on(requires_python: str, python: str) -> bool:
    return version_condition("".join(requires_python.split())).admits(exact(python))


def listed(package: str) -> Sequence[Release]:
    """The releases that are bundled, oldest first; none for a package that is not tracked."""
    return releases(package)


def installable(package: str, facts: Facts, among: Listed | None = None) -> tuple[Exact, ...]:
    """The releases of a package that were not withdrawn and run on the patient's Python, oldest first.

    Nobody is sent to a release that has neither a wheel for that Python nor a source archive, or no wheel at all of a package that is
    hard to build. A first release that stands years before all others, under a name that was somebody else's then, is none of the package.
    Empty for a package whose releases are not bundled; ``among`` lists others than the bundled ones.
    """
    python = _python(facts)
    if among is None:
        return _installable(package, python, _system(facts), as_of())
    return _fit(among(package), python)


def python_of(package: str, wanted: VersionCondition) -> str:
    """What the first release that satisfies the condition asks of Python; empty where it asks for nothing."""
    first = next((one for one in releases(package) if wanted.admits(exact(one.version))), None)
    return (first.requires_python if first is not None else None) or ""


def _python(facts: Facts) -> str | None:
    value = facts.value("python")
    python = value.text if isinstance(value, Exact) else None
    # "3.10" as people state it means some patch release of it: the last one.
    return python if python is None or python.count(".") > 1 else f"{python}.99"


def _system(facts: Facts) -> str | None:
    """The stated system; empty where the wheels of that machine are in no table, None where nobody says."""
    system, machine = facts.text("os"), facts.text("machine")
    if system not in (None, *SYSTEMS) or (machine not in (None, "x86_64", "amd64") and system != "macos"):
        return ""
    return system


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

    Without a current version: the latest releases in a row first, from the lowest on where they are open above (the first that cures),
    else from the highest down, then those of earlier rows from the highest down; and of all these first what a stated range admits.
    """
    value = facts.value(f"packages.{package}")
    return _nearest_first(
        package, wanted.text, value if isinstance(value, (Exact, Ranged)) else None, _python(facts), _system(facts), as_of()
    )


# Of many files in a run most are told the same fixes.
@lru_cache(maxsize=4096)
def _nearest_first(
    package: str, text: str, value: Exact | Ranged | None, python: str | None, system: str | None, day: str
) -> tuple[Exact, ...]:
    wanted, known = version_condition(text), _installable(package, python, system, day)
    if not isinstance(value, Exact):
        admitted = version_condition(value.text if isinstance(value, Ranged) else "")
        return tuple(sorted(_latest_first(known, wanted), key=lambda release: not admitted.admits(release)))
    ordered = sorted(zip(distances(value, known), reversed(range(len(known))), known, strict=True), key=lambda entry: entry[:2])
    return tuple(release for _, _, release in ordered if wanted.admits(release))


def _latest_first(known: Sequence[Exact], wanted: VersionCondition) -> list[Exact]:
    fits = [wanted.admits(release) for release in known]
    # "<5" is not open where an old Python, or a day that is asked about, ends the list at 4.
    end = next((place for place in reversed(range(len(known))) if not fits[place]), -1) + 1 if wanted.admits(_ENDLESS) else len(known)
    earlier = zip(reversed(known[:end]), reversed(fits[:end]), strict=True)
    return [*known[end:], *(release for release, fit in earlier if fit)]


def pinned(package: str, release: Exact, facts: Facts, torch: Exact | None = None) -> str:
    """The exact pin, ``==2.5.1+cu118``: the label of the current build is kept where that release has it (every one has a CPU build).

    torchvision and torchaudio keep theirs where ``torch``, else the one that is stated, has it, and take that one's where not. A build
    that is named stays what it is.
    """
    value = facts.value(f"packages.{package}")
    label = value.text.partition("+")[2] if isinstance(value, Exact) else ""
    there = facts.value("packages.torch")
    built = release if package == "torch" else (torch or there) if package in _OF_TORCH else None
    if not label or "+" in release.text or not isinstance(built, Exact):
        return f"=={release.text}"
    public, _, of_torch = built.text.partition("+")
    offered = ("cpu", *variants(".".join(public.split(".")[:2])))
    kept = next((one for one in (label, of_torch if package in _OF_TORCH else "") if one in offered), "")
    return f"=={release.text}+{kept}" if kept else f"=={release.text}"


def moved(stated: Facts, pins: Mapping[str, Exact], removes: Iterable[str] = ()) -> Facts:
    """The stated facts with releases in place of the current ones, and without the packages that go.

    The CUDA of the current torch build says nothing of another one and is forgotten with it; a release may load what another does not.
    """
    kept = stated.without("cuda") if "torch" in pins else stated
    torch = pins.get("torch")
    changed: dict[str, PackageValue] = dict.fromkeys(removes, ABSENT)
    changed |= {name: exact(pinned(name, release, stated, torch).removeprefix("==")) for name, release in pins.items()}
    return with_what_is_loaded(kept.with_facts(Fact(f"packages.{name}", value, Origin("pin")) for name, value in changed.items()))
