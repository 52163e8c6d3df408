"""What breaks in a stack when its packages are imported: takes of one release that another does not have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter

from envdoctor.atlas.asked_here import is_asked
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.decisions import decide
from envdoctor.atlas.distributions import distributions_of, may_bring, top_of, tops_of
from envdoctor.atlas.guards import BRANCH, joined
from envdoctor.atlas.masks import read
from envdoctor.atlas.reach import reach
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import plain_call
from envdoctor.atlas.stack import Stack, holds, places, standing
from envdoctor.atlas.takes import Reached, Take, Takes, module_at
from envdoctor.records import dataclass
from envdoctor.world.dependencies import Dependency, dependencies

_MOST_ENTRIES = 2_000
# Their names are handed on from module to module when they are asked for: which modules that loads is followed anew.
_HAND_ON = frozenset(("diffusers",))
# They bring what they import in folders of their own, put on the path as they are loaded.
_VENDORING = frozenset(("setuptools", "pip"))
# What everyone takes of a package that gives it on request: the import of the package alone shows nothing.
_ALWAYS_TAKEN = {"pydantic": ("pydantic:BaseModel",)}
# What runs at once where a module takes this of a package: it makes a class of it, and the package's function builds that class.
_RUN_BY = {"pydantic.BaseModel": (("pydantic/_internal/_generate_schema.py", "GenerateSchema._model_schema"),)}


@dataclass(frozen=True, slots=True)
class Break:
    """``package`` of a release takes ``name`` of ``provider``, which does not have it.

    ``entry`` is the import at which it is reached, and ``root`` the package whose import leads there. ``bad`` are the releases of the
    provider without it, by the places of its volume. ``certain``: no condition over it is unknown.
    ``wanted`` is what the release requires of a provider that is not there, or of one that is there in another release, where the break
    is that of a neighbouring release; ``at`` is the place that the provider is taken for then.
    """

    package: str
    provider: str
    name: str
    call: str
    path: str
    line: int
    entry: str
    root: str
    certain: bool
    bad: int = 0
    wanted: str = ""
    at: int = -1

    @property
    def edge(self) -> str:
        """By what ignore lists, baselines and explain know it: ``peft:transformers.HybridCache``."""
        return f"{self.package}:{self.name.replace(':', '.')}{f'({plain_call(self.call)})' if self.call else ''}"


@lru_cache(maxsize=512)
def takes_of(name: str) -> tuple[Bound, Takes] | None:
    """A package of the atlas and its takes."""
    bound = open_package(name)
    return None if bound is None else (bound, Takes(bound))


def import_breaks(
    stack: Stack, entries: Iterable[tuple[str, str]] = (), taken_for: Mapping[str, tuple[int, ...]] | None = None
) -> Iterator[Break]:
    """What breaks when every package of a stack but the idle ones is imported, and these imports besides (package, ``module:name``).

    ``taken_for`` are packages that are judged as if they were of other releases.
    """
    owners = _owners(stack)
    where = {package: places(bound.volume, stack.releases[package]) for package in owners.values() if (bound := open_package(package))}
    where.update(taken_for or {})
    offered = {package: _standing(package, stack.releases[package]) for package in where} | dict(taken_for or {})
    waiting: list[tuple[str, str, str]] = []
    for package in where:
        found = None if package in _VENDORING or package in stack.idle else takes_of(package)
        if found is not None:
            tops = (*tops_of(package, found[0].volume.tops), *_ALWAYS_TAKEN.get(package, ()))
            waiting += [(package, top, package) for top in tops]
    waiting += [(package, entry, "") for package, entry in entries]
    seen: set[tuple[str, str]] = set()
    # The lines of a package's entries are shared: one that was followed leads nowhere new from another entry.
    settled: set[Crossing] = set()
    run: set[str] = set()
    runs_well: set[str] = set()
    decided: dict[tuple[str, bool], bool | None] = {}
    for package, entry, root in waiting:  # it grows as imports are followed
        if package not in where or (package, entry) in seen:
            continue
        if len(seen) == _MOST_ENTRIES:
            return
        seen.add((package, entry))
        groups, crossings = _lines(package, entry, where[package], bool(root))
        lacking: list[tuple[int, str, Line]] = []
        for group in groups:
            provider = owners.get(group.top)
            if provider is not None and holds(_any_bad(provider, group), offered[provider]):
                lacking += [(one.place, provider, one) for one in group.lines if holds(_mask(provider, one.take.bad), offered[provider])]
        for _, provider, line in sorted(lacking, key=itemgetter(0)):
            yield from _broken(stack, package, provider, line, {**where, provider: offered[provider]}, entry, root)
        for crossing in () if settled.issuperset(crossings) else crossings:
            if crossing in settled:
                continue
            settled.add(crossing)
            provider = owners.get(crossing.top)
            if crossing.guard:
                asked = (crossing.guard, provider is None)
                if asked not in decided:
                    decided[asked] = decide(crossing.guard, stack, moduleless=provider is None)
                if not decided[asked]:
                    continue
            if provider is not None:
                if (provider, crossing.name) not in seen:
                    waiting.append((provider, crossing.name, root or package))
                name = crossing.runs
                if name and provider != package and name not in run and name not in runs_well:
                    lost = tuple(_run(stack, provider, owners, where, name, root or package))
                    if not lost:
                        runs_well.add(name)
                    elif derives(package, name):
                        run.add(name)
                        yield from lost
            elif stack.closed:
                needed = _needed(package, stack, crossing.top)
                if needed is not None:
                    settled.discard(crossing)  # it is told of every entry
                    path, _, number = crossing.place.rpartition(":")
                    yield Break(package, needed.name, crossing.top, "", path, int(number or 0), entry, root, True, wanted=needed.specifier)


@dataclass(frozen=True, slots=True)
class Line:
    """Something that an import takes in one release, with its place among all that it takes."""

    place: int
    take: Take
    guard: str


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """What an import takes under one top module, told by identity: a reader keeps it."""

    top: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """An import of another package that an import leads to, and where it stands, as far as that is known; ``runs`` is its name where
    functions run at once for who takes it. It is told by identity: a line of the atlas is read once for a release."""

    top: str
    name: str
    guard: str
    place: str
    runs: str


@lru_cache(maxsize=16_384)
def _lines(package: str, entry: str, where: tuple[int, ...], rooted: bool) -> tuple[tuple[Group, ...], tuple[Crossing, ...]]:
    """What an import of a release takes and crosses to: pins are proposed by the hundred, and most packages stay as they are."""
    found = takes_of(package)
    if found is None or not where:
        return (), ()
    takes = found[1]
    numbers = takes.numbers(entry)
    rows: list[tuple[str, Line | Crossing] | None] = []
    if numbers is not None:
        kept = _kept_rows(package, where)
        for number in numbers:
            if number not in kept:
                kept[number] = _row(takes, number, *takes.parsed(number), where)
        rows = [kept[number] for number in numbers]
    if numbers is None or (package in _HAND_ON and ":" in entry):  # what the import of the package itself loads was followed from there
        reached = () if rooted else _followed_in_all(package, entry, where)
        rows += [_row(takes, number, str(one.take), one.name, one.mask, one.guard, one.place, where) for number, one in enumerate(reached)]
    lines: dict[str, list[Line]] = {}
    crossings: list[Crossing] = []
    for row in rows:
        if row is None:
            continue
        top, one = row
        if isinstance(one, Line):
            lines.setdefault(top, []).append(one)
        else:
            crossings.append(one)
    return tuple(Group(top, tuple(some)) for top, some in lines.items()), tuple(crossings)


def _followed_in_all(package: str, entry: str, where: tuple[int, ...]) -> tuple[Reached, ...]:
    """What an import leads to in each of the releases by which one is judged: of one that was not read, in both beside it."""
    last, *others = (followed(package, entry, place) for place in reversed(where))
    common = [{one.take for one in some} for some in others]
    return tuple(one for one in last if all(one.take in some for some in common))


@lru_cache(maxsize=4096)
def _kept_rows(package: str, where: tuple[int, ...]) -> dict[int, tuple[str, Line | Crossing] | None]:
    """The lines of a release's entries that were read, by their numbers: most stand in many entries."""
    return {}


