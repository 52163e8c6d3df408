"""Which packages say what an error says: since which release, in which function, under which condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.atlas.masks import write
from envdoctor.atlas.messages import Message, plain
from envdoctor.atlas.shelf import open_messages, open_package, speaking_packages
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OFTEN
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of

# A text this long is nobody else's: it needs no frame to be known by.
_TELLING = 40
_LONGEST = 1200
_MOST = 3
SAID = "error-said-by-package"
_GONE = re.compile(r"\b(?:has been|have been|was|were) (?:re)?moved|no longer|not supported anymore|has been renamed", re.IGNORECASE)
# What torch says is of what it was given: the finding is the caller's. What these functions say is the text of another error.
_OF_OTHERS = frozenset(("torch",))
_PASSED_ON = frozenset(("__getattr__", "_get_module"))
# So much of a text is nobody else's, also where no frame tells who raised it.
_CERTAIN = 40
# What so many packages say is a way of speaking.
_ANYBODYS = 5
# And so much of one that two packages have, of which one took it from the other.
_COPIED = 80
# And so much of one that names its package.
_NAMED = 30


@dataclass(frozen=True, slots=True)
class Saying:
    """A message, and the releases of its package that say it (``exact``: at the line of the innermost frame; ``here``: in its module).

    ``alike`` is how many letters of it the text shows.
    """

    message: Message
    releases: int
    exact: bool
    here: bool
    alike: int


def sayings(failure: Failure, facts: Facts) -> list[Saying]:
    """Who says an error, the likeliest first; two packages that say the same are both there. What a stated release refutes is not."""
    words = plain(failure.message)[:_LONGEST]
    near = {package_of(name) for name in failure.packages} | (_words(failure) & set(speaking_packages()) - _OF_OTHERS)
    frame = next((frame for frame in reversed(failure.frames) if frame.package), None)
    found: list[tuple[tuple[bool, bool, bool, int], Saying]] = []
    for package in sorted(speaking_packages(), key=lambda name: name not in near):
        if package not in near and any(one.here for _, one in found):
            break  # said in the very module of the frame: nobody else was it
        book, bound = open_messages(package), open_package(package)
        if book is None or bound is None:
            continue
        stated = facts.value(f"packages.{package}")
        known = package in near or isinstance(stated, Exact)
        where = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
        for alike, message in book.find(words):
            here = frame is not None and frame.module == message.module
            at_line = message.releases(bound.volume.places, frame.line) if here and frame is not None and frame.line else 0
            releases = at_line or message.releases(bound.volume.places)
            if (known or alike >= _TELLING) and not (where and not any(releases >> one & 1 for one in where)):
                rank = (here, package in near, message.kind == failure.kind, alike)
                found.append((rank, Saying(message, releases, bool(at_line), here, alike)))
    if not found:
        return []
    found.sort(key=lambda item: item[0], reverse=True)
    best = found[0][0]
    return [one for rank, one in found if rank[:2] == best[:2] and rank[3] >= best[3] * 0.8][: 4 * _MOST]


def judge_saying(failure: Failure, facts: Facts) -> Hit | None:
    """The finding that one package says an error, where that is certain: its module is the innermost frame's, or the text is long."""
    said = sayings(failure, facts)
    found = [
        one
        for one in said
        if (one.message.kind == failure.kind or not failure.kind)
        and one.message.package not in _OF_OTHERS
        and one.message.where.rpartition(".")[2] not in _PASSED_ON
    ]
    packages = {one.message.package for one in said}
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    named = bool(packages) and next(iter(packages)) in _words(failure)
    least = _NAMED if named else _CERTAIN
    if len(packages) > 1:
        least = _COPIED
    certain = any(one.here for one in found) or (bool(found) and found[0].alike >= least and raised in ("", *packages))
    if not found or not 0 < len(packages) < _ANYBODYS or not certain:
        return None
    told = list(_sentences(said, facts))
    package = next((name for name in OFTEN if name in packages), found[0].message.package)
    where = next(one.message for one in found if one.message.package == package)
    pins = tuple((package, one) for one in _before(package, [one for one in said if one.message.package == package], facts))
    edge = f"{package}:{where.module}:{where.where}"[:160]
    return Hit(SAID, True, (), detail="; ".join(told[:2]), packages=(package, *sorted(packages - {package}))[:2], pins=pins, edge=edge)


def _words(failure: Failure) -> set[str]:
    return {canonical(word) for word in re.findall(r"[A-Za-z][\w-]{2,40}", failure.message[:_LONGEST])}


def _before(package: str, said: Sequence[Saying], facts: Facts) -> Sequence[str]:
    """The releases that still had what a message says is gone."""
    bound = open_package(package)
    if bound is None or not any(_GONE.search(one.message.text) for one in said):
        return ()
    mask = 0
    for one in said:
        mask |= one.message.releases(bound.volume.places)
    stated = facts.value(f"packages.{package}")
    where = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
    first = next((place for place in range(len(bound.volume.releases)) if mask >> place & 1), 0)
    # Of the releases between the last that was read without it and the first with it nobody knows.
    return (f"<={bound.volume.releases[first - 1]}",) if first and not (where and min(where) < first) else ()


def tell_sayings(failure: Failure, facts: Facts) -> Iterator[str]:
    """The same in sentences, one for each function that says it."""
    yield from _sentences(sayings(failure, facts), facts)


def _sentences(said: Sequence[Saying], facts: Facts) -> Iterator[str]:
    told: dict[tuple[str, str, str], int] = {}
    conditions: dict[tuple[str, str, str], str] = {}
    for one in said:
        key = (one.message.package, one.message.module, one.message.where)
        told[key] = told.get(key, 0) | one.releases
        conditions[key] = conditions.get(key) or one.message.condition
    for (package, module, where), mask in list(told.items())[:_MOST]:
        bound = open_package(package)
        assert bound is not None
        stated = facts.value(f"packages.{package}")
        at = places(bound.volume, stated.text) if isinstance(stated, Exact) else ()
        among = f", {stated.text} among them" if isinstance(stated, Exact) and holds(mask, at) else ""
        condition = conditions[package, module, where]
        why = f", where {condition}" if condition else ""
        place = f"{module}:{where}" if where else module
        yield f"{package} says this in {place}{why}; releases {write(mask, bound.volume.releases)}{among}"
    placed = [one for one in said if one.exact]
    if placed and (bound := open_package(placed[0].message.package)) is not None:
        mask = 0
        for one in placed:
            mask |= one.releases if one.message.package == bound.volume.name else 0
        if mask != bound.volume.all:
            yield f"this traceback is of {bound.volume.name} {write(mask, bound.volume.releases)}: there this stands in that line"
