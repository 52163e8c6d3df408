"""What to state so that an undecided rule is decided: ``NAME=VALUE``, as ``--set`` takes it, with a value under which the rule speaks."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from envdoctor.facts.versions import exact
from envdoctor.facts.vocabulary import term
from envdoctor.rules.conditions import All, AnyOf, Condition, Known, Leaf, Not, NumberIs, PackageIs, TextMatches, VersionIs

# What a machine of today has: an example, which a person puts right.
_EXAMPLES = {"cuda": "12.8", "cudnn": "9.7", "driver": "570", "glibc": "2.35", "python": "3.11", "gpu.compute_capability": "8.0",
             "gpu.memory_gib": "80"}  # fmt: skip
_BOUND = re.compile(r"\d+(?:\.\d+)*")


def suggest(condition: Condition | None, missing: Iterable[str], known: Known, stated: Container[str] = ()) -> tuple[str, ...]:
    """One setting for each missing fact; what a user has is to be put in its place. Without a condition, any value that there may be.

    ``stated`` are the names of the facts that there are: of several frameworks, one whose package is among them.
    """
    wanted = dict[str, str]()
    for leaf, sign in () if condition is None else _signed(condition, wanted=True):
        value = _value(leaf, known, sign, stated)
        before = wanted.get(leaf.fact)
        if value is not None and (before is None or (f"packages.{value}" in stated and f"packages.{before}" not in stated)):
            wanted[leaf.fact] = value
    return tuple(f"{name}={wanted[name] if name in wanted else _any_value(name, known)}" for name in missing)


def _signed(condition: Condition, *, wanted: bool) -> Iterator[tuple[Leaf, bool]]:
    if isinstance(condition, Not):
        yield from _signed(condition.part, wanted=not wanted)
    elif isinstance(condition, (All, AnyOf)):
        for part in condition.parts:
            yield from _signed(part, wanted=wanted)
    else:
        yield condition, wanted


def _value(leaf: Leaf, known: Known, wanted: bool, stated: Container[str] = ()) -> str | None:
    """A value for which a comparison comes to what is wanted; None where none is found."""
    if isinstance(leaf, PackageIs):
        if not wanted:
            return "false"
        fits = (one for one in reversed(known(leaf.package)) if not leaf.version.text or leaf.version.admits(exact(one)))
        return next(fits, None)
    if isinstance(leaf, VersionIs):
        bounds = _BOUND.findall(leaf.version.text)
        tried = (*bounds, *(f"{int(one.partition('.')[0]) + step}.0" for one in bounds for step in (-1, 1)))
        return next((one for one in tried if not one.startswith("-") and leaf.version.admits(exact(one)) is wanted), None)
    if isinstance(leaf, NumberIs):
        tried_numbers = (
            number for _, bound in leaf.clauses for number in (bound, bound + 1, *([] if 0 < bound < 1 else [bound - 1]), bound / 2)
        )
        return next((f"{number:g}" for number in tried_numbers if _is_within(leaf, number) is wanted), None)
    if isinstance(leaf, TextMatches):
        first = next((one for one in leaf.patterns if f"packages.{one}" in stated), leaf.patterns[0])
        return first.replace("*", "") if wanted else None
    if wanted:
        return _written(leaf.values[0])
    if isinstance(leaf.values[0], bool):
        return _written(not leaf.values[0])
    about = term(leaf.fact)
    return next((one for one in about.choices if one not in leaf.values), None) if about is not None else None


def _is_within(leaf: NumberIs, number: float) -> bool:
    from envdoctor.facts.fact import Fact, Facts, Origin
    from envdoctor.rules.conditions import holds

    return holds(leaf, Facts({leaf.fact: Fact(leaf.fact, number, Origin("a try"))}), lambda _: ()) is True


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _any_value(name: str, known: Known) -> str:
    """What is usual, or a value that the fact may have."""
    if name in _EXAMPLES:
        return _EXAMPLES[name]
    releases = known(name.removeprefix("packages.")) if name.startswith("packages.") else ()
    if releases:
        return releases[-1]
    about = term(name)
    if about is None:
        return "VALUE"
    if about.usual is not None:
        return _written(about.usual)
    kinds = {"bool": "false", "int": "1", "float": "1.0", "version": "1.0"}
    return about.choices[0] if about.choices else kinds.get(about.kind, "other")


__all__ = ["suggest"]
