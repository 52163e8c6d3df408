"""What the atlas knows of one symbol: since when, until when, where it went, and who takes it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.callables import fields_of, has_member
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.missing import given_to, is_unread, signature_at, split
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.signatures import Call, read
from envdoctor.atlas.volume import Presence, Volume
from envdoctor.records import dataclass

_MOST = 6
_ALIKE, _APART = 0.6, 0.1
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*(?:\(\w*=?\))?")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a symbol: the releases that have it, those that do not, and those of which that cannot be said, as positions."""

    symbol: str
    package: str
    kind: str
    there: int
    gone: int
    signature: str = ""


def owner_of(name: str) -> Bound | None:
    """The package that a full name belongs to."""
    from envdoctor.atlas.distributions import distributions_of, top_of, tops_of

    top = top_of(name.partition("(")[0])
    for candidate in (top.replace("_", "-").lower(), *distributions_of(top)):
        bound = open_package(candidate)
        if bound is not None and top in tops_of(candidate, bound.volume.tops):
            return bound
    return None


def answer(symbol: str) -> Answer | None:
    """What is known of ``package.module.Name``, ``package.Class.member`` or ``package.function(keyword)``; None of an unread package."""
    bound = owner_of(symbol)
    return None if bound is None or _SYMBOL.fullmatch(symbol) is None else symbol_of(bound.volume, symbol)


def symbol_of(volume: Volume, symbol: str) -> Answer:
    """What the releases of a package say of a symbol."""
    name, parenthesis, keyword = symbol.rstrip(")").partition("(")
    keyword = keyword.rstrip("=")
    if parenthesis and keyword:
        if ":" not in name and not split(volume, name)[1]:  # a module of old releases has that name: ``huggingface_hub.snapshot_download``
            name = ":".join(name.rsplit(".", 1))
        return _of_keyword(volume, symbol, name, keyword)
    module, first, rest = split(volume, name)
    if is_unread(volume, name):
        return Answer(symbol, volume.name, "name", 0, 0)
    if not first:
        there = volume.has_module(module)
        parent, _, last = module.rpartition(".")
        given = volume.provides(parent, last) if parent else Presence(there, volume.all & ~there)
        if not given.there & ~there:
            return Answer(symbol, volume.name, "module", there, volume.all & ~there)
        module, first = parent, last  # a function of releases that have no module of its name: evaluate.load
    presence = volume.provides(module, first)
    if rest:
        return _of_member(volume, symbol, module, first, rest[0], presence)
    kind = _kind(volume, module, first, presence.there)
    newest = stretches(presence.there)
    told = signature_at(volume, module, first, (), newest[-1][1]) if newest and kind in ("class", "function") else ""
    return Answer(symbol, volume.name, kind, presence.there, presence.gone, "" if told == "~" else told)


def _kind(volume: Volume, module: str, name: str, there: int) -> str:
    for _, last in reversed(stretches(there)):
        found = volume.follow(module, name, last)
        chunk = volume.chunk(found[0]) if found is not None else None
        if found is not None and chunk is not None:
            return "class" if found[1] in chunk.classes else "function" if found[1] in chunk.functions else "name"
    return "name"


def _of_member(volume: Volume, symbol: str, module: str, name: str, member: str, presence: Presence) -> Answer:
    there = gone = 0
    for first, last in stretches(presence.there):
        for place in range(first, last + 1):
            found = volume.follow(module, name, place)
            told = None if found is None else has_member(volume, found[0], found[1], member, place)
            if told is True:
                there |= 1 << place
            elif told is False:
                gone |= 1 << place
    return Answer(symbol, volume.name, "member", there, gone | presence.gone)


def _of_keyword(volume: Volume, symbol: str, name: str, keyword: str) -> Answer:
    module, first, rest = split(volume, name)
    presence = volume.provides(module, first)
    there = gone = 0
    for start, end in stretches(presence.there):
        for place in range(start, end + 1):
            told = read(signature_at(volume, module, first, rest[:1], place))
            if told is None or (told.any_keyword and keyword not in (*told.positional, *told.keywords)):
                continue
            taken = told.takes(given_to(volume, told, Call(0, (keyword,), False), place).keywords[0])
            there, gone = (there | 1 << place, gone) if taken else (there, gone | 1 << place)
    # What a base of another package takes is not known here; what the class has of its own is.
    own = 0 if rest else fields_of(volume, module, first, keyword)[0]
    return Answer(symbol, volume.name, "argument", there | own, (gone | presence.gone) & ~own)


