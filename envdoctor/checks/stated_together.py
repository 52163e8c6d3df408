"""What the releases of a freeze, a log or a facts file require, against what else is stated there: known offline, for tracked packages.

No resolver made such a list, so an unmet requirement is a sign and no proof: many such stacks run. Where the package itself refuses at its
import, it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.declared_together import demands_hold, is_declared
from envdoctor.checks.hit import Hit
from envdoctor.checks.requirements import MISSING, UNMET
from envdoctor.checks.whole_lists import lacks_few, scanned_names
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.world.dependencies import Dependency

REFUSES = "transformers-refuses-at-import"

_PACKAGE = "packages."
# transformers/dependency_versions_check.py compares these with its table when it is imported. Read in the wheels of 4.20.1, 4.30.2, 4.31.0,
# 4.32.0, 4.33.3, 4.34.1, 4.35.2, 4.36.2, 4.40.2, 4.46.3, 4.57.1, 5.0.0, 5.8.0 and 5.23.0.
_ALWAYS = frozenset(("tqdm", "regex", "packaging", "filelock", "numpy", "tokenizers"))
_SINCE_4_31 = frozenset(("huggingface-hub", "safetensors", "pyyaml"))
_BEFORE_5 = frozenset(("requests",))


def stated_together(facts: Facts) -> tuple[Hit, ...]:
    """Every requirement of a stated release that another stated release does not meet, or that a complete list does not hold."""
    hits = tuple(_hits(facts))
    stated = _stated_names(facts)
    absent = {hit.packages[1] for hit in hits if hit.packages[1] not in stated}
    if not scanned_names(facts) and lacks_few(len(absent), len(stated)):
        return hits
    return tuple(hit for hit in hits if hit.packages[1] not in absent)


def _stated_names(facts: Facts) -> set[str]:
    return {name.removeprefix(_PACKAGE) for name in facts.by_name if name.startswith(_PACKAGE)}


def _hits(facts: Facts) -> Iterator[Hit]:
    from envdoctor.world.dependencies import dependencies

    for fact_name, fact in facts.by_name.items():
        name = fact_name.removeprefix(_PACKAGE)
        if name == fact_name or not isinstance(fact.value, Exact) or not _is_stated(facts, fact_name):
            continue
        release = fact.value.text.partition("+")[0]
        for one in dependencies(name, release) or ():
            hit = _judge(facts, name, fact.value, one)
            if hit is not None:
                yield hit


def _is_stated(facts: Facts, fact_name: str) -> bool:
    """Whether a person, a freeze or a log says so, or a pin proposed beside these.

    What is installed is judged by its own metadata, what is declared by its own check.
    """
    origin = facts[fact_name].origin
    return not origin.source.startswith("installed") and (origin.source == "pin" or not is_declared(facts[fact_name]))


def _judge(facts: Facts, name: str, value: Exact, wanted: Dependency) -> Hit | None:
    other = f"{_PACKAGE}{wanted.name}"
    found = facts.value(other)
    requirement = f"{wanted.name}{wanted.specifier}"
    if wanted.marker and not demands_hold(facts, wanted.marker):
        return None
    because = ((f"{_PACKAGE}{name}", f"requires {requirement}"),)
    refuses = name == "transformers" and _is_checked_at_import(value, wanted.name)
    place = facts[f"{_PACKAGE}{name}"].origin
    if facts.lacks(wanted.name):
        if name == "torch" or not facts.closed:  # what a build of torch brings is no matter of metadata
            return None
        detail = f"{name} {value} requires {requirement}, and {wanted.name} is not in the list"
        rule = REFUSES if refuses and wanted.name != "tokenizers" else MISSING
        return Hit(rule, True, because, detail=detail, packages=(name, wanted.name), pins=((wanted.name, wanted.specifier),),
                   file=place.file, line=place.line, yields=True)  # fmt: skip
    if not isinstance(found, Exact) or not wanted.specifier or not _is_stated(facts, other):
        return None
    public = exact(found.text.partition("+")[0])
    if version_condition(wanted.specifier).admits(found) or version_condition(wanted.specifier).admits(public):
        return None
    detail = f"{name} {value} requires {requirement}, and {wanted.name} {found} is stated"
    reasons = (*because, (other, f"not {wanted.specifier}"))
    return Hit(REFUSES if refuses else UNMET, True, reasons, detail=detail, packages=(name, wanted.name),
               pins=((wanted.name, wanted.specifier),), file=place.file, line=place.line, yields=True)  # fmt: skip


def _is_checked_at_import(value: Exact, package: str) -> bool:
    if package in _ALWAYS:
        return True
    if package in _SINCE_4_31:
        return version_condition(">=4.31").admits(value)
    return package in _BEFORE_5 and version_condition("<5").admits(value)


CHECKS = (stated_together,)