def _row(
    takes: Takes, number: int, kind: str, name: str, mask: int, guard: str, place: str, where: tuple[int, ...]
) -> tuple[str, Line | Crossing] | None:
    """A line of an entry in a release; None where it is not in it."""
    if not holds(mask, where):
        return None
    if kind.isdigit():
        take = takes.take(int(kind))
        # A stub tells what a compiled module is like, and no import runs it.
        return None if take.path.endswith(".pyi") else (top_of(take.name), Line(number, take, guard))
    top = top_of(name)
    full = name.replace(":", ".")
    return top, Crossing(top, name, guard, place, full if full in _RUN_BY else "")


@lru_cache(maxsize=65_536)
def _any_bad(provider: str, group: Group) -> int:
    """The releases of a provider that lack something of a group: a package takes much, and most of it is there."""
    bad = 0
    for line in group.lines:
        bad |= _mask(provider, line.take.bad)
    return bad


@lru_cache(maxsize=65_536)
def _mask(provider: str, text: str) -> int:
    """The releases of a provider that a text names; none where it names them all: what no release ever had lies where nobody read."""
    bound = open_package(provider)
    if bound is None:
        return 0
    found = read(text, bound.volume.places)
    return found if bound.volume.all & ~found else 0


def _needed(package: str, stack: Stack, top: str) -> Dependency | None:
    """What an import asks for, where the release requires it, and a complete stack does not hold it.

    What a release does not require it may ask for in ways that no test of its source shows to be safe: nothing is said of that.
    """
    names = distributions_of(top)
    if any(one in stack.releases for one in names):
        return None
    required = dependencies(package, stack.releases[package].partition("+")[0], unbound=True) or ()
    return next((one for one in required if one.name in names and is_asked(one.marker, stack.python, stack.system)), None)


