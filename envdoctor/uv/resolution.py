"""What an installer would take of what is declared, today or on a day before: the whole resolution, as uv makes it.

uv reads the metadata of the index; nothing is installed and no source distribution is built, because building runs its code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

from envdoctor.facts.fact import Collected, Defect, Fact, Origin, Skip
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.records import replace
from envdoctor.uv.asking import Question, Run, Told, answer, named, without_extras
from envdoctor.world.dependencies import dependencies
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

UNRESOLVABLE = "requirements-unresolvable"
_PACKAGE = "packages."


def resolved(
    stated: Collected, installation: Installation, *, day: str | None = None, beside: Sequence[str] = (), run: Run | None = None
) -> Collected:
    """What is declared with every package at the release that uv takes, and with the packages that those pull in.

    ``day`` (YYYY-MM-DD): only releases of that day and before. ``beside`` are requirements of others that are installed together
    with these. A package that comes without a wheel, or is on no index that was asked, is said, and the rest is resolved without it
    and without its dependencies; a release that does not go with it stays unknown, and so does what is there for such releases only.
    What cannot be resolved at all is a defect in uv's own words.

    Raises:
        EnvdoctorError: no uv, or no index that answers.
    """
    if not stated.wanted:
        return stated
    question = Question(stated.wanted, (*stated.constraints, *map(without_extras, beside)))
    found = answer(question, installation, day=day, run=run)
    skips = [Skip(f"what {_called(name, stated)} needs in its turn", why) for name, why in found.left_out.items()]
    if not found.conflict:
        return _with(stated, _beside(found.left_out, found.taken, stated, installation), day, skips)
    told = _named(found.conflict, stated)
    origins = {fact.name: fact.origin for fact in stated.facts}
    places = (origins.get(f"packages.{name}") for name in (*told, *map(named, stated.wanted)))
    first = next((origin for origin in places if origin is not None), Origin("the requirements"))
    defect = Defect(UNRESOLVABLE, f"uv: {found.conflict}", first.file, first.line, told)
    return replace(stated, defects=(*stated.defects, defect), skips=(*stated.skips, *skips))


def _called(name: str, stated: Collected) -> str:
    """A package as it is declared, else by its name."""
    return next((line for line in stated.wanted if named(line) == name), name)


def _beside(left_out: Iterable[str], pins: Mapping[str, Told], stated: Collected, installation: Installation) -> dict[str, Told]:
    """What was taken and may be taken beside the packages that were left out: uv did not look at those, and an installer will."""
    declared = {fact.name.removeprefix(_PACKAGE): fact.value for fact in stated.facts if fact.name.startswith(_PACKAGE)}
    apart = {name: value for name in left_out if isinstance(value := declared.get(name), (Exact, Ranged))}
    found = {
        name: told
        for name, told in pins.items()
        if not any(
            _refuses(name, told.version, other, value, installation)
            or (isinstance(value, Exact) and _refuses(other, value.text, name, exact(told.version), installation))
            for other, value in apart.items()
        )
    }
    gone = pins.keys() - found.keys()
    while useless := {name for name, told in found.items() if name not in declared and told.via and gone.issuperset(told.via)}:
        gone |= useless
        found = {name: told for name, told in found.items() if name not in useless}
    return found


def _refuses(name: str, version: str, other: str, value: Exact | Ranged, installation: Installation) -> bool:
    """Whether a release requires of another package what no release of it that is admitted satisfies."""
    required = dependencies(name, version.partition("+")[0]) or ()
    told = exact(value.text.partition("+")[0]) if isinstance(value, Exact) else value
    return any(
        one.name == other and version_condition(one.specifier).relation(told, release_texts(other)) is False
        for one in required
        if not one.marker or _may_hold(one.marker, installation)
    )


def _may_hold(marker: str, installation: Installation) -> bool:
    """Whether a requirement is made here, also where that cannot be judged."""
    try:
        return installation.applies(Marker(marker))
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName):
        return True


def _with(stated: Collected, pins: Mapping[str, Told], day: str | None, skips: Sequence[Skip]) -> Collected:
    """The facts with the versions taken; what nobody declared is said to come with the one that needs it."""
    when = f"resolved by uv as of {day}" if day else "resolved by uv"
    facts = {fact.name: fact for fact in stated.facts}
    for name, told in pins.items():
        fact = f"packages.{name}"
        declared = facts.get(fact)
        if declared is None:
            source = f"needed by {told.via[0]}, {when}" if told.via else when
            facts[fact] = Fact(fact, exact(told.version), replace(_origin(name, pins, stated) or Origin(when), source=source))
        elif not isinstance(declared.value, Exact):
            facts[fact] = Fact(fact, exact(told.version), replace(declared.origin, source=f"{declared.origin.source}, {when}"))
    # What was not read may be any package: only where all was understood is a package that is not there known to be absent.
    closed = not (skips or stated.skips or stated.defects)
    return replace(stated, facts=tuple(facts.values()), skips=(*stated.skips, *skips), closed=closed)


def _origin(name: str, pins: Mapping[str, Told], stated: Collected) -> Origin | None:
    """The line of the declared package that a release is there for in the end; None where uv's words lead to none."""
    declared = {fact.name.removeprefix("packages."): fact.origin for fact in stated.facts}
    asked, seen = [name], {name}
    for one in asked:
        if one in declared:
            return declared[one]
        above = [via for via in pins[one].via if via not in seen] if one in pins else []
        asked += above
        seen.update(above)
    return None


def _named(said: str, stated: Collected) -> tuple[str, ...]:
    """The declared packages that uv's words name, as they stand there."""
    names = [fact.name.removeprefix("packages.") for fact in stated.facts if fact.name.startswith("packages.")]
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", said)
    return tuple(dict.fromkeys(name for word in words for name in (canonical(word),) if name in names))