# --- where it went -------------------------------------------------------------------------------------


def new_places(bound: Bound, name: str, place: int) -> list[str]:
    """The modules of a release that define a class or a function of this name, those that people import from first."""
    found = []
    pattern = re.compile(rf"(?m)^(?:c {re.escape(name)}|f {re.escape(name)} .*|i {re.escape(name)} .*|l {re.escape(name)} .*)(?:\t.*)?$")
    for module, text in bound.modules(name):
        if pattern.search(text) and bound.volume.provides(module, name).there >> place & 1:
            found.append(module)
    return sorted(found, key=lambda module: (any(part.startswith("_") for part in module.split(".")), module.count("."), len(module)))[
        :_MOST
    ]


def definitions(bound: Bound, name: str, place: int) -> dict[tuple[str, str], list[str]]:
    """The definitions that go by a name in a release, each with the modules that give it; nothing where there may be more."""
    places = new_places(bound, name, place)
    found: dict[tuple[str, str], list[str]] = {}
    for module in places if len(places) < _MOST else ():
        target = bound.volume.follow(module, name, place)
        if target is None:
            return {}
        found.setdefault(target, []).append(module)
    return found


def new_keyword(volume: Volume, name: str, keyword: str, place: int) -> str | None:
    """What a keyword is called in a release that no longer takes it: the one that came when it went, where that is one, or alike."""
    module, first, rest = split(volume, name)
    now = read(signature_at(volume, module, first, rest[:1], place))
    if now is None or keyword in (*now.positional, *now.keywords):
        return None
    came: list[str] = []
    last = None
    for earlier in range(place - 1, -1, -1):
        told = read(signature_at(volume, module, first, rest[:1], earlier))
        if told is None or keyword not in (*told.positional, *told.keywords):
            continue
        last = last or told
        came = [one for one in (*now.positional, *now.keywords) if one not in (*told.positional, *told.keywords)]
        if keyword in told.positional:
            at = told.positional.index(keyword)
            # What took its place among the parameters, which keeps calls by position as they were; not what stood after it and moved up.
            taker = now.positional[at] if at < len(now.positional) else ""
            if taker in came and told.positional[:at] == now.positional[:at] and (keyword, taker) not in pairwise(last.positional):
                return taker
            # Between the same neighbours, where others came elsewhere in the row.
            if 0 < at < len(told.positional) - 1 and {told.positional[at - 1], told.positional[at + 1]} <= set(now.positional):
                left, right = now.positional.index(told.positional[at - 1]), now.positional.index(told.positional[at + 1])
                between = now.positional[left + 1] if right == left + 2 else ""
                if between in came and SequenceMatcher(None, between, keyword).ratio() >= _ALIKE:
                    return between
    alike = sorted(((SequenceMatcher(None, one, keyword).ratio(), one) for one in came), reverse=True)[:2]
    # Of two that are alike nobody knows which one is meant: ``dataset``, where ``train_dataset`` and ``eval_dataset`` came.
    clear = bool(alike) and alike[0][0] >= _ALIKE and (len(alike) == 1 or alike[0][0] - alike[1][0] >= _APART)
    return alike[0][1] if clear else None


def nearest(symbol: str) -> list[str]:
    """Symbols that are written almost so, in the same module."""
    bound = owner_of(symbol)
    if bound is None:
        top = re.split(r"[.:(]", symbol, maxsplit=1)[0].replace("_", "-").lower()
        return get_close_matches(top, package_names(), 3, 0.7)
    module, first, _ = split(bound.volume, symbol.partition("(")[0])
    chunk = bound.volume.chunk(module)
    names = [] if chunk is None else [*chunk.names, *chunk.functions, *chunk.classes, *chunk.links]
    return [f"{module}.{one}" for one in get_close_matches(first, list(dict.fromkeys(names)), 3, 0.65)]


def taken_by(name: str) -> list[str]:
    """The packages that take a name whose releases come and go."""
    wanted = name.replace(":", ".")
    found = []
    for package in package_names():
        bound = open_package(package)
        text = None if bound is None else bound.chunk("@@takes")
        if text and wanted.rpartition(".")[2] in text:
            for line in text.split("\n"):
                if line.startswith(("bad ", "refuses ")) and line.split(" ", 2)[1].replace(":", ".") == wanted:
                    found.append(package)
                    break
    return found
