"""What an installer would take today of what is declared: the newest releases that agree, by the bundled tables alone.

A walk, not a resolution: a package gives way by an older release where another one is left without any, and no choice is gone back over
otherwise. What it cannot settle is left unknown, so that it says less than a resolver would, and it proves nothing: what follows from it
is possible. It is what makes ``numpy``, which no line names, or an open range mean something before anybody asks an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from envdoctor.engine.required_pins import is_of_another_build
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT, Exact, Ranged, exact, parse_package, version_condition
from envdoctor.records import dataclass, field
from envdoctor.world.releases import as_of, release_texts, releases
from envdoctor.world.wheel_pythons import wheels_of

PROJECT = "the project itself"
ELSEWHERE = "not of the index"
_PACKAGE = "packages."
# The Python that a project is most likely run on where it admits several.
_PYTHONS = ("3.11", "3.10", "3.12", "3.9", "3.13", "3.8", "3.7", "3.6", "3.14")
# How often another release of a package is chosen before it is left unknown: packages that bind each other may never settle.
_MOST_CHANGES = 12
# Releases of a package that are looked through for one that agrees with what is declared.
_MOST_TRIED = 60


@dataclass(frozen=True, slots=True)
class Taken:
    """A release that would be taken, and the package that requires it; ``by`` is empty for a declared one."""

    release: Exact
    by: str = ""


def taken(
    facts: Facts,
    constraints: Iterable[str] = (),
    *,
    apart: bool = False,
    elsewhere: Iterable[str] = (),
    projects: Iterable[tuple[str, str]] = (),
) -> Facts:
    """The facts with what an installer would take of declared packages, and of those that they need in their turn.

    ``constraints`` are requirements that narrow and install nothing; ``apart`` says that what a package needs is not looked at.
    ``elsewhere`` are packages that come from a URL, a path or a repository: they are there, in a version that nobody knows.
    ``projects`` are what the files belong to, name and version, and is installed with the rest. Nothing
    is added where the packages are known to be all there are, or where none was declared in a file. Packages whose releases are not
    bundled stay as they are.
    """
    declared = _declared(facts)
    if facts.closed or not declared:
        return facts
    python = _python(facts, declared)
    roots = tuple(sorted((name, f"=={value}" if isinstance(value, Exact) else value.text) for name, value in declared.items()))
    system, machine = facts.text("os") or "linux", facts.text("machine") or "x86_64"
    found = _walk(roots, tuple(sorted(constraints)), python, system, machine, as_of(), apart, tuple(sorted(elsewhere)))
    absent = {name for name in found if facts.value(f"{_PACKAGE}{name}") is ABSENT}
    absent |= {"triton"} if is_of_another_build(facts) else set()
    others = [(name, "*", ELSEWHERE) for name in elsewhere] + [(*project, PROJECT) for project in projects]
    facts = facts.with_facts(
        Fact(f"{_PACKAGE}{name}", parse_package(version), Origin(source))
        for name, version, source in others
        if f"{_PACKAGE}{name}" not in facts
    )
    return facts.with_facts(_fact(name, told, facts) for name, told in found.items() if name not in absent and not _exact(name, facts))


def _exact(name: str, facts: Facts) -> bool:
    return isinstance(facts.value(f"{_PACKAGE}{name}"), Exact)


def _fact(name: str, told: Taken, facts: Facts) -> Fact:
    """Where the release comes from: the line that declares it, or the one of the package that needs it."""
    before = facts.by_name.get(f"{_PACKAGE}{name}") or facts.by_name.get(f"{_PACKAGE}{told.by}")
    source = f"what an installer takes on {as_of()}" if not told.by else f"taken for {told.by} on {as_of()}"
    place = (None, None) if before is None else (before.origin.file, before.origin.line)
    return Fact(f"{_PACKAGE}{name}", told.release, Origin(source, *place))


def _declared(facts: Facts) -> dict[str, Exact | Ranged]:
    """The packages that a file declares."""
    return {
        name.removeprefix(_PACKAGE): fact.value
        for name, fact in facts.by_name.items()
        if name.startswith(_PACKAGE) and isinstance(fact.value, (Exact, Ranged)) and fact.origin.file is not None
    }


def _python(facts: Facts, declared: Mapping[str, Exact | Ranged]) -> str:
    """The stated Python; else the likeliest that the project admits and that the pinned torch, which has wheels alone, is there for."""
    value = facts.value("python")
    if isinstance(value, Exact):
        return ".".join(value.text.split(".")[:2])
    admits = version_condition(value.text).admits if isinstance(value, Ranged) else None
    admitted = [one for one in _PYTHONS if admits is None or admits(exact(f"{one}.5")) or admits(exact(f"{one}.0"))]
    torch = declared.get("torch")
    wheels = wheels_of("torch", torch.text.partition("+")[0]) if isinstance(torch, Exact) else None
    system = facts.text("os") or "linux"
    # On Windows the first releases come from an index of their own, for the same Pythons.
    systems = (system,) if wheels is None or system in {**wheels.minors, **wheels.since} else tuple({**wheels.minors, **wheels.since})
    suited = [one for one in admitted if wheels is not None and any(wheels.suit(int(one[2:]), each) for each in systems)]
    return next(iter((*suited, *admitted)), _PYTHONS[0])


@dataclass(slots=True)
class _Walk:
    """One walk: who asks what of every package, and what was chosen.

    ``asked`` has by package the specifier by its asker (empty for the files themselves). ``firm`` is what files and the releases that
    they pin ask of a package, ``room`` what a package leaves to others besides, since it had to give way.
    """

    roots: Mapping[str, str]
    narrowed: Mapping[str, Sequence[str]]
    python: str
    system: str
    machine: str
    day: str
    apart: bool
    given_up: set[str]
    chosen: dict[str, Exact] = field(default_factory=dict)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    firm: dict[str, tuple[str, ...]] = field(default_factory=dict)
    room: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    _changes: dict[str, int] = field(default_factory=dict)
    _fit: dict[tuple[str, str], bool] = field(default_factory=dict)
    _looked_at: set[tuple[str, frozenset[tuple[str, str]]]] = field(default_factory=set)

    def go(self) -> None:
        """Choose until nothing is left to change; then packages without a release make those that ask for them give way."""
        self.asked = {name: {"": text} for name, text in self.roots.items()}
        self._firmly()
        waiting = dict.fromkeys(self.roots)
        while waiting or (waiting := self._giving_way()):
            now = {name: self._choose(name, self.room.get(name, {})) for name in waiting if name not in self.given_up}
            waiting = {other: None for name, release in now.items() for other in self._put(name, release)}

    def _firmly(self) -> None:
        """What leaves no choice; where that contradicts itself, what came first."""
        self.firm = {name: (text,) for name, text in self.roots.items()}
        for name, texts in self.narrowed.items():
            self._add_firm(name, *texts)
        for name, text in self.roots.items():
            if _is_pin(text):
                for other, specifier in self._needs(name, exact(text[2:])):
                    self._add_firm(other, specifier)

    def _add_firm(self, name: str, *specifiers: str) -> None:
        known = self.firm.get(name, ())
        more = (*known, *(text for text in specifiers if text and text not in known))
        if more != known and _leaves(name, more, self.day):
            self.firm[name] = more

    def _needs(self, name: str, release: Exact) -> tuple[tuple[str, str], ...]:
        return () if self.apart else _needs(name, release.text.partition("+")[0], self.python, self.system, self.machine)

    def _put(self, name: str, release: Exact | None) -> list[str]:
        """Choose a release, or none, and say whom that concerns. What changes again and again is given up."""
        before = self.chosen.pop(name, None)
        if release is not None and before != release:
            self._changes[name] = self._changes.get(name, 0) + 1
            if self._changes[name] > _MOST_CHANGES:
                self.given_up.add(name)
                release = None
        if release is not None:
            self.chosen[name] = release
        if before == release:
            return []
        old = dict(self._needs(name, before)) if before is not None else {}
        new = dict(self._needs(name, release)) if release is not None else {}
        for other in old.keys() - new.keys():
            del self.asked[other][name]
        for other, specifier in new.items():
            self.asked.setdefault(other, {})[name] = specifier
        return [other for other in {**old, **new} if old.get(other) != new.get(other)]

    def _choose(self, name: str, room: Mapping[str, tuple[str, ...]]) -> Exact | None:
        if not self.asked.get(name):
            return None
        specifiers = self._specifiers(name)
        pin = self.roots.get(name, "")
        if _is_pin(pin):
            mine = exact(pin[2:])
            public = exact(mine.text.partition("+")[0])
            wanted = map(version_condition, specifiers)
            return mine if all(one.admits(mine) or one.admits(public) for one in wanted) else None
        fitting = _fitting(name, self.python, specifiers, self.day)
        if room:
            return next((release for release in fitting if self._agrees(name, release, room)), None)
        return next((release for release in fitting if self._fits(name, release)), None)

    def _fits(self, name: str, release: Exact) -> bool:
        key = name, release.text
        if key not in self._fit:
            self._fit[key] = self._agrees(name, release, {})
        return self._fit[key]

    def _agrees(self, name: str, release: Exact, room: Mapping[str, tuple[str, ...]]) -> bool:
        """Whether what the release needs leaves something of what is firm, and of that for which it has to leave room."""
        return all(
            _leaves(other, (*self.firm.get(other, ()), *room.get(other, ()), specifier), self.day)
            for other, specifier in self._needs(name, release)
            if other in self.firm or other in room
        )

    def _giving_way(self) -> dict[str, None]:
        """The package that takes an older release, so that another one of which too much is asked has one; nothing where none can."""
        for name, asked in self.asked.items():
            seen = name, frozenset(asked.items())
            if not asked or name in self.chosen or name in self.given_up or seen in self._looked_at or not release_texts(name):
                continue
            self._looked_at.add(seen)
            ways = []
            for asker, others in self._against(name, asked):
                room = {**self.room.get(asker, {}), name: others}
                release = self._choose(asker, room)
                if release is not None and release != self.chosen.get(asker):
                    ways.append((self._steps(asker, release), asker, room))
            if ways:
                _, asker, room = min(ways, key=lambda way: way[0])
                self.room[asker] = room
                return {asker: None}
        return {}

    def _against(self, name: str, asked: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Those that have a choice among the first that exclude each other, each with what the others of them ask.

        They are looked at from what is firm on, and then from those with the fewest releases to choose from on.
        """
        before: tuple[str, ...] = tuple(filter(None, self.narrowed.get(name, ())))
        passed: dict[str, str] = {}
        for asker in sorted(asked, key=lambda one: (self._freedom(one), one)):
            passed[asker] = asked[asker]
            if not _leaves(name, (*before, *passed.values()), self.day):
                break
        for asker in passed:
            others = (*before, *(text for other, text in passed.items() if other != asker and text))
            if self._freedom(asker) > 1 and _leaves(name, others, self.day):
                yield asker, others

    def _freedom(self, name: str) -> int:
        """How many releases of a package there are to choose from, at most as many as are looked through; 0 where it is firm."""
        if not name or name in self.given_up or _is_pin(self.roots.get(name, "")):
            return 0
        return len(_fitting(name, self.python, self._specifiers(name), self.day))

    def _specifiers(self, name: str) -> tuple[str, ...]:
        return tuple(sorted({text for text in (*self.asked.get(name, {}).values(), *self.narrowed.get(name, ())) if text}))

    def _steps(self, name: str, release: Exact) -> int:
        """How many releases are newer."""
        known = _known(name, self.day)
        return len(known) - known.index(release)

    def found(self) -> dict[str, Taken]:
        """What was chosen of the files' own packages, and of those that are needed by what was chosen, in the order of the needs."""
        by = dict.fromkeys(self.roots, "")
        names = list(by)
        for name in names:
            for other, _ in self._needs(name, self.chosen[name]) if name in self.chosen else ():
                if other not in by:
                    by[other] = name
                    names.append(other)
        return {name: Taken(self.chosen[name], by[name]) for name in names if name in self.chosen}


