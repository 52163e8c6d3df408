"""Facts about one situation, each with the place it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from envdoctor.facts.versions import ABSENT, PackageValue
from envdoctor.records import dataclass

FactValue: TypeAlias = "bool | int | float | str | tuple[str, ...] | NotUnderstood | PackageValue"


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A stated value that has no meaning here: kept as free text, decides nothing."""

    text: str

    def __str__(self) -> str:
        return self.text


OVERRIDE = "an override in "
"""How the source of a package begins that a file sets against what others require of it."""
REQUIRED = "required by "
"""How the source of a package begins that no line names, and of which a pinned line requires this one release."""
STARTED = "what is started by "
"""How the source of a fact begins that is of the run which an image starts by itself: whoever names another run replaces it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact was read.

    ``source`` is what a person would call it: a path, ``installed in .venv``, ``--set``,
    ``default of transformers 4.48.0``. ``line`` counts from 1.
    """

    source: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is known. ``places`` are those of a list's items, where its reader keeps them."""

    name: str
    value: FactValue
    origin: Origin
    places: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Defect:
    """Something wrong inside a recognised target: becomes a finding of the rule it names. ``advice`` stands for the rule's own words."""

    rule: str
    detail: str
    file: str | None = None
    line: int | None = None
    packages: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that was not read, and why.

    ``lost`` says that somebody meant it to be examined: a named target, or a file that it includes, that is unreadable, damaged, empty or
    of no known tool. A run that lost something does not end well.
    """

    what: str
    why: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """What one source yields: never a traceback. ``closed`` says that its packages are all there are.

    ``wanted`` and ``constraints`` are requirements (PEP 508, without markers) as an installer would be given them here. ``apart`` says
    that they are installed with ``--no-deps``: every one at its newest release, whatever the others need. ``project`` is the name and
    the version of what declares them, where that is a package of its own.
    """

    facts: tuple[Fact, ...] = ()
    defects: tuple[Defect, ...] = ()
    skips: tuple[Skip, ...] = ()
    closed: bool = False
    wanted: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    apart: bool = False
    project: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Facts(Mapping[str, Fact]):
    """All that is known, by name; what is not here is unknown.

    ``closed`` says that the packages listed are all there are (an installed scan, a freeze),
    so that a package that is not listed is absent and not unknown.
    """

    by_name: Mapping[str, Fact] = MappingProxyType({})
    closed: bool = False

    def __getitem__(self, name: str) -> Fact:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def value(self, name: str) -> FactValue | None:
        """The value of a fact, or None where it is unknown."""
        fact = self.by_name.get(name)
        return None if fact is None else fact.value

    def text(self, name: str) -> str | None:
        """The value of a fact that is text, or None where it is unknown or of another kind."""
        value = self.value(name)
        return value if isinstance(value, str) else None

    def with_facts(self, facts: Iterable[Fact]) -> Facts:
        """These facts and others; a later one replaces an earlier one of the same name."""
        merged = dict(self.by_name)
        merged.update((fact.name, fact) for fact in facts)
        return Facts(merged, self.closed)

    def without(self, *names: str) -> Facts:
        """These facts but the named ones, which become unknown."""
        return Facts({name: fact for name, fact in self.by_name.items() if name not in names}, self.closed)

    def lacks(self, package: str) -> bool:
        """Whether a package, by its normalised name, is known not to be installed."""
        fact = self.by_name.get(f"packages.{package}")
        return self.closed if fact is None else fact.value is ABSENT
