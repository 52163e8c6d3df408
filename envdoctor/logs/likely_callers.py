"""Who may have asked for what a release does not have, where no frame was printed: the packages whose releases take it at all.

A sentence alone says what was missing and not who wanted it. The atlas knows which packages take that name without a net; where they are
few, each of them is told with its releases, and so is the nearest of them that takes it no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.distributions import tops_of
from envdoctor.atlas.guards import UNKNOWN
from envdoctor.atlas.masks import write
from envdoctor.atlas.reading import MODULE_ONLY
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import holds, places
from envdoctor.atlas.takes import Take, Takes
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.records import dataclass, replace
from envdoctor.world.dependencies import dependencies, may_require
from envdoctor.world.releases import release_texts

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
    other one takes it. ``at_import``: the import of the package itself leads there.
    ``among``: many others take it too. ``conditional``: it takes it for some releases of the provider alone, so that another release of
    it takes the same."""

    package: str
    volume: Volume
    asking: int
    stated: str = ""
    alone: bool = True
    at_import: bool = False
    among: bool = False
    conditional: bool = False

    def words(self) -> str:
        """``deepspeed 0.5.9-0.8.1``."""
        return f"{self.package} {self.stated or write(self.asking, self.volume.releases)}"

    def pins(self) -> tuple[tuple[str, str], ...]:
        """The releases of it that do not ask: those after, and those before where all that follow do and it is likely to be there."""
        if self.conditional or not (self.alone or self.stated or self.package in (_BROUGHT if self.among else _COMMON)):
            return ()  # of several that few people have nobody knows which it was
        where = places(self.volume, self.stated) if self.stated else ()
        ways = good_specifiers(self.volume, self.asking, where[-1] if where else self.asking.bit_length() - 1)
        ways = [one for one in ways if any(admits(one, text) for text in (*release_texts(self.package), *self.volume.releases))]
        later = [one for one in ways if one.startswith(">=")]
        return tuple((self.package, one) for one in later or (ways if self.stated or self.package in _BROUGHT else ()))


def likely_callers(symbol: str, provider: str, facts: Facts) -> tuple[LikelyCaller, ...]:
    """The packages that take a symbol (``module.name``, ``module``, ``function(keyword)``); none where they are many, or nobody known."""
    name, _, keyword = symbol.replace(":", ".").rstrip(")").partition("(")
    # To open all packages takes longer than all the rest of a diagnosis.
    asked = [one for one in package_names() if one != provider and (one in _COMMON or may_require(one, provider))]
    found = _beside(provider, facts, (one for package in asked for one in _asking(package, name, keyword, facts)))
    if not found and not keyword:
        # Who asks for a package only where it happens to be there does not require it: bitsandbytes and triton.
        others = (one for one in package_names() if one != provider and one not in asked)
        found = _beside(provider, facts, (one for package in others for one in _asking(package, name, keyword, facts) if one.at_import))
    if any(one.at_import for one in found):
        found = [one for one in found if one.at_import]
    stated = [one for one in found if one.stated]
    if stated or sum(fact.startswith("packages.") for fact in facts) >= _WHOLE_LIST:
        found = stated
    found.sort(key=lambda one: _COMMON.index(one.package) if one.package in _COMMON else len(_COMMON))
    if len(found) > _MOST:
        # Of many those are told that most people run, where these are few.
        common = [one for one in found if one.package in _COMMON]
        return tuple(replace(one, alone=False, among=True) for one in common) if 0 < len(common) <= _MOST else ()
    return tuple(replace(one, alone=len(found) == 1) for one in found)


def _beside(provider: str, facts: Facts, found: Iterator[LikelyCaller]) -> list[LikelyCaller]:
    """Those of which a release that asks admits the stated release of the provider: vllm 0.10 is not there beside torch 2.0."""
    stated = facts.value(f"packages.{provider}")
    if not isinstance(stated, Exact):
        return list(found)
    kept = []
    for one in found:
        releases = one.volume.releases
        mask = sum(1 << at for at in range(len(releases)) if one.asking >> at & 1 and _admits(one.package, releases[at], provider, stated))
        if mask or one.stated:
            kept.append(one if one.stated else replace(one, asking=mask))
    return kept


def _admits(package: str, release: str, provider: str, stated: Exact) -> bool:
    asked = (one.specifier for one in dependencies(package, release) or () if one.name == provider and one.specifier and not one.marker)
    return all(admits(spec, stated) is not False for spec in asked)


def asks_for(package: str, name: str, facts: Facts) -> bool:
    """Whether some release of a package takes a name (``module.name``) without a net; the stated one, where one is."""
    return any(True for _ in _asking(package, name, "", facts))


def _asking(package: str, name: str, keyword: str, facts: Facts) -> Iterator[LikelyCaller]:
    bound = open_package(package)
    text = None if bound is None else bound.chunk("@@takes")
    word = keyword or name.rpartition(".")[2]
    told = None if text is None else takes_of(package)
    if text is None or told is None:
        return
    volume, takes = told[0].volume, told[1]
    asking = 0 if keyword else _handed_on(takes, name)
    at_import, conditional = asking != 0, False
    if re.search(rf"(?m)^{'refuses' if keyword else 'bad'} .*\b{re.escape(word)}\b", text):
        numbers = [
            one
            for several in takes.by_module().values()
            for one in several
            if _takes(take := takes.take(one), name, keyword) and not _is_saved(take, name)
        ]
        loaded = _loaded(takes, told[0], numbers)
        at_import = at_import or bool(loaded)
        tests = re.compile(rf"(?:^| ){re.escape(name.partition('.')[0])}[<>=!]")
        conditional = not asking and bool(numbers) and all(tests.search(takes.take(one).guard) for one in numbers)
        for number in numbers:
            asking |= _releases(takes, takes.take(number), volume)
    value = facts.value(f"packages.{package}")
    # A state between two releases may be that of either.
    between = isinstance(value, Exact) and ".dev" in value.text
    where = places(volume, value.text) if isinstance(value, Exact) and not between else ()
    if asking and (not where or holds(asking, where)):
        release = value.text if isinstance(value, Exact) and (where or between) else ""
        yield LikelyCaller(package, volume, asking, release, at_import=at_import, conditional=conditional)


def _is_saved(take: Take, name: str) -> bool:
    """Whether what stands over it catches its absence; ``except ModuleNotFoundError`` that of a module alone."""
    guard = take.guard.split(" & ")
    named = ":" in take.name and take.name.replace(":", ".") == name
    return UNKNOWN in guard or (MODULE_ONLY in guard and not named)


def _loaded(takes: Takes, bound: Bound, numbers: Sequence[int]) -> list[int]:
    """Those of the takes to which the import of the package itself leads."""
    if not numbers:
        return []
    reached = {one.take for top in tops_of(bound.volume.name, bound.volume.tops) for one in takes.entry(top) or () if one.kind == "take"}
    return [one for one in numbers if one in reached]


def _handed_on(takes: Takes, name: str) -> int:
    """The releases that import a name which all releases of its package seemed to have when they were read."""
    module, _, last = name.rpartition(".")
    line = re.compile(rf"(?m)^\+ {re.escape(module)}[:.]{re.escape(last)} (?P<spans>\S+)(?: (?P<guard>.+))?$")
    mask = 0
    for page in takes.pages() if module else ():
        for found in line.finditer(page):
            if UNKNOWN not in (found["guard"] or "").split(" & "):
                mask |= takes.mask_of(found["spans"])
    return mask


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
