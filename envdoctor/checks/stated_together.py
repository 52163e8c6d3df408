"""What the releases of a freeze, a log or a facts file require, against what else is stated there: known offline, for tracked packages.

No resolver made such a list, so an unmet requirement is a sign and no proof: many such stacks run. Where the package itself refuses at its
import, it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations

from envdoctor.checks.declared_together import OF_A_BUILD, agreeing, compatible, demands_hold, pythons_of, refusals
from envdoctor.checks.files_for_pip import declared_packages, is_declared
from envdoctor.checks.held_by_both import with_who_holds_it
from envdoctor.checks.hit import Hit
from envdoctor.checks.parts_of_cuda import is_of_another_cuda, parts_as_one
from envdoctor.checks.refused_at_import import BY_ANOTHER, BY_TRANSFORMERS, WHERE_INSTALLED, refused_by, refused_by_transformers, walked
from envdoctor.checks.requirements import MISSING, UNMET
from envdoctor.checks.whole_lists import brought_otherwise, lacks_few, scanned_names
from envdoctor.facts.fact import REQUIRED, Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.records import replace
from envdoctor.world.dependencies import Dependency
from envdoctor.world.releases import as_of, release_texts
from envdoctor.world.torch_pythons import has_a_wheel

_PACKAGE = "packages."


def stated_together(facts: Facts) -> tuple[Hit, ...]:
    """Every requirement of a stated release that another stated release does not meet, or that a complete list does not hold; what two of
    them require of a third that no release is; and releases that do not run on the stated Python."""
    by_conda = brought_otherwise(facts)
    hits = tuple(hit for hit in _hits(facts) if hit.rule != UNMET or not by_conda.issuperset(hit.packages[:2]))
    stated = _stated_names(facts)
    absent = {hit.packages[1] for hit in hits if hit.packages[1] not in stated}
    if scanned_names(facts) or not lacks_few(len(absent), len(stated)):
        hits = tuple(hit for hit in hits if hit.packages[1] not in absent)
    hits = tuple(parts_as_one(facts, hits))
    # A proposed pin is judged with the declared ones.
    said = {name: value for name, value in stated_releases(facts) if facts[f"{_PACKAGE}{name}"].origin.source != "pin"}
    return (*hits, *_of_development(facts), *_of_a_third(facts), *refusals(facts, said))


def stated_releases(facts: Facts) -> Iterator[tuple[str, Exact]]:
    """Every package with the one release that somebody states of it."""
    for fact_name, fact in facts.by_name.items():
        name = fact_name.removeprefix(_PACKAGE)
        if name != fact_name and isinstance(fact.value, Exact) and is_stated(facts, fact_name):
            yield name, fact.value


def _of_a_third(facts: Facts) -> Iterator[Hit]:
    """Two stated releases of which no release of a third package, that nobody states, meets both: one of them goes without."""
    from envdoctor.world.dependencies import dependencies

    if facts.closed:
        return
    asked: dict[str, list[tuple[str, Exact, Dependency]]] = {}
    stated = dict(stated_releases(facts))
    for name, value in stated.items():
        for one in () if "+" in value.text else dependencies(name, value.text) or ():
            if one.specifier and f"{_PACKAGE}{one.name}" not in facts:
                asked.setdefault(one.name, []).append((name, value, one))
    pythons = pythons_of(facts, stated) or pythons_of(facts, {})
    for third, demands in asked.items():
        if len({name for name, *_ in demands}) > 1:
            sides = _apart(facts, third, demands, pythons)
            if sides is not None:
                yield _no_common(facts, third, sides)


def _apart(
    facts: Facts, third: str, demands: Sequence[tuple[str, Exact, Dependency]], pythons: Sequence[str]
) -> tuple[tuple[str, Exact, str, str], tuple[str, Exact, str, str]] | None:
    """Two releases that no release of the third package suits under any Python, as they declare it for the newest."""
    found: dict[tuple[str, str], tuple[tuple[str, Exact, str, str], tuple[str, Exact, str, str]]] = {}
    for number, python in enumerate(pythons):
        by = {one.specifier: (name, value) for name, value, one in reversed(demands) if demands_hold(facts, one.marker, (python,))}
        now = {
            (by[mine][0], by[theirs][0]): ((*by[mine], mine, theirs), (*by[theirs], theirs, mine))
            for mine, theirs in combinations(reversed(by), 2)
            if by[mine][0] != by[theirs][0] and not compatible(third, mine, theirs, release_texts(third))
        }
        found = {pair: sides for pair, sides in now.items() if not number or pair in found}
        if not found:
            return None
    return next(iter(found.values()), None)


def _no_common(facts: Facts, third: str, sides: Sequence[tuple[str, Exact, str, str]]) -> Hit:
    """Two releases, each with what it requires of a third package, and what the other one does."""
    names = tuple(name for name, *_ in sides)
    place = facts[f"{_PACKAGE}{names[0]}"].origin
    said = [f"{name} {value} requires {third}{mine}" for name, value, mine, _ in sides]
    return Hit(
        UNMET,
        True,
        tuple((f"{_PACKAGE}{name}", f"requires {third}{mine}") for name, _, mine, _ in sides),
        detail=" and ".join(said),
        packages=(*names, third),
        pins=tuple((name, fitting) for name, _, _, theirs in sides if (fitting := agreeing(name, third, theirs, as_of()))),
        file=place.file,
        line=place.line,
        yields=True,
        headline=f"No release of {third} suits both {names[0]} and {names[1]}",
    )


def _of_development(facts: Facts) -> Iterator[Hit]:
    """What a development release most likely requires: what the releases before and after it both do, and a stated one does not meet."""
    from envdoctor.world.dependencies import dependencies_around

    stated = dict(stated_releases(facts))
    for name, value in stated.items():
        around = dependencies_around(name, value.text.partition("+")[0])
        if not around:
            continue
        (before, first), (after, second) = around
        for wanted in second:
            other = stated.get(wanted.name)
            earlier = [one for one in first if one.name == wanted.name]
            if other is None or not all(_refuses(facts, one, other) for one in (*earlier, wanted)) or not earlier:
                continue
            hit = _judge(facts, name, value, wanted, compared=False)
            if hit is not None:
                words = f"{name} {value} lies between {before} and {after}, which require {_both(earlier[0], wanted)}"
                yield replace(hit, rule=UNMET, detail=f"{words}, and {wanted.name} {other} is stated")


def _refuses(facts: Facts, wanted: Dependency, other: Exact) -> bool:
    """Whether a requirement that applies here shuts a release out."""
    return demands_hold(facts, wanted.marker) and not version_condition(wanted.specifier).admits(exact(other.text.partition("+")[0]))


def _both(first: Dependency, second: Dependency) -> str:
    """Two requirements of one package, once where they say the same."""
    told = dict.fromkeys((first.specifier, second.specifier))
    return " and ".join(f"{first.name}{one}" for one in told)


def _stated_names(facts: Facts) -> set[str]:
    return {name.removeprefix(_PACKAGE) for name in facts.by_name if name.startswith(_PACKAGE)}


def _hits(facts: Facts) -> Iterator[Hit]:
    from envdoctor.world.dependencies import dependencies

    stated = dict(stated_releases(facts))

    def required(name: str) -> Iterator[str]:
        for one in dependencies(name, stated[name].text.partition("+")[0], unbound=True) or ():
            if demands_hold(facts, one.marker):
                yield one.name

    compared = walked(stated, required)
    pythons = _with_a_torch(pythons_of(facts, stated), stated)
    for name, value in stated.items():
        public, labelled, _ = value.text.partition("+")
        wanted = dependencies(name, public) or ()
        if labelled:
            wanted = tuple(one.of_another_build for one in wanted)
        if name == "torch":
            yield from _of_most_pythons(facts, value, wanted, pythons)
        for one in (*_demanded(facts, wanted, pythons), *_compared_extras(name, value, {one.name for one in wanted})):
            hit = _judge(facts, name, value, one, compared=name in compared)
            if hit is not None:
                yield with_who_holds_it(facts, hit, stated, one.specifier) if hit.rule == UNMET else hit
    yield from _beside_a_file(facts, stated, pythons)


def _beside_a_file(facts: Facts, stated: Mapping[str, Exact], pythons: Sequence[str]) -> Iterator[Hit]:
    """Requirements between a stated release and a pin of a file for an installer, whichever of the two requires the other."""
    from envdoctor.world.dependencies import dependencies

    pins = {name: value for name, value in declared_packages(facts).items() if isinstance(value, Exact) and name not in stated}
    said = {name for name in stated if facts[f"{_PACKAGE}{name}"].origin.source != "pin"}
    for name, value in {**{name: stated[name] for name in stated if name in said}, **pins}.items() if pins and said else ():
        others = said if name in pins else pins
        wanted = [one for one in dependencies(name, value.text.partition("+")[0]) or () if one.name in others and "+" not in value.text]
        for one in _demanded(facts, wanted, pythons):
            hit = _judge(facts, name, value, one, compared=False, beside=True)
            if hit is not None:
                yield replace(hit, rule=UNMET)


def _with_a_torch(pythons: Sequence[str], stated: Mapping[str, Exact]) -> Sequence[str]:
    """The Pythons for which the stated torch has wheels; all of them where it has none, which is another fault."""
    torch = stated.get("torch")
    return pythons if torch is None else [one for one in pythons if has_a_wheel(torch, one)] or pythons


def _of_most_pythons(facts: Facts, torch: Exact, wanted: Sequence[Dependency], pythons: Sequence[str]) -> Iterator[Hit]:
    """The triton that torch requires under most of its Pythons and not under all: which one runs decides.

    torch 2.2 and 2.3 have wheels for Python 3.12, for which there was no triton yet.
    """
    for one in wanted:
        holds = [python for python in pythons if demands_hold(facts, one.marker, (python,))]
        if one.name == "triton" and 2 * len(holds) > len(pythons) > len(holds):
            hit = _judge(facts, "torch", torch, replace(one, marker=""), compared=False)
            if hit is not None:
                yield replace(hit, outcome=None, missing=("python",), detail=f"{hit.detail}; under Python {holds[-1]} and older")


def _demanded(facts: Facts, wanted: Sequence[Dependency], pythons: Sequence[str]) -> Iterator[Dependency]:
    """What is required under every Python; of what is required in other words under each of them and never met, the newest one's words."""
    later: dict[str, list[Dependency]] = {}
    for one in wanted:
        if not one.marker or demands_hold(facts, one.marker, pythons):
            yield replace(one, marker="")
        else:
            later.setdefault(one.name, []).append(one)
    for name, several in later.items():
        found = facts.value(f"{_PACKAGE}{name}")
        if len(several) < 2 or not isinstance(found, Exact):
            continue
        unmet = [one for one in several if not version_condition(one.specifier).admits(exact(found.text.partition("+")[0]))]
        told = [next((one for one in unmet if demands_hold(facts, one.marker, (python,))), None) for python in pythons]
        if told and told[-1] is not None and None not in told:
            yield replace(told[-1], marker="")


