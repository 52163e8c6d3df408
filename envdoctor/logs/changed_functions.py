"""What changed around an error that nothing explains: the release after the stated one in which a function on the way to it is another.

A patch release of a package changes little, and what it changes it repairs: where that is a function of the traceback, it is the first
thing to try. No cause is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.atlas.changes import Changes
from envdoctor.atlas.shelf import open_changes
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of
from envdoctor.records import dataclass, replace
from envdoctor.world.import_names import package_of

# Further out a function has a part in every error.
_MOST_FRAMES = 4
# A method that so many classes of a module have is none that the frame tells.
_MOST_ALIKE = 2
_MOST_TOLD = 4


@dataclass(frozen=True, slots=True)
class Changed:
    """A function on the way to an error: the release in which it changed next, and the one in which it had changed last, if any."""

    package: str
    frame: Frame
    function: str
    innermost: bool
    after: str
    before: str


def with_changes(hit: Hit, failure: Failure, facts: Facts) -> Hit:
    """A finding that knows no cause, with the release that changed what raised it; as it was where none did."""
    if hit.outcome is True or hit.pins:
        return hit
    for package in dict.fromkeys(package_of(frame.package) for frame in reversed(failure.frames) if frame.package):
        stated = facts.value(f"packages.{package}")
        changed = changed_next(package, failure.frames, stated) if isinstance(stated, Exact) else None
        if changed is not None and _is_patch(str(stated), changed.after):
            return replace(
                hit,
                detail=f"{hit.detail}; {_told(changed)}",
                packages=tuple(dict.fromkeys((*hit.packages, package))),
                pins=((package, f"=={changed.after}"),),
                advice=f"{package} {changed.after} first: what a patch release changes it repairs" if not hit.advice else hit.advice,
            )
    return hit


def changed_next(package: str, frames: Sequence[Frame], stated: Exact) -> Changed | None:
    """The function of a package on the way to an error that changed in the nearest release after the stated one."""
    changes = open_changes(package)
    if changes is None:
        return None
    found = []
    for place, frame in enumerate(_own_frames(package, frames)):
        for name, releases in _functions(changes, frame).items():
            after = [one for one in releases if admits(f">{stated.text.partition('+')[0]}", one)]
            before = [one for one in releases if one not in after]
            if after:
                found.append(Changed(package, frame, name, place == 0, after[0], before[-1] if before else ""))
    order = {release: place for place, release in enumerate(changes.releases)}
    return min(found, key=lambda one: order[one.after], default=None)


def tell_changes(failure: Failure, facts: Facts) -> Iterator[str]:
    """Sentences about the changes of the function that raised: those beside the stated release, else the last ones."""
    for package in dict.fromkeys(package_of(frame.package) for frame in reversed(failure.frames) if frame.package):
        stated, changes = facts.value(f"packages.{package}"), open_changes(package)
        if isinstance(stated, Exact):
            changed = changed_next(package, failure.frames, stated)
            if changed is not None:
                yield _told(changed)
                return
            continue
        for frame in _own_frames(package, failure.frames) if changes is not None else ():
            for name, releases in _functions(changes, frame).items() if changes is not None else ():
                shown = releases[-_MOST_TOLD:]
                yield f"{name} ({place_of(frame)}) was changed in {package} {', '.join(shown)}"
                return


def _functions(changes: Changes, frame: Frame) -> dict[str, tuple[str, ...]]:
    """The functions that a frame may be of; none where a module has many of that name."""
    found = changes.of(frame.module, frame.function)
    return found if len(found) <= _MOST_ALIKE else {}


def _own_frames(package: str, frames: Sequence[Frame]) -> Iterator[Frame]:
    """The frames of a package, the innermost first."""
    own = [frame for frame in reversed(frames) if frame.package and package_of(frame.package) == package and frame.module]
    yield from own[:_MOST_FRAMES]


def _is_patch(stated: str, other: str) -> bool:
    """Whether two releases are of one series (1.2)."""
    return stated.split(".")[:2] == other.split(".")[:2]


def _told(changed: Changed) -> str:
    part = "which raised it" if changed.innermost else "on the way to it"
    since = f", as it had been since {changed.before}" if changed.before else ""
    return f"{changed.package} {changed.after} changed {changed.function} ({place_of(changed.frame)}), {part}{since}"
