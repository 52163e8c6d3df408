"""What cures all findings at once."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Change:
    """One package of a remedy: what it was (a version, a range, or empty where it was not there), the exact pin, or empty to remove it.

    ``clears`` are the findings that stand without this change; ``reason`` says why just this release, in a few words.
    """

    package: str
    before: str
    pin: str
    clears: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A package that an installer moves along with a remedy; ``before`` is empty for one that comes, ``after`` for one that goes."""

    package: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """The pins that clear the findings named in ``clears``; what no pin clears is ``unfixable``.

    ``removes`` are packages that go. ``verified`` is ``resolver`` (uv accepted the whole set: ``moves`` is what else moves with it),
    ``metadata`` (what the releases declare agrees) or ``none``; ``proof`` says in a line what was asked, or why nothing was.
    ``conflict`` is what the resolver said of a set that it refused. ``index`` is an index beside the default one that the pins need.
    ``steps`` and ``days`` are the distance from what was stated. ``settings`` are what the plan is to say beside the pins.
    ``in_code`` are those of the unfixable for which a changed line of a script is the cure, so that no package was moved for them.
    """

    pins: Mapping[str, str]
    clears: tuple[str, ...]
    unfixable: tuple[str, ...]
    verified: str = "none"
    changes: tuple[Change, ...] = ()
    removes: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    proof: str = ""
    conflict: str = ""
    index: str = ""
    steps: int = 0
    days: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)
    in_code: tuple[str, ...] = ()


__all__ = ["Change", "Move", "Remedy"]
