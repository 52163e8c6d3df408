"""Who may have asked for what a release does not have, where no frame was printed: the packages whose releases take it at all.

A sentence alone says what was missing and not who wanted it. The atlas knows which packages take that name without a net; where they are
few, each of them is told with its releases, and so is the nearest of them that takes it no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.guards import UNKNOWN
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import holds, places
from envdoctor.atlas.takes import Take, Takes
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.records import dataclass, replace
from envdoctor.world.dependencies import may_require

# More of them are everybody.
_MOST = 3
# So many stated packages are a whole list: who is not in it did not ask.
_WHOLE_LIST = 12
# Whose code most people run, those first that are nearest to them.
_COMMON = ("transformers", "peft", "trl", "accelerate", "deepspeed", "unsloth", "llamafactory", "axolotl", "ms-swift", "vllm", "diffusers")

# What others bring along: it may have moved unseen, as no framework does that one starts by its name.
_BROUGHT = frozenset(("transformers", "peft", "trl", "accelerate", "diffusers"))


@dataclass(frozen=True, slots=True)
class LikelyCaller:
    """A package that takes the name, the releases that do as a mask over its own, and where the stated one is among them. ``alone``: no
    other one takes it."""

    package: str
    volume: Volume
    asking: int
    stated: str = ""
    alone: bool = True

    def words(self) -> str:
        """``deepspeed 0.5.9-0.8.1``."""
        return f"{self.package} {self.stated or write(self.asking, self.volume.releases)}"

    def pins(self) -> tuple[tuple[str, str], ...]:
        """The releases of it that do not ask: those after, and those before where all that follow do and it is likely to be there."""
        if not (self.alone or self.stated or self.package in _COMMON):
            return ()  # of several that few people have nobody knows which it was
        where = places(self.volume, self.stated) if self.stated else ()
        ways = good_specifiers(self.volume, self.asking, where[-1] if where else self.asking.bit_length() - 1)
        later = [one for one in ways if one.startswith(">=")]
        return tuple((self.package, one) for one in later or (ways if self.stated or self.package in _BROUGHT else ()))


def likely_callers(symbol: str, provider: str, facts: Facts) -> tuple[LikelyCaller, ...]:
    """The packages that take a symbol (``module.name``, ``module``, ``function(keyword)``); none where they are many, or nobody known."""
    name, _, keyword = symbol.replace(":", ".").rstrip(")").partition("(")
    # To open all packages takes longer than all the rest of a diagnosis.
    asked = (one for one in package_names() if one != provider and (one in _COMMON or may_require(one, provider)))
    found = [one for package in asked for one in _asking(package, name, keyword, facts)]
    stated = [one for one in found if one.stated]
    if stated or sum(fact.startswith("packages.") for fact in facts) >= _WHOLE_LIST:
        found = stated
    found.sort(key=lambda one: _COMMON.index(one.package) if one.package in _COMMON else len(_COMMON))
    return tuple(replace(one, alone=len(found) == 1) for one in found) if len(found) <= _MOST else ()


def asks_for(package: str, name: str, facts: Facts) -> bool:
    """Whether some release of a package takes a name (``module.name``) without a net; the stated one, where one is."""
    return any(True for _ in _asking(package, name, "", facts))


def _asking(package: str, name: str, keyword: str, facts: Facts) -> Iterator[LikelyCaller]:
    bound = open_package(package)
    text = None if bound is None else bound.chunk("@@takes")
    word = keyword or name.rpartition(".")[2]
    if text is None or not re.search(rf"(?m)^{'refuses' if keyword else 'bad'} .*\b{re.escape(word)}\b", text):
        return
    told = takes_of(package)
    assert told is not None
    volume, takes = told[0].volume, told[1]
    asking = 0
    for number in (one for numbers in takes.by_module().values() for one in numbers):
        take = takes.take(number)
        if _takes(take, name, keyword) and UNKNOWN not in take.guard.split(" & "):
            asking |= _releases(takes, take, volume)
    value = facts.value(f"packages.{package}")
    # A state between two releases may be that of either.
    between = isinstance(value, Exact) and ".dev" in value.text
    where = places(volume, value.text) if isinstance(value, Exact) and not between else ()
    if asking and (not where or holds(asking, where)):
        yield LikelyCaller(package, volume, asking, value.text if isinstance(value, Exact) and (where or between) else "")


def _takes(take: Take, name: str, keyword: str) -> bool:
    taken = take.name.replace(":", ".")
    if not keyword:
        return not take.call and (taken == name or (":" not in take.name and name == taken) or taken.startswith(f"{name}."))
    # A class is called by whatever module gives it, and by those who derive from it.
    same = taken.partition(".")[0] == name.partition(".")[0]
    return same and taken.removesuffix(".__init__").rpartition(".")[2] == name.rpartition(".")[2] and f"{keyword}=" in take.call.split(",")


def _releases(takes: Takes, take: Take, volume: Volume) -> int:
    mask = 0
    for place in range(len(volume.releases)):
        mask |= 1 << place if takes.line_of(take, place) else 0
    return mask
