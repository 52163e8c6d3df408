"""What a name or a keyword became, where the releases leave no doubt of it."""

from __future__ import annotations

from collections.abc import Collection

from envdoctor.atlas.answers import definitions
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.callables import lineage
from envdoctor.atlas.known_renames import known_rename
from envdoctor.atlas.missing import signature_at, split
from envdoctor.atlas.own_code import Fault
from envdoctor.atlas.signatures import read
from envdoctor.atlas.volume import Volume
from envdoctor.records import dataclass

_SHORT = 3
_OPPOSITE = ("no_", "not_", "disable", "skip", "without", "ignore", "exclude")


@dataclass(frozen=True, slots=True)
class Rename:
    """``old`` is written as ``new``: a keyword, or the module that a name is imported from (``name`` is empty for a keyword)."""

    line: int
    old: str
    new: str
    name: str = ""


def certain_renames(fault: Fault) -> tuple[Rename, ...]:
    """The changes that clear a fault at each of its lines, or those parts of it that are in no doubt (``clears``)."""
    bound = fault.bound
    lines = (fault.line, *fault.more)
    if fault.by_body:
        return ()
    if fault.call:
        told = [(old, renamed_keyword(bound.volume, fault.name, old, fault.place)) for old in fault.keywords]
        # Of a call that is refused for what it gives as a whole nothing says which part of it is at fault.
        return (
            tuple(Rename(line, old, new) for line in lines for old, new in told if new)
            if fault.named or all(new for _, new in told)
            else ()
        )
    module, colon, name = fault.name.partition(":")
    new = moved_to(bound, fault) if colon and name.isidentifier() else None
    return tuple(Rename(line, module, new, name) for line in lines) if new else ()


def clears(fault: Fault, renames: Collection[Rename]) -> bool:
    """Whether renames clear all of a fault."""
    return bool(renames) and (not fault.call or {one.old for one in renames}.issuperset(fault.keywords))


def renamed_keyword(volume: Volume, name: str, old: str, place: int) -> str | None:
    """What a release calls a keyword that it no longer takes.

    It came where the other one stood, between the same neighbours; or, as the one new name in a release, with the words of it cut short.
    """
    known_one = known_rename(volume, name, old, place)
    if known_one is not None:
        return known_one
    module, first, rest = split(volume, name)
    told = [read(signature_at(volume, module, first, rest[:1], one)) for one in range(place + 1)]
    now = told[-1]
    for last in range(place - 1, -1, -1):
        before, after = told[last], told[last + 1]
        if now is None or before is None or after is None or old not in before.positional:
            continue
        known = (*before.positional, *before.keywords)
        came = [one for one in (*after.positional, *after.keywords) if one not in known]
        short = [one for one in came if _is_cut(old, one)]
        at = before.positional.index(old)
        new = short[0] if len(short) == 1 else None
        if new is None and after.positional[at : at + 1] and after.positional[at] in came and _in_order(volume, module, first, rest, last):
            around = [[*one.positional[:at], *one.positional[at + 1 : at + 2]] for one in (before, after)]
            new = after.positional[at] if around[0] == around[1] else None
        if new is not None and now.takes(new) and new.startswith(_OPPOSITE) == old.startswith(_OPPOSITE):
            return new
    return None


def _is_cut(old: str, new: str) -> bool:
    """``evaluation_strategy`` and ``eval_strategy``: the same words, of which some are shorter."""
    words = list(zip(old.split("_"), new.split("_"), strict=False))
    same = old.count("_") == new.count("_") and old != new
    return same and all(one == other or (len(other) >= _SHORT and one.startswith(other)) for one, other in words)


def _in_order(volume: Volume, module: str, name: str, rest: tuple[str, ...], place: int) -> bool:
    """Whether parameters are known in their order: the fields of a dataclass are not."""
    found = volume.follow(module, name, place)
    if rest or found is None:
        return bool(rest)
    sheets, _ = lineage(volume, found[0], found[1], place, dynamic=True)
    return not any("dataclass" in words for sheet in sheets for words in sheet.decorators)


def moved_to(bound: Bound, fault: Fault) -> str | None:
    """The public module of a release that has what a name stood for, where one definition alone is called so, before and after."""
    volume = bound.volume
    module, first, rest = split(volume, fault.name)
    if rest or not first:
        return None
    good = [place for place in range(fault.place) if not fault.bad >> place & 1 and volume.provides(module, first).there >> place & 1]
    if not good:
        return None
    was = volume.follow(module, first, good[-1])
    before, now = (definitions(bound, first, place) for place in (good[-1], fault.place))
    if was is None or len(before) != 1 or len(now) != 1:
        return None
    ((home, _), modules), *_ = now.items()
    public = [one for one in modules if not any(part.startswith("_") for part in one.split("."))]
    # What another module imports for itself it may drop with any release.
    handing = [one for one in public if f"{home}.".startswith(f"{one}.")]
    return handing[0] if handing else None
