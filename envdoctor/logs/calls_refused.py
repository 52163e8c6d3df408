"""Calls that do not fit: required arguments, too many of them, fields that another package's class has, methods that a class of the user's
overrides with the parameters of another release. For each the releases of one package under which the call fits, and under which not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.callables import lineage, open_dataclass, outer_bases
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.missing import signature_at, split
from envdoctor.atlas.signatures import Signature, read
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.callables_named import classes_called, classes_named, functions_called
from envdoctor.logs.callers import asker_of, caller_of
from envdoctor.logs.derived_classes import made_for
from envdoctor.logs.everyday_names import is_anybodys_class
from envdoctor.logs.fitting import ARGUMENT, Fitting
from envdoctor.logs.forward_calls import fit_forward
from envdoctor.logs.overridden_methods import calls_itself, defines, fit_override
from envdoctor.logs.owners_anywhere import classes_anywhere, methods_anywhere, needers_of, refusers_of
from envdoctor.logs.statements import MissingArguments, RefusedKeyword, TooManyArguments
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

_FIELD = ("=", ":")
# A function with a shorter name is anybody's.
_TELLING_FUNCTION = 16
_TELLING_CLASS = 7
_TELLING_TAIL = 10
# An argument with a shorter name is anybody's.
_TELLING_ARGUMENT = 5


def fit_call(statement: RefusedKeyword | MissingArguments | TooManyArguments, failure: Failure, facts: Facts) -> Fitting | None:
    """What the releases of one package say of a call that was refused; None where they do not tell it, or two packages do."""
    found = _only(_of_known(statement, failure, functions_called(statement.function, failure)))
    if found is None and isinstance(statement, TooManyArguments):
        found = _only(_of_known(statement, failure, refusers_of(statement, failure, facts)))
    if found is None and isinstance(statement, MissingArguments):
        found = _only(_of_known(statement, failure, needers_of(statement, failure, facts)))
    if found is None and isinstance(statement, (TooManyArguments, MissingArguments)):
        found = _only(_of_known(statement, failure, methods_anywhere(statement.function, failure, facts)))
    if found is None and isinstance(statement, RefusedKeyword):
        found = _only(_of_fields(statement, failure))
    found = found or fit_override(statement, failure)
    if found is None and not isinstance(statement, TooManyArguments):
        found = fit_forward(statement, failure)
    return found


def _only(found: Iterator[Fitting | None]) -> Fitting | None:
    known = [one for one in found if one is not None and (one.there or one.maybe) and one.gone]
    return known[0] if len({(one.there, one.gone, one.bound.volume.name) for one in known}) == 1 else None


def _of_known(
    statement: RefusedKeyword | MissingArguments | TooManyArguments, failure: Failure, symbols: Iterable[str]
) -> Iterator[Fitting | None]:
    """The functions of this name, by their own parameters."""
    if isinstance(statement, RefusedKeyword):
        return
    for symbol in symbols:
        bound = owner_of(symbol)
        if bound is None:
            continue
        module, first, rest = split(bound.volume, symbol)
        if rest and (not defines(f"{module}:{first}", rest[0]) or calls_itself(statement, failure, bound.volume.name)):
            continue  # Python names the class that defines it: one of the user's, of the same name
        method = bool(rest) or statement.function.endswith("__init__")
        if rest and isinstance(statement, TooManyArguments):
            method = not _is_static(statement, bound, module, first, rest[:1])
        fits = _needs(statement) if isinstance(statement, MissingArguments) else _holds(statement, method=method)
        there = gone = hidden = 0
        last = None
        for start, end in stretches(bound.volume.provides(module, first).there):
            for place in range(start, end + 1):
                told = read(signature_at(bound.volume, module, first, rest[:1], place))
                if told is None:
                    hidden |= 1 << place
                    continue
                there, gone = (there | 1 << place, gone) if fits(told) else (there, gone | 1 << place)
                last = last if fits(told) else told
        maybe = hidden & ((gone & -gone) - 1) if not there else 0
        by_name = _by_name(statement, last, method=method) if isinstance(statement, TooManyArguments) and last is not None else ""
        why = _taken_by_name(statement, last, method=method) if by_name and last is not None else _why(statement)
        yield Fitting(symbol, bound, there, gone, f"{_called(symbol)} of {bound.volume.name} {why}", by_name, maybe)


def _is_static(statement: TooManyArguments, bound: Bound, module: str, first: str, rest: Sequence[str]) -> bool:
    """Whether Python's count is that of a method without ``self``: as many as its parameters are in some release, and one more in none."""
    told = [read(signature_at(bound.volume, module, first, tuple(rest), place)) for place in range(len(bound.volume.releases))]
    counts = {len(one.positional) for one in told if one is not None}
    return statement.takes in counts and statement.takes - 1 not in counts