def _is_pin(specifier: str) -> bool:
    # "==1.20,==1.21" names two releases, and "===1.20" a text.
    return specifier.startswith("==") and not specifier.startswith("===") and not {*"*,|"} & {*specifier}


@lru_cache(maxsize=512)
def _walk(
    roots: tuple[tuple[str, str], ...],
    constraints: tuple[str, ...],
    python: str,
    system: str,
    machine: str,
    day: str,
    apart: bool,
    elsewhere: tuple[str, ...],
) -> Mapping[str, Taken]:
    narrowed: dict[str, list[str]] = {}
    for line in constraints:
        name = line.partition("[")[0]
        end = min((place for place in map(name.find, "=<>!~") if place > 0), default=len(name))
        narrowed.setdefault(name[:end].strip(), []).append(line[end:].partition("]")[2] if "[" in line else line[end:])
    walk = _Walk(dict(roots), narrowed, python, system, machine, day, apart, set(elsewhere))
    walk.go()
    return walk.found()


# What is kept below is told apart by the day up to which releases are known.
@lru_cache(maxsize=8192)
def _leaves(name: str, specifiers: tuple[str, ...], until: str) -> bool:
    """Whether some release satisfies them all; True of a package whose releases are not known."""
    pin = next((text for text in specifiers if _is_pin(text)), None)
    if pin is not None:
        mine, public = exact(pin[2:]), exact(pin[2:].partition("+")[0])
        wanted = [version_condition(text) for text in specifiers if text]
        return not release_texts(name) or all(one.admits(mine) or one.admits(public) for one in wanted)
    return not release_texts(name) or _all(name, specifiers, until) != 0