def _compared_extras(name: str, value: Exact, required: Set[str]) -> list[Dependency]:
    """What transformers compares besides all that it requires: companions, where they are installed."""
    from envdoctor.world.dependencies import of_extras

    if name != "transformers":
        return []
    extras = {one for _, one in of_extras(name, value.text.partition("+")[0]) if one.name not in required}
    return sorted((one for one in extras if refused_by_transformers(value, one.name)), key=str)


def is_stated(facts: Facts, fact_name: str) -> bool:
    """Whether a person, a freeze or a log says so, or a pin proposed beside these.

    What is installed is judged by its own metadata, what is declared by its own check, which leaves complete lists to this one: what
    `pip freeze` printed into a .txt file is no file for an installer.
    """
    origin = facts[fact_name].origin
    return not origin.source.startswith(("installed", REQUIRED)) and (
        origin.source == "pin" or facts.closed or not is_declared(facts[fact_name], facts)
    )


def _judge(facts: Facts, name: str, value: Exact, wanted: Dependency, *, compared: bool, beside: bool = False) -> Hit | None:
    """The hit of one requirement, if there is one; ``beside``: what is required may stand in a file for an installer."""
    other = f"{_PACKAGE}{wanted.name}"
    found = facts.value(other)
    requirement = f"{wanted.name}{wanted.specifier}"
    if not demands_hold(facts, wanted.marker):
        return None
    if "+" in value.text and wanted.name.startswith(OF_A_BUILD):
        return None  # what the index's build requires is of another CUDA
    if name == "torch" and is_of_another_cuda(facts, wanted.name, value.text):
        return None
    because = ((f"{_PACKAGE}{name}", f"requires {requirement}"),)
    by_transformers = name == "transformers" and refused_by_transformers(value, wanted.name)
    place = facts[f"{_PACKAGE}{name}"].origin
    if facts.lacks(wanted.name):
        if name == "torch" or not facts.closed:  # what a build of torch brings is no matter of metadata
            return None
        if name == "transformers" and wanted.name in WHERE_INSTALLED:
            return None
        detail = f"{name} {value} requires {requirement}, and {wanted.name} is not in the list"
        rule = BY_TRANSFORMERS if by_transformers and wanted.name != "tokenizers" else BY_ANOTHER if compared else MISSING
        return Hit(rule, True, because, detail=detail, packages=(name, wanted.name), pins=((wanted.name, wanted.specifier),),
                   file=place.file, line=place.line, yields=True)  # fmt: skip
    if not wanted.specifier or not isinstance(found, (Exact, Ranged)) or not (beside or is_stated(facts, other)):
        return None
    if isinstance(found, Ranged):
        apart = (
            bool(found.text)
            and "||" not in found.text
            and not compatible(wanted.name, wanted.specifier, found.text, release_texts(wanted.name))
        )
        detail = f"{name} {value} requires {requirement}, and {wanted.name} {found} is stated"
        return Hit(UNMET, True, (*because, (other, f"none in {wanted.specifier}")), detail=detail, packages=(name, wanted.name),
                   pins=((wanted.name, wanted.specifier),), file=place.file, line=place.line, yields=True) if apart else None  # fmt: skip
    public = exact(found.text.partition("+")[0])
    if version_condition(wanted.specifier).admits(found) or version_condition(wanted.specifier).admits(public):
        return None
    detail = f"{name} {value} requires {requirement}, and {wanted.name} {found} is stated"
    reasons = (*because, (other, f"not {wanted.specifier}"))
    by_another = compared or refused_by(name, value, wanted.name, public, wanted.specifier)
    rule = BY_TRANSFORMERS if by_transformers else BY_ANOTHER if by_another else UNMET
    return Hit(rule, True, reasons, detail=detail, packages=(name, wanted.name),
               pins=((wanted.name, wanted.specifier),), file=place.file, line=place.line, yields=True)  # fmt: skip


CHECKS = (stated_together,)