def _needs(statement: MissingArguments) -> Callable[[Signature], bool]:
    return lambda told: not set(statement.names) <= told.required


def _holds(statement: TooManyArguments, *, method: bool) -> Callable[[Signature], bool]:
    given = statement.given - method
    return lambda told: told.any_positional or len(told.positional) >= given


def _why(statement: MissingArguments | TooManyArguments) -> str:
    if isinstance(statement, MissingArguments):
        return f"needs {', '.join(statement.names)}, which the call does not pass"
    return f"takes fewer arguments by position than the {statement.given} of the call"


def _taken_by_name(statement: MissingArguments | TooManyArguments, told: Signature, *, method: bool) -> str:
    """Which of the arguments of a call are taken by name alone."""
    assert isinstance(statement, TooManyArguments)
    more = statement.given - method - len(told.positional)
    return f"takes {', '.join(told.keywords[:more])} by name alone, and the call passes {statement.given - method} by position"


def _by_name(statement: TooManyArguments, told: Signature, *, method: bool) -> str:
    """How the call is written where what stands behind the last position is taken by name alone."""
    more = statement.given - method - len(told.positional)
    if told.any_positional or not 0 < more <= len(told.keywords):
        return ""
    positions = ", ".join(told.positional)
    names = ", ".join(f"{name}=..." for name in told.keywords[:more])
    return f"pass by name what is passed by position: {statement.function}({', '.join(filter(None, (positions, names)))})"


def _called(symbol: str) -> str:
    return symbol.rpartition(":")[2] + "()"


# --- fields of dataclasses ---------------------------------------------------------------------------------


def _of_fields(statement: RefusedKeyword, failure: Failure) -> Iterator[Fitting | None]:
    """A field that a dataclass has in some releases, or that the class of another package has which it is made of."""
    owner, _, last = statement.function.rpartition(".")
    if last != "__init__" or not owner:
        return
    for symbol in classes_called(owner.rpartition(".")[2], failure):
        bound = owner_of(symbol)
        if bound is None:
            continue
        volume = bound.volume
        module, _, name = symbol.partition(":")
        there = gone = 0
        outer: set[str] = set()
        for start, end in stretches(volume.provides(module, name).there):
            for place in range(start, end + 1):
                sheets, _ = lineage(volume, module, name, place, dynamic=True)
                values = (sheet.methods.get(statement.keyword, {}) for sheet in sheets)
                has = any(mask >> place & 1 for one in values for value, mask in one.items() if value in _FIELD)
                there, gone = (there | 1 << place, gone) if has else (there, gone | 1 << place)
                outer |= outer_bases(volume, module, name, place)
        if there:
            yield Fitting(f"{symbol}({statement.keyword})", bound, there, gone)
            continue
        for base in sorted(outer):
            told, whose = look_up(f"{base}({statement.keyword})"), owner_of(base)
            if told is not None and whose is not None and told.there and told.gone:
                said = f"{name} of {volume.name} is made of {base.replace(':', '.')}, which has no {statement.keyword}"
                yield Fitting(f"{base}({statement.keyword})", whose, told.there, told.gone, said)


