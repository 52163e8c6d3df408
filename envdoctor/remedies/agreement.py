"""Whether packages admit each other by what their releases require: the question that an installer asks, of the tables at hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import Exact, Ranged, final_key, version_condition
from envdoctor.remedies.installable import FAMILY, Listing

Values: TypeAlias = "Mapping[str, Exact | Ranged]"
"""The packages that are there, each with its version or the range that is asked for."""

Clash: TypeAlias = "tuple[str, str, str]"
"""Two packages, and a third one of which they require what no release is; without a third, the first one does not admit the second."""

_PYTORCH_LABEL = re.compile(r"cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu", re.ASCII)
# What torch requires of these depends on the build.
_OF_A_BUILD = ("triton", "nvidia-", "cuda-")
# From this release on torchaudio requires no torch by name; it is numbered like the one that it was made for.
_UNBOUND = "torchaudio"


class Agreement:
    """What releases require of each other, asked over and over for few pairs."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._facts = listing.facts
        self._same: dict[tuple[tuple[str, tuple[str, ...]], ...], Mapping[str, tuple[str, ...]]] = {}
        self._asked: dict[str, Mapping[str, tuple[str, ...]]] = {}
        self._newest: dict[str, tuple[str, ...]] = {}
        self._within: dict[tuple[str, str], list[Exact]] = {}
        # By identity of the row, which the listing keeps alive.
        self._of_rows: dict[tuple[str, int], Mapping[str, tuple[str, ...]]] = {}
        self._demands: dict[tuple[str, str], Mapping[str, tuple[str, ...]]] = {}
        self._pairs: dict[tuple[str, str, str, str], bool] = {}
        self._compatible: dict[tuple[str, str, str], bool] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._markers: dict[str, bool] = {}

    def demands(self, package: str, release: Exact) -> Mapping[str, tuple[str, ...]]:
        """What a release requires of others here: specifiers by package; one object for all releases that require the same."""
        key = (package, release.text)
        found = self._demands.get(key)
        if found is None:
            found = self._demands[key] = self._of_row(package, release)
        return found

    def _of_row(self, package: str, release: Exact) -> Mapping[str, tuple[str, ...]]:
        """What a release requires, read once for all releases of a package that have one row; the family's differ by their builds."""
        if package in FAMILY or "+" in release.text:
            read = self._read(package, release)
            return self._same.setdefault(tuple(read.items()), read)
        row = self._listing.requirements(package, self._listed(package, release.text))
        key = (package, id(row))
        found = self._of_rows.get(key)
        if found is None:
            read = self._read(package, release)
            found = self._of_rows[key] = self._same.setdefault(tuple(read.items()), read)
        return found

    def asked(self, package: str) -> Mapping[str, tuple[str, ...]]:
        """Everything that some release of a package that can be installed requires of others."""
        found = self._asked.get(package)
        if found is None:
            every = {id(some): some for some in (self.demands(package, release) for release in self._listing.installable(package))}
            asked: dict[str, dict[str, None]] = {}
            for demanded in every.values():
                for other, specs in demanded.items():
                    asked.setdefault(other, {}).update(dict.fromkeys(specs))
            found = self._asked[package] = {other: tuple(specs) for other, specs in asked.items()}
        return found

    def _read(self, package: str, release: Exact) -> dict[str, tuple[str, ...]]:
        public, plus, label = release.text.partition("+")
        found: dict[str, list[str]] = {}
        if plus and _PYTORCH_LABEL.fullmatch(label) is None:
            return {}  # a build of somebody else's, who may have made it for another torch
        version = self._listed(package, public)
        for one in self._listing.requirements(package, version):
            if plus and one.name != FAMILY[0]:
                continue
            one = one.of_another_build if plus else one
            if one.specifier and not (package == FAMILY[0] and plus and one.name.startswith(_OF_A_BUILD)) and self._applies(one.marker):
                found.setdefault(one.name, []).append(one.specifier)
        if package in FAMILY[1:] and not any(spec.startswith("==") for spec in found.get(FAMILY[0], ())):
            found.setdefault(FAMILY[0], []).extend(self._before_the_next(package, version))
        numbered_like_torch = package == _UNBOUND and (final_key(public) or (0,))[0] >= 2
        if numbered_like_torch and not found.get(FAMILY[0]) and self._listing.is_known(package, version):
            found[FAMILY[0]] = [f">={'.'.join(public.split('.')[:2])}"]
        return {name: tuple(some) for name, some in found.items() if some}

    def _listed(self, package: str, version: str) -> str:
        """A release as the list writes it: ``2.4`` is ``2.4.0``."""
        key = (package, version)
        if key not in self._texts:
            if self._listing.has(package, version):
                self._texts[key] = version
            else:
                wanted = final_key(version)
                as_listed = (text for text in self._listing.versions(package) if wanted is not None and final_key(text) == wanted)
                self._texts[key] = next(as_listed, version)
        return self._texts[key]

    def _before_the_next(self, package: str, version: str) -> list[str]:
        """An early torchvision names no torch, or any from one on; it was made for one before that of the release after it."""
        texts = self._listing.versions(package)
        for later in texts[texts.index(version) + 1 :] if version in texts else ():
            for one in self._listing.requirements(package, later):
                if one.name == FAMILY[0] and one.specifier.startswith("=="):
                    return [f"<{one.specifier.removeprefix('==').partition('+')[0]}"]
        return []

    def is_known(self, package: str, release: Exact) -> bool:
        """Whether it is known what a release requires."""
        return self._listing.is_known(package, self._listed(package, release.text.partition("+")[0]))

    def _applies(self, marker: str) -> bool:
        if not marker:
            return True
        if marker not in self._markers:
            self._markers[marker] = self._judge(marker)
        return self._markers[marker]

    def _judge(self, marker: str) -> bool:
        from envdoctor.world.installation import Installation

        python = self._facts.value("python")
        here = Installation().on(self._facts.text("os"), self._facts.text("machine"))
        return (here.with_python(python.text) if isinstance(python, Exact) else here).holds(marker)

    def clashes(self, values: Values) -> Iterator[Clash]:
        """Every two packages that do not admit each other."""
        asking: dict[str, Mapping[str, tuple[str, ...]]] = {}
        for name, value in values.items():
            if isinstance(value, Exact):
                asking[name] = self.demands(name, value)
            else:
                for other, pin in values.items():
                    if isinstance(pin, Exact) and other != name and not self.admits(name, value, other, pin):
                        yield name, other, ""
        shared: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for name, demanded in asking.items():
            value = values[name]
            for other, specifiers in demanded.items():
                there = values.get(other)
                if there is not None and other != name and not self.admits(name, value, other, there):
                    yield name, other, ""
                if not isinstance(there, Exact):
                    shared.setdefault(other, []).append((name, specifiers))
        for third, some in shared.items():
            for place, (name, mine) in enumerate(some):
                for other, theirs in some[place + 1 :]:
                    if not self.compatible(third, ",".join(mine), ",".join(theirs)):
                        yield min(name, other), max(name, other), third

    def about(self, package: str, values: Values, others: Iterable[str]) -> Iterator[Clash]:
        """Every clash of one package with some others."""
        value = values.get(package)
        if value is None:
            return
        known = isinstance(value, Exact)
        mine = self.demands(package, value) if isinstance(value, Exact) else {}
        free = {third for third in mine if not isinstance(values.get(third), Exact)}
        # A release admits whatever it requires nothing of: of most pairs neither does.
        for other in others:
            if other == package:
                continue
            there = values[other]
            theirs = self.demands(other, there) if isinstance(there, Exact) else None
            if (not known or other in mine) and not self.admits(package, value, other, there):
                yield package, other, ""
            if (theirs is None or package in theirs) and not self.admits(other, there, package, value):
                yield other, package, ""
            if free and theirs:
                for third in free & theirs.keys():
                    if not self.compatible(third, ",".join(mine[third]), ",".join(theirs[third])):
                        yield min(package, other), max(package, other), third

    def agree(self, values: Values, clash: Clash) -> bool:
        """Whether there is no such clash between the two packages, of which one may be gone."""
        first, second, third = clash
        one, other = values.get(first), values.get(second)
        if one is None or other is None:
            return True
        if not third:
            return self.admits(first, one, second, other)
        both = ((first, one), (second, other))
        mine, theirs = (self.demands(name, value).get(third, ()) if isinstance(value, Exact) else () for name, value in both)
        return not mine or not theirs or self.compatible(third, ",".join(mine), ",".join(theirs))

    def admits(self, name: str, value: Exact | Ranged, other: str, there: Exact | Ranged) -> bool:
        """Whether the one, or some release of the range that it is, admits the other."""
        key = (name, value.text, other, there.text)
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = self._admits(name, value, other, there)
        return found

    def _admits(self, name: str, value: Exact | Ranged, other: str, there: Exact | Ranged) -> bool:
        if isinstance(value, Exact):
            specifiers = self.demands(name, value).get(other, ())
            if isinstance(there, Exact):
                place = self._listing.places(other).get(there.text)
                if place is None:
                    return all(version_condition(specifier).admits(there) for specifier in specifiers)
                releases = self._listing.in_order(other)
                return all(releases.admitted(specifier) >> place & 1 for specifier in specifiers)
            return not specifiers or self.compatible(other, there.text, ",".join(specifiers))
        if isinstance(there, Ranged):
            return True
        range_ = self._admitted(name, value.text)
        return not range_ or any(self.admits(name, release, other, there) for release in range_)

    def _admitted(self, package: str, text: str) -> list[Exact]:
        """The releases of a range, newest first; of those that require the same the newest."""
        key = (package, text)
        found = self._within.get(key)
        if found is None:
            known, mask = self._listing.installable(package), self._listing.admitted(package, text)
            nearest: dict[int, Exact] = {}
            for place in reversed(range(len(known))):
                if mask >> place & 1:
                    nearest.setdefault(id(self.demands(package, known[place])), known[place])
            found = self._within[key] = list(nearest.values())
        return found

    def compatible(self, package: str, one: str, other: str) -> bool:
        """Whether some release, or one still to come, satisfies both specifiers."""
        key = (package, one, other)
        found = self._compatible.get(key)
        if found is None:
            releases = self._listing.all_in_order(package)
            found = bool(releases.admitted(one) & releases.admitted(other)) or self._may_come(package, one, other)
            self._compatible[key] = self._compatible[(package, other, one)] = found
        return found

    def _may_come(self, package: str, one: str, other: str) -> bool:
        """Whether a release satisfies both that is not listed; of those that are, none does."""
        newest = self._newest.get(package)
        if newest is None:
            known = self._listing.all_in_order(package).releases
            newest = self._newest[package] = next(((one.text,) for one in reversed(known) if _is_released(one)), ())
        return satisfiable(",".join(filter(None, (one, other))), newest)

    def told(self, clash: Clash, values: Values) -> str:
        """The clash in words: ``torchvision 0.20.1 requires torch==2.5.1``."""
        name, other, third = clash
        said = [self._said(one, values[one], third or other) for one in ((name, other) if third else (name,))]
        return " and ".join(said)

    def _said(self, name: str, value: Exact | Ranged, other: str) -> str:
        if isinstance(value, Ranged):
            return f"no release of {name}{value} admits it"
        return f"{name} {value} requires {other}{','.join(self.demands(name, value).get(other, ()))}"


def _is_released(version: Exact) -> bool:
    """Whether it is no pre-release."""
    if version.key is not None:
        return True
    from packaging.version import Version

    return not Version(version.text).is_prerelease


__all__ = ["Agreement", "Clash", "Values"]
