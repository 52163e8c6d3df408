"""The releases that there are, with what each requires: read once for all situations of a run that agree on Python and system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact
from envdoctor.remedies.candidates import Listed, installable
from envdoctor.remedies.in_order import InOrder
from envdoctor.rules.conditions import Known
from envdoctor.world.dependencies import Dependency

FAMILY = ("torch", "torchvision", "torchaudio")
"""Packages of one project, whose releases are made for each other: they move together, and that is one change."""

Requires: TypeAlias = "Callable[[str, str], Sequence[Dependency] | None]"
"""What a release of a package requires of others, by name and version; None where that is not known."""


class Listing:
    """Releases as one situation can install them; only its Python, its system and its machine are looked at.

    ``releases`` lists them, and ``among`` is the same where they are not the bundled ones.
    """

    def __init__(self, releases: Listed, among: Listed | None, requires: Requires, known: Known, facts: Facts) -> None:
        self._releases, self._among, self._requires, self.known, self.facts = releases, among, requires, known, facts
        self._installable: dict[str, tuple[Exact, ...]] = {}
        self._places: dict[str, Mapping[str, int]] = {}
        self._versions: dict[str, tuple[str, ...]] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._days: dict[str, Mapping[str, int]] = {}
        self._requirements: dict[tuple[str, str], Sequence[Dependency] | None] = {}
        self._in_order: dict[str, InOrder] = {}
        self._all_in_order: dict[str, InOrder] = {}
        self._codes: dict[tuple[str, tuple[str, ...]], tuple[int, ...]] = {}
        self._classes: dict[tuple[str, frozenset[int]], tuple[int, ...]] = {}

    def installable(self, package: str) -> tuple[Exact, ...]:
        found = self._installable.get(package)
        if found is None:
            found = self._installable[package] = installable(package, self.facts, self._among)
        return found

    def places(self, package: str) -> Mapping[str, int]:
        """The place of every release that can be installed."""
        found = self._places.get(package)
        if found is None:
            found = self._places[package] = {release.text: place for place, release in enumerate(self.installable(package))}
        return found

    def versions(self, package: str) -> tuple[str, ...]:
        """Every release of a package, yanked ones too, oldest first."""
        found = self._versions.get(package)
        if found is None:
            found = self._versions[package] = tuple(release.version for release in self._releases(package))
        return found

    def has(self, package: str, version: str) -> bool:
        """Whether a release is listed under this spelling."""
        found = self._listed.get(package)
        if found is None:
            found = self._listed[package] = frozenset(self.versions(package))
        return version in found

    def days(self, package: str) -> Mapping[str, int]:
        """The day of every release, as a number; those whose day is not known are left out."""
        found = self._days.get(package)
        if found is None:
            told = {one.version: one.date for one in self._releases(package)}
            found = self._days[package] = {version: date.fromisoformat(day).toordinal() for version, day in told.items() if day}
        return found

    def requirements(self, package: str, version: str) -> Sequence[Dependency]:
        return self._required(package, version) or ()

    def is_known(self, package: str, version: str) -> bool:
        """Whether it is known what a release requires."""
        return self._required(package, version) is not None

    def _required(self, package: str, version: str) -> Sequence[Dependency] | None:
        key = (package, version)
        if key not in self._requirements:
            self._requirements[key] = self._requires(package, version)
        return self._requirements[key]

    def in_order(self, package: str) -> InOrder:
        """The releases of a package that can be installed."""
        found = self._in_order.get(package)
        if found is None:
            found = self._in_order[package] = InOrder(self.installable(package))
        return found

    def all_in_order(self, package: str) -> InOrder:
        """All releases of a package, those that were withdrawn and those for another Python too."""
        found = self._all_in_order.get(package)
        if found is None:
            found = self._all_in_order[package] = InOrder(tuple(map(exact, self.known(package))))
        return found

    def admitted(self, package: str, text: str) -> int:
        """The releases that can be installed and that a condition admits, a bit for the place of each."""
        return self.in_order(package).admitted(text)

    def codes(self, package: str, texts: tuple[str, ...]) -> tuple[int, ...]:
        """Of every release, which of the conditions admit it: the first one is the highest bit."""
        key = (package, texts)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = self._transposed(package, [self.admitted(package, text) for text in texts])
        return found

    def classes(self, package: str, masks: frozenset[int]) -> tuple[int, ...]:
        """A number for every release, the same for those that none of the masks tells apart."""
        key = (package, masks)
        found = self._classes.get(key)
        if found is None:
            found = self._classes[key] = self._transposed(package, list(masks))
        return found

    def _transposed(self, package: str, masks: Sequence[int]) -> tuple[int, ...]:
        width = len(self.installable(package))
        rows = [format(mask, f"0{width}b")[::-1] for mask in masks]
        return tuple(int("".join(column), 2) for column in zip(*rows, strict=True)) if rows else (0,) * width


__all__ = ["FAMILY", "Listing", "Requires"]