def judge_never_taken(statement: RefusedKeyword, failure: Failure, facts: Facts) -> Hit | None:
    """A keyword that no release of the one function of this name takes: who passes it means another release than was read, or another
    function."""
    named = list(functions_called(statement.function, failure))
    if not named and statement.function.endswith(".__init__"):
        named = list(classes_anywhere(statement.function.split(".")[-2], failure, facts))
    # Before Python 3.10 the class is not told; the line that called it is.
    called = named[0].rpartition(":")[2] if named and statement.function == "__init__" else statement.function
    telling = (
        "." in called
        or ("_" in called and len(called) >= _TELLING_FUNCTION)
        or (called is not statement.function and len(called) >= _TELLING_CLASS)
    )
    if (not telling and not failure.packages) or any(_may_take(one, statement.keyword) for one in named):
        # A bare name is anybody's, and a class takes what the class of another package takes that it is made of.
        return None
    owners = {bound.volume.name: bound for one in named if (bound := owner_of(one)) is not None}
    if len(owners) != 1:
        return None
    told = [look_up(f"{one}({statement.keyword})") for one in named]
    if any(one is None or one.there or not one.gone for one in told):
        return None
    ((package, bound),) = owners.items()
    caller = caller_of(failure, package)
    known = caller.package or package in failure.packages or facts.value(f"packages.{package}") is not None
    if not known and (is_anybodys_class(called.split(".")[0], package) or _has_namesakes(called.split(".")[0], package)):
        return None  # nobody says that it is not a class of the project's own, or of another package
    newest = bound.volume.releases[-1]
    asker = asker_of(failure)
    itself = asker is not None and _passes_it_itself(asker, package)
    none = f"{called}() of {package} takes no {statement.keyword} in any release until {newest}"
    if itself and asker is not None:
        none = f"{called}(), which takes no {statement.keyword} in any release until {newest}"
        detail = f"{package} itself passes it to {none} ({place_of(asker)}): a state between two releases, or files of two that are mixed"
    else:
        passes = caller.words(Facts({}), package, "passes")
        detail = f"{none}; {passes}: it was written for another release, or for another function of this name"
    by = package if itself else caller.package
    packages = tuple(dict.fromkeys(name for name in (package, by) if name))
    edge = f"{by or 'code'}:{named[0]}({statement.keyword})"
    made = called.removesuffix(".__init__").rpartition(".")[2]
    if failure.frames and re.search(rf"\b{re.escape(made)}\(\*\*\w", failure.frames[-1].text):
        # https://github.com/A-Stangeland/SolarDetection/issues/8
        detail = f"{made}() of {package} takes no {statement.keyword}: it is a key of the dictionary that ** hands over there"
        advice = f"the dictionary itself, without **, where {made}() takes one; else without the key {statement.keyword}"
        return Hit(ARGUMENT, True, (), detail=detail, packages=packages, edge=edge, advice=advice)
    near = _like(bound, named[0], statement.keyword)
    advice = (
        f"{near} in place of {statement.keyword}" if near else f"leave {statement.keyword} out, or take the fork that it was written for"
    )
    if itself:
        advice = f"pip install --upgrade --force-reinstall {package}"
    if derived := made_for(called.partition(".")[0], statement.keyword):
        advice = f"{' or '.join(derived)} in place of {called.partition('.')[0]}: it has {statement.keyword}"
    return Hit(ARGUMENT, True, (), detail=detail, packages=packages, edge=edge, advice=advice)


def _has_namesakes(cls: str, package: str) -> bool:
    """Whether another package has a class of that name."""
    return cls[:1].isupper() and any((bound := owner_of(one)) is not None and bound.volume.name != package for one in classes_named(cls))


def _passes_it_itself(asker: Frame, package: str) -> bool:
    """Whether the line that makes the call is the package's own, and does not hand on what the user wrote, as from_pretrained does."""
    handed = "**" in asker.text if asker.text else asker.function.rpartition(".")[2].startswith("from_")
    return package_of(asker.package or "") == package and not handed


def _like(bound: Bound, symbol: str, keyword: str) -> str:
    """The argument of the newest release whose name is nearly the same; empty where none is."""
    from difflib import get_close_matches

    place = len(bound.volume.releases) - 1
    module, first, rest = split(bound.volume, symbol)
    known = open_dataclass(bound.volume, module, first, place) if not rest else None
    told = read(signature_at(bound.volume, module, first, rest[:1], place))
    names = {*(known[0] if known is not None else ()), *((*told.positional, *told.keywords) if told is not None else ())}
    for base in outer_bases(bound.volume, module, first, place) if not rest else ():
        whose = owner_of(base)
        if whose is not None:
            outside, name, _ = split(whose.volume, base)
            signature = read(signature_at(whose.volume, outside, name, (), len(whose.volume.releases) - 1))
            names |= {*signature.positional, *signature.keywords} if signature is not None else set()
    near = next(iter(get_close_matches(keyword, names, n=1, cutoff=0.8)), "")
    # accelerator_project_config for project_config: what it was called in a state that was never released.
    return near or next((name for name in names if len(name) >= _TELLING_TAIL and keyword.endswith(f"_{name}")), "")


def _may_take(symbol: str, keyword: str) -> bool:
    """Whether a class may take a keyword of a class of another package that it is made of."""
    if not has_outside_bases(symbol):
        return False
    bound = owner_of(symbol)
    assert bound is not None
    module, _, name = symbol.partition(":")
    bases = outer_bases(bound.volume, module, name.partition(".")[0], len(bound.volume.releases) - 1)
    told = [look_up(f"{base}({keyword})") for base in bases]
    return any(one is None or one.there or not one.gone for one in told)


def has_outside_bases(symbol: str) -> bool:
    """Whether a class is made of one of another package, whose parameters it may take; not where it says itself what it takes."""
    bound = owner_of(symbol)
    if bound is None:
        return False
    module, _, name = symbol.partition(":")
    chunk = bound.volume.chunk(module)
    if chunk is not None and (sheet := chunk.classes.get(name)) is not None and "__init__" in sheet.methods:
        return False
    return bool(outer_bases(bound.volume, module, name.partition(".")[0], len(bound.volume.releases) - 1))
