"""Pins that no installer accepts together, by what the pinned releases themselves require: known offline, for tracked packages.

Only what stands in files that an installer is given whole is judged (``files_for_pip``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations

from envdoctor.checks.files_for_pip import declared_packages
from envdoctor.checks.hit import Hit
from envdoctor.checks.parts_of_cuda import is_of_another_cuda, parts_as_one
from envdoctor.facts.fact import OVERRIDE, Facts
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import Exact, Ranged, exact, parse_package, version_condition
from envdoctor.records import dataclass, replace
from envdoctor.world.releases import as_of, exists, release_texts, releases, requires_python
from envdoctor.world.torch_builds import nearest_variant, other_variants, torch_beside

CONTRADICT = "requirements-contradict"
REFUSES_PYTHON = "requirement-refuses-python"
UNSATISFIABLE = "requirement-unsatisfiable"
WITHOUT_PATCHES = "requires-python-without-patches"
_NO_PACKAGE = "remove the line: which Python runs is up to the environment, and requires-python says it of a project"

_PACKAGE = "packages."
_PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_PYTORCH_LABEL = r"cpu|cu[0-9]{2,3}|rocm[0-9]+(?:\.[0-9]+)*|xpu"
# What torch requires of these depends on the build.
OF_A_BUILD = ("triton", "nvidia-", "cuda-")
_MOST_TOLD = 3
_MOST_PACKAGES = 4


@dataclass(frozen=True, slots=True)
class Demand:
    """What one side asks of a package's version. ``by`` is the pinned package that requires it; empty for the file's own line."""

    by: str
    release: str
    specifier: str
    marker: str = ""


def declared_together(facts: Facts) -> tuple[Hit, ...]:
    """Pairs of statements that admit no common release: a pin's own requirement, and a line of the file or another pin's requirement.

    Where a marker does not hold under every Python that the file and the pinned releases admit, it is possible only. Of a build with one
    of PyTorch's labels what it requires of torch is taken, and of any other build nothing: others may be made for another torch.
    """
    declared = declared_packages(facts)
    pins = {name: value for name, value in declared.items() if isinstance(value, Exact)}
    return (*parts_as_one(facts, tuple(_contradictions(facts, declared, pins))), *refusals(facts, pins)) if pins else ()


def declared_releases(facts: Facts) -> tuple[Hit, ...]:
    """Requirements that no release satisfies: one that is not there, or was not out on the day that is asked about.

    Left alone: releases above the newest known, labelled builds, wheels that a line names, pre-releases whose builds lie elsewhere.
    """
    hits = []
    for name, value in declared_packages(facts).items():
        origin = facts[f"{_PACKAGE}{name}"].origin
        # A wheel that is named itself need be on no index.
        told = "" if origin.source.startswith("a wheel, ") else _not_there(name, value)
        if told:
            because = ((f"{_PACKAGE}{name}", "no release"),)
            hit = Hit(UNSATISFIABLE, True, because, detail=told, packages=(name,), pins=_ways_out(name, value))
            hits.append(replace(hit, file=origin.file, line=origin.line, advice=_NO_PACKAGE if name == "python" else ""))
    return tuple(hits)


def _ways_out(name: str, value: Exact | Ranged) -> tuple[tuple[str, str], ...]:
    """The releases after one that was never made, and those before it, where there are any."""
    if name == "python" or not isinstance(value, Exact):
        return ()
    known = _newest_first(release_texts(name))
    if (torch := torch_beside(name, value.text)) and (near := nearest_variant(torch)):
        return ((name, f"=={value.text.partition('+')[0]}+{near.partition('+')[2]}"),)
    sides = (f">{value.text}", f"<{value.text}")
    return tuple((name, side) for side in sides if any(map(version_condition(side).admits, known)))


def _not_there(name: str, value: Exact | Ranged) -> str:
    """Why no release is what was asked for; empty where one is, or may be."""
    if name == "python":
        return "python is asked for as a package: the index has none of this name, and an installer changes no interpreter"
    known = release_texts(name)
    if not known:
        return ""
    if isinstance(value, Exact):
        if (torch := torch_beside(name, value.text)) and (others := other_variants(torch)):
            built = "that release was" if name == "torch" else f"it goes with torch {torch.partition('+')[0]}, and both were"
            return f"{name} {value} was never released: {built} built for {', '.join(others)}"
        newest = version_condition(f">{known[-1]}").admits(value)
        if "+" in value.text or exists(name, value.text) is not False or (newest and not _ended()):
            return ""
        said = f"was not released until {as_of()}" if newest else "is not on the package index"
        return f"{name} {value} {said}: {_neighbours(value, known)}"
    if _admits_any(value.text, known) or _names_prerelease(value.text) or not _ended():
        return ""
    return f"no release of {name} until {as_of()} satisfies {value}: {known[-1]} was the newest"


@lru_cache(maxsize=4096)
def _admits_any(specifier: str, known: tuple[str, ...]) -> bool:
    return any(map(version_condition(specifier).admits, _newest_first(known)))


def _ended() -> bool:
    """Whether the day that is asked about lies before the one on which the releases were listed: no more of them are to come."""
    from envdoctor.world.dependencies import releases_as_of

    return as_of() < releases_as_of()


def _neighbours(value: Exact, known: Sequence[str]) -> str:
    below = [text for text in known if not version_condition(f">{value.text}").admits(exact(text))]
    above = known[len(below) : len(below) + 1]
    return f"the releases next to it are {' and '.join((*below[-1:], *above))}"


def _names_prerelease(specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return bool(SpecifierSet(specifier).prereleases)


def requires_python_without_patches(facts: Facts) -> tuple[Hit, ...]:
    """``requires-python = "<=3.12"`` admits 3.12.0 and refuses 3.12.1 and all that follow."""
    fact = facts.by_name.get("python")
    if fact is None or not isinstance(fact.value, Ranged) or fact.origin.file is None:
        return ()
    minor = re.search(r"<=\s*(3\.[0-9]+)\s*(?:,|$)", fact.value.text)
    if minor is None or _runs_on(fact.value.text, f">{minor[1]}.0,<{minor[1]}.999999"):
        return ()
    detail = f"<={minor[1]} admits {minor[1]}.0 and refuses {minor[1]}.1 and every later patch release"
    place, after = fact.origin, f"<3.{int(minor[1].partition('.')[2]) + 1}"
    advice = f"write the bound as the first minor release that is not supported: `{after}`"
    return (Hit(WITHOUT_PATCHES, True, (("python", f"<={minor[1]}"),), detail=detail, file=place.file, line=place.line, advice=advice),)


def _contradictions(facts: Facts, declared: Mapping[str, Exact | Ranged], pins: Mapping[str, Exact]) -> Iterator[Hit]:
    pythons = lru_cache(maxsize=1)(partial(pythons_of, facts, pins))  # asked of every contradiction, and the same for all
    for name, demands in _demands(declared, pins).items():
        value = declared.get(name)
        if value is not None and facts[f"{_PACKAGE}{name}"].origin.source.startswith(OVERRIDE):
            continue  # the installer was told to pass over what others require of it
        if value is not None and str(value):
            own = Demand("", "", f"=={value}" if isinstance(value, Exact) else str(value))
            against = [one for one in demands if one.by != name and not _agree(name, own, one)]
            certain = [one for one in against if _waits_for(facts, pythons, name, one) == ()]
            told = certain or [one for one in against if _waits_for(facts, pythons, name, one) is not None]
            if told:  # the shorter explanation: two pins are told where the file says nothing against either
                yield contradiction(facts, declared, pythons, name, own, *told[:_MOST_TOLD])
                continue
        for one, other in combinations(demands, 2):
            if one.by != other.by and not _agree(name, one, other) and _waits_for(facts, pythons, name, one, other) == ():
                yield contradiction(facts, declared, pythons, name, one, other)
                break


def _demands(declared: Mapping[str, Exact | Ranged], pins: Mapping[str, Exact]) -> dict[str, list[Demand]]:
    """What the pinned releases require, by the package that it is required of."""
    from envdoctor.world.dependencies import dependencies

    found: dict[str, list[Demand]] = {}
    for name, pin in pins.items():
        public, plus, label = pin.text.partition("+")
        for one in dependencies(name, _listed(name, public)) or ():
            if not plus or (one.name == "torch" and re.fullmatch(_PYTORCH_LABEL, label, re.ASCII)):
                specifier = one.of_another_build.specifier if plus else one.specifier
                found.setdefault(one.name, []).append(Demand(name, pin.text, specifier, one.marker))
    return {name: some for name, some in found.items() if name in declared or len(some) > 1}


@lru_cache(maxsize=4096)
def _listed(name: str, version: str) -> str:
    """A release as the list writes it: ``2.4`` is ``2.4.0``."""
    known = release_texts(name)
    if version in known:
        return version
    wanted = exact(version)
    return next((text for text in known if wanted.key is not None and exact(text).key == wanted.key), version)


def _agree(name: str, one: Demand, other: Demand) -> bool:
    return compatible(name, one.specifier, other.specifier, release_texts(name))


@lru_cache(maxsize=16384)
def compatible(name: str, one: str, other: str, known: tuple[str, ...]) -> bool:
    """Whether some release, or one still to come, satisfies both; the label of a build satisfies a requirement that names none."""
    pins = [(parse_package(pin), wanted) for pin, wanted in ((one, other), (other, one))]
    judged = [version_condition(wanted).admits(pin) for pin, wanted in pins if isinstance(pin, Exact)]
    if judged:
        return any(judged)
    both = f"{one},{other}"
    wanted = version_condition(both)
    return any(wanted.admits(release) for release in _newest_first(known)) or satisfiable(both, known)


@lru_cache(maxsize=256)
def _newest_first(known: tuple[str, ...]) -> tuple[Exact, ...]:
    return tuple(map(exact, reversed(known)))


def _waits_for(facts: Facts, admitted: Callable[[], Sequence[str]], name: str, *demands: Demand) -> tuple[str, ...] | None:
    """The facts that decide whether all demands are made; none where they surely are, None where they are not made here."""
    missing: list[str] = []
    markers = [one.marker for one in demands if one.marker]
    if markers:
        system, machine = facts.text("os"), facts.text("machine")
        pythons = admitted()
        held = {python: all(_holds(marker, python, system, machine) for marker in markers) for python in pythons}
        if not held or not held.get(_here(), held[pythons[-1]]):
            return None
        missing += [] if all(held.values()) else ["python"]
    # The torch of another index than the default one brings a triton of its own, or none.
    torch = next((one.release for one in demands if one.by == "torch"), "") if name.startswith(OF_A_BUILD) else ""
    cuda = facts.by_name.get("cuda")
    if torch and (cuda is None or cuda.origin.file is None):
        missing += [] if _names_its_index(facts) else ["cuda"]
    elif torch and is_of_another_cuda(facts, name, torch):
        return None
    return tuple(missing)


def _names_its_index(facts: Facts) -> bool:
    """Whether torch is asked for where no command can name another index: among what a conda environment has pip install."""
    return (facts["packages.torch"].origin.file or "").endswith((".yml", ".yaml"))


def demands_hold(facts: Facts, marker: str, pythons: Sequence[str] = ()) -> bool:
    """Whether a marker, if there is one, holds under each of these Pythons; where none are given, under all that the situation admits."""
    system, machine = facts.text("os"), facts.text("machine")
    return not marker or all(_holds(marker, one, system, machine) for one in pythons or pythons_of(facts, {}) or _PYTHONS)


def _here() -> str:
    """The minor release of Python that markers are judged for where nobody named one."""
    from envdoctor.world.installation import Installation

    return Installation().python


def pythons_of(facts: Facts, pins: Mapping[str, Exact]) -> Sequence[str]:
    """The minor releases of Python that the file admits and all pinned releases run on."""
    python = facts.value("python")
    if isinstance(python, Exact):
        return (python.text,)
    wanted = dict.fromkeys(_requires_python(name, pin) for name, pin in pins.items())
    if isinstance(python, Ranged):
        wanted[python.text] = None
    return [one for one in _PYTHONS if all(_runs_on(text, f"=={one}.*") for text in wanted if text)]


def _requires_python(name: str, pin: Exact) -> str:
    """What the listed release of a pin says of the Pythons that it runs on; empty where it says nothing."""
    return requires_python(name, _listed(name, pin.text.partition("+")[0]))


@lru_cache(maxsize=4096)
def _runs_on(requires_python: str, python: str) -> bool:
    """Whether some Python of a range satisfies what a release says; True where what it says cannot be read."""
    try:
        return satisfiable(f"{python},{''.join(requires_python.split())}".strip(","), ())
    except ValueError:
        return True


@lru_cache(maxsize=4096)
def _holds(marker: str, python: str, system: str | None, machine: str | None) -> bool:
    from envdoctor.world.installation import Installation

    return Installation().on(system, machine).with_python(python).holds(marker)


def contradiction(
    facts: Facts, declared: Mapping[str, Exact | Ranged], pythons: Callable[[], Sequence[str]], name: str, *demands: Demand
) -> Hit:
    """What two or more demands, of which the first one contradicts the others, come to; its pins move one side to the other."""
    asked = [demand for demand in demands if demand.by]
    said = [f"{demand.by} {demand.release} requires {name}{demand.specifier}" for demand in asked]
    because = [(f"{_PACKAGE}{demand.by}", f"requires {name}{demand.specifier}") for demand in asked]
    pins: list[tuple[str, str]] = []
    first, others = demands[0], demands[1:]
    place = facts[f"{_PACKAGE}{first.by or name}"].origin
    if not first.by:
        wanted = ",".join(dict.fromkeys(demand.specifier for demand in others))
        said.append(f"{name}{first.specifier} is asked for")
        because.append((f"{_PACKAGE}{name}", f"not {wanted}"))
        pins.append((name, wanted))
    for demand, against in [(first, others[0])] * bool(first.by) + [(demand, first) for demand in others]:
        fitting = agreeing(demand.by, name, against.specifier, as_of())
        if fitting:
            pins.append((demand.by, fitting))
    packages = dict.fromkeys((*([name] if name in declared else []), *(demand.by for demand in asked), name))
    detail = ", ".join(said[:-1]) + f", and {said[-1]}"
    missing = tuple(dict.fromkeys(fact for one in asked for fact in _waits_for(facts, pythons, name, one) or ()))
    return Hit(
        CONTRADICT,
        None if missing else True,
        tuple(because),
        missing,
        detail,
        tuple(packages)[:_MOST_PACKAGES],
        tuple(pins),
        file=place.file,
        line=place.line,
    )


@lru_cache(maxsize=1024)
def agreeing(package: str, name: str, specifier: str, until: str) -> str:
    """The releases of a package whose requirement of another one a specifier agrees with, as ranges of the list of releases.

    One that requires nothing of it promises nothing either, and is left out; so is one that names no end where the next ones do.
    """
    from envdoctor.checks.caps import cautious

    known, other = release_texts(package), release_texts(name)

    def agrees(version: str) -> bool:
        asked = [one.specifier for one in cautious(package, version) or () if one.name == name]
        return bool(asked) and all(compatible(name, specifier, wanted, other) for wanted in asked)

    return ranges_of([agrees(version) for version in known], known)


def ranges_of(chosen: Sequence[bool], known: Sequence[str]) -> str:
    """Runs of a list of versions as a condition: ``>=4.31.0,<=4.39.3 || ==4.41.0``."""
    parts: list[str] = []
    start = None
    for place, wanted in enumerate((*chosen, False)):
        if wanted and start is None:
            start = place
        elif not wanted and start is not None:
            first, last = known[start], known[place - 1]
            parts.append(f"=={first}" if first == last else f">={first}" if place == len(known) else f">={first},<={last}")
            start = None
    return " || ".join(parts)


def refusals(facts: Facts, pins: Mapping[str, Exact]) -> Iterator[Hit]:
    """Pinned releases that run on no Python which the situation admits."""
    python = facts.value("python")
    if not isinstance(python, (Exact, Ranged)):
        return
    for name, pin in pins.items():
        told = _requires_python(name, pin)
        if told and not _runs_on(told, _as_range(python)):
            known = releases(name)
            fitting = ranges_of([not one.requires_python or _runs_on(one.requires_python, _as_range(python)) for one in known],
                              [one.version for one in known])  # fmt: skip
            place = facts[f"{_PACKAGE}{name}"].origin
            yield Hit(
                REFUSES_PYTHON,
                True,
                ((f"{_PACKAGE}{name}", f"requires Python {told}"), ("python", f"not {told}")),
                detail=f"{name} {pin} requires Python {told}, and the Python is {python}",
                packages=(name,),
                pins=((name, fitting),) if fitting else (),
                file=place.file,
                line=place.line,
            )


def _as_range(python: Exact | Ranged) -> str:
    """``3.10`` as people state it is some patch release of it."""
    if isinstance(python, Ranged):
        return python.text
    return f"=={python.text}" if python.text.count(".") > 1 else f"=={python.text}.*"


CHECKS = (declared_together, declared_releases, requires_python_without_patches)
