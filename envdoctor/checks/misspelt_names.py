"""Names that are most likely another package's: nobody's of the lists, one letter from a package that has just the pinned release; or
those of its module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envdoctor.checks.files_for_pip import is_declared
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.world.import_names import is_known
from envdoctor.world.module_names import MODULE_NAMES
from envdoctor.world.other_names import names_written_down, other_distribution
from envdoctor.world.releases import exists, listed
from envdoctor.world.tables import table

MISSPELT = "name-misspelt"
_PACKAGE = "packages."
# Short names are neighbours of too many others.
_SHORTEST = 6
# Projects of their own, one letter from another one.
_OTHERS = frozenset(
    ("adapter", "astroid", "dataset", "kernel", "openapi", "outline", "request", "response", "tokenizer", "unicorn", "whisper")
)
# Releases that half of all projects have.
_OF_MANY = re.compile(r"0\.0\.[0-9]+|[0-2]\.[0-2](?:\.0)?")


def misspelt_names(facts: Facts) -> tuple[Hit, ...]:
    """Every pinned name that an installer will most likely not find; what is there already has its name."""
    return () if facts.closed else tuple(_hits(facts))


def _hits(facts: Facts) -> Iterator[Hit]:
    present = facts.value("present")
    there = frozenset(present) if isinstance(present, tuple) else frozenset()
    for fact_name, fact in facts.by_name.items():
        name, place = fact_name.removeprefix(_PACKAGE), fact.origin
        if name in MODULE_NAMES and name != fact_name and name not in there and is_declared(fact, facts):
            yield from _of_a_module(name, fact)
            continue
        if name == fact_name or not isinstance(fact.value, Exact) or name in there or place.source.startswith(("installed", "a wheel, ")):
            continue
        meant = _meant(name, fact.value.text.partition("+")[0])
        if meant:
            yield Hit(
                MISSPELT,
                True,
                ((fact_name, f"as {meant} has it"),),
                detail=f"{meant} has a release {fact.value}, and no package of the name {name} is known",
                packages=(name,),
                file=place.file,
                line=place.line,
                edge=name,
                headline=f"{name} is most likely {meant}, misspelt",
                advice=f"write {meant}=={fact.value}",
            )


def _of_a_module(name: str, fact: Fact) -> Iterator[Hit]:
    """A module's name that is asked for where no package of that name, or none that can be installed, is what is asked for."""
    told, value, place = MODULE_NAMES[name], fact.value, fact.origin
    if not isinstance(value, (Exact, Ranged)):
        return
    asked = f"=={value}" if isinstance(value, Exact) else value.text
    # Of a package that refuses to be installed the newest is taken, and of one that is nothing but a name any that fits.
    taken = isinstance(value, Exact) or not told.refuses
    if taken and any(version_condition(asked).admits(exact(one)) for one in told.installed):
        return
    why = "what the package index has under this name refuses to be installed"
    if not told.refuses or (isinstance(value, Exact) and not value.text.startswith("0.0")):
        why = f"the package index has no {name}{f' {value}' if isinstance(value, Exact) else asked}"
    yield Hit(
        MISSPELT,
        True,
        ((fact.name, f"the module of {told.package}"),),
        detail=why,
        packages=(name,),
        file=place.file,
        line=place.line,
        edge=name,
        headline=f"{name} is not the name under which {told.package} is installed",
        advice=f"write {told.package}{asked}",
    )


@lru_cache(maxsize=1024)
def _meant(name: str, release: str) -> str:
    """The package that a name most likely stands for; empty where it is one itself, or stands for none or several."""
    if len(name) < _SHORTEST or name in _OTHERS or name in listed() or _OF_MANY.fullmatch(release):
        return ""
    near = [one for one in listed() if _is_one_letter_away(name, one) and exists(one, release)]
    return near[0] if len(near) == 1 and not is_known(name) and not _is_named_elsewhere(name) else ""


def _is_one_letter_away(name: str, other: str) -> bool:
    """Whether a letter was left out, added, mistaken, or changed places with the next one; digits tell packages apart."""
    if abs(len(name) - len(other)) > 1:
        return False
    start = next((place for place, (one, two) in enumerate(zip(name, other, strict=False)) if one != two), min(len(name), len(other)))
    if start == 0:
        return False
    ours, theirs = name[start:], other[start:]
    if ours[1:] == theirs[1:] or (ours[2:] == theirs[2:] and ours[:2] == theirs[1::-1]):
        changed = ours[:1] + theirs[:1]
    elif ours[1:] == theirs:
        changed = ours[:1]
    elif ours == theirs[1:]:
        changed = theirs[:1]
    else:
        return False
    return changed.isalpha()


def _is_named_elsewhere(name: str) -> bool:
    """Whether a listed package requires one of this name, or a module is known to come from it."""
    if any(canonical(told[0]) == name for module in names_written_down() if (told := other_distribution(module))):
        return True
    return name in _required()


@lru_cache(maxsize=1)
def _required() -> frozenset[str]:
    rows = (line for entry in table("dependencies").packages.values() for line in _lines(entry.get("requires")))
    return frozenset(canonical(found[1]) for line in rows if (found := re.match(r"(?:\[[^\]]*\] )?([A-Za-z0-9._-]+)", line)))


def _lines(told: object) -> list[str]:
    return [str(line) for line in told] if isinstance(told, list) else []


CHECKS = (misspelt_names,)