@lru_cache(maxsize=4096)
def followed(package: str, entry: str, place: int) -> tuple[Reached, ...]:
    """What an import leads to that the atlas did not follow when it was made."""
    found = takes_of(package)
    if found is None or not found[0].volume.has_module(entry.partition(":")[0]) >> place & 1:
        return ()
    bound, takes = found
    by_module = takes.by_module()
    lines = []
    for module, guard in reach(bound.volume, [entry], place).items():
        for number in by_module.get(module, ()):
            take = takes.take(number)
            if not take.where and takes.line_of(take, place):
                lines.append(Reached("take", "", number, bound.volume.all, joined(guard, take.guard)))
    return tuple(lines)


def _broken(
    stack: Stack, package: str, provider: str, line: Line, where: Mapping[str, tuple[int, ...]], entry: str, root: str
) -> Iterator[Break]:
    take = line.take
    found, bound = takes_of(package), open_package(provider)
    assert found is not None
    assert bound is not None
    module, colon, _ = take.name.partition(":")
    moduleless = not colon or not holds(bound.volume.has_module(module), where[provider])
    if moduleless and may_bring(take.name, stack):
        return
    told = decide(line.guard, stack, moduleless=moduleless)
    if told is not False:
        number = found[1].line_of(take, where[package][-1])
        bad = _mask(provider, take.bad)
        yield Break(package, provider, take.name, take.call, take.path, number, entry, root, told is True, bad)


def _standing(package: str, release: str) -> tuple[int, ...]:
    """The releases by which what one offers is judged: that of its own minor, where one alone of its neighbours is of it."""
    bound = open_package(package)
    return () if bound is None else standing(bound.volume, release)


@lru_cache(maxsize=256)
def derives(package: str, name: str) -> bool:
    """Whether a package makes classes of one that it takes: to ask ``isinstance`` of it builds nothing."""
    bound = open_package(package)
    link = ":".join(name.rsplit(".", 1))
    return bound is not None and any(re.search(rf"(?m)^ b (?:\S+ )*{re.escape(link)}\b", text) for _, text in bound.modules(link))


def _run(
    stack: Stack, package: str, owners: Mapping[str, str], where: Mapping[str, tuple[int, ...]], entry: str, root: str
) -> Iterator[Break]:
    """What the functions take that run where a module takes something of a package."""
    found = takes_of(package)
    for path, function in () if found is None else _RUN_BY[entry]:
        assert found is not None
        for number in found[1].by_module().get(module_at(path), ()):
            take = found[1].take(number)
            provider = owners.get(top_of(take.name))
            if take.where != function or provider is None or not holds(_mask(provider, take.bad), where[provider]):
                continue
            if where[package] and all(found[1].line_of(take, place) for place in where[package]):
                # Which way the function goes is known: what it does for a class like any other.
                guard = joined(*(atom for atom in take.guard.split(" & ") if atom != BRANCH))
                yield from _broken(stack, package, provider, Line(number, take, guard), where, entry, root)


def provider_of(name: str, stack: Stack) -> str | None:
    """The package of a stack that has the modules under a full name."""
    return _owners(stack).get(top_of(name))


def _owners(stack: Stack) -> Mapping[str, str]:
    """The packages of a stack that the atlas has, by the modules that they bring."""
    return _owners_among(tuple(sorted(stack.releases)))


@lru_cache(maxsize=1024)
def _owners_among(packages: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for package in packages:
        bound = open_package(package)
        for top in () if bound is None else tops_of(package, bound.volume.tops):
            if package in (top.replace("_", "-").lower(), *distributions_of(top)):
                found[top] = package
    return found