def _all(name: str, specifiers: Iterable[str], until: str) -> int:
    """The places of the releases that satisfy them all, as the bits of a number."""
    left = -1
    for text in specifiers:
        left &= _admitted(name, text, until) if text else -1
    return left


@lru_cache(maxsize=16384)
def _admitted(name: str, specifier: str, until: str) -> int:
    admits = version_condition(specifier).admits
    return sum(1 << place for place, release in enumerate(_known(name, until)) if admits(release))


@lru_cache(maxsize=1024)
def _known(name: str, until: str) -> tuple[Exact, ...]:
    """All releases, oldest first."""
    return tuple(map(exact, release_texts(name)))


@lru_cache(maxsize=1024)
def _usable(name: str, python: str, until: str) -> int:
    """The places of those that an installer takes under a Python."""
    taken_ = (place for place, one in enumerate(releases(name)) if not one.yanked and _runs_on(one.requires_python, python))
    return sum(1 << place for place in taken_)


@lru_cache(maxsize=8192)
def _fitting(name: str, python: str, specifiers: tuple[str, ...], until: str) -> tuple[Exact, ...]:
    """The newest releases that satisfy them all, newest first; as many as are looked through."""
    left = _usable(name, python, until) & _all(name, specifiers, until)
    found: list[Exact] = []
    while left and len(found) < _MOST_TRIED:
        place = left.bit_length() - 1
        found.append(_known(name, until)[place])
        left ^= 1 << place
    return tuple(found)


@lru_cache(maxsize=4096)
def _runs_on(requires: str | None, python: str) -> bool:
    if requires is None:
        return True
    try:
        return version_condition("".join(requires.split())).admits(exact(f"{python}.99"))
    except ValueError:  # an old release whose requires-python is none
        return True


@lru_cache(maxsize=8192)
def _needs(name: str, version: str, python: str, system: str, machine: str) -> tuple[tuple[str, str], ...]:
    """What a release requires of others here, each with its specifier; nothing of one that is not in the table."""
    from envdoctor.world.dependencies import dependencies

    found: dict[str, str] = {}
    for one in dependencies(name, version, unbound=True) or ():
        if not one.marker or _holds(one.marker, python, system, machine):
            found[one.name] = ",".join(filter(None, (found.get(one.name), one.specifier)))
    return tuple(found.items())


@lru_cache(maxsize=4096)
def _holds(marker: str, python: str, system: str, machine: str) -> bool:
    from envdoctor.world.installation import Installation

    return Installation().on(system, machine).with_python(python).holds(marker)


__all__ = ["ELSEWHERE", "PROJECT", "Taken", "taken"]
