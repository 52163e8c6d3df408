"""What every release has that was read, and the one that ran has not: it is older than these, or its files are not what ran."""

from __future__ import annotations

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.volume import Volume
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ARGUMENT, ATTRIBUTE, MODULE, NAME
from envdoctor.logs.callers import caller_of
from envdoctor.logs.not_found import tell_hidden
from envdoctor.logs.owners_anywhere import takers_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingAttribute, MissingModule, MissingName, RefusedKeyword, Statement
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace


def judge_older(statement: Statement, failure: Failure, facts: Facts) -> Hit | None:
    """The finding that an older release ran than any that was read; None where these differ, or one of them is stated."""
    if isinstance(statement, RefusedKeyword):
        return _took_always(statement, failure, facts)
    if isinstance(statement, (MissingName, MissingAttribute)) and statement.module and not statement.circular:
        symbol, family = f"{statement.module}:{statement.name}", NAME if isinstance(statement, MissingName) else ATTRIBUTE
    elif isinstance(statement, MissingModule) and "." in statement.name and not statement.shadowed:
        symbol, family = statement.name, MODULE
    else:
        return None
    bound = owner_of(symbol)
    told = None if bound is None else look_up(symbol)
    if bound is None or told is None or told.there != bound.volume.all:
        return None
    stated = facts.value(f"packages.{bound.volume.name}")
    if not isinstance(stated, Exact):
        return tell_hidden(symbol, family, bound.volume, failure)
    return _hit(symbol.replace(":", "."), family, bound.volume, failure, facts)


def judge_before(symbol: str, family: str, volume: Volume, failure: Failure, facts: Facts) -> Hit | None:
    """What the first release that was read has, and later ones gave up: the stated release is older than that."""
    first, stated = volume.releases[0], facts.value(f"packages.{volume.name}")
    if not isinstance(stated, Exact) or not admits(f"<{first}", stated):
        return None
    hit = _hit(symbol, family, volume, failure, facts)
    return None if hit is None else replace(hit, pins=((volume.name, f"=={first}"),))


def _took_always(statement: RefusedKeyword, failure: Failure, facts: Facts) -> Hit | None:
    """A keyword that the one function of its name takes in every release that was read."""
    symbols = takers_of(statement, failure, facts)
    bound = owner_of(symbols[0]) if symbols else None
    if bound is None:
        return None
    told = [look_up(f"{symbol}({statement.keyword})") for symbol in symbols]
    there = 0
    for one in told:
        if one is None or one.gone:
            return None
        there |= one.there
    if there != bound.volume.all:
        return None
    return _hit(f"{symbols[0].replace(':', '.')}({statement.keyword})", ARGUMENT, bound.volume, failure, facts)


def _hit(name: str, family: str, volume: Volume, failure: Failure, facts: Facts) -> Hit | None:
    first = volume.releases[0]
    stated = facts.value(f"packages.{volume.name}")
    known = isinstance(stated, Exact)
    if isinstance(stated, Exact) and not admits(f"<{first}", stated):
        return None
    caller = caller_of(failure, volume.name)
    verb, asks = ("does not take", "passes") if family == ARGUMENT else ("has no", "asks for")
    function, _, keyword = name.rstrip(")").partition("(")
    what = f"{volume.name} {stated.text}" if isinstance(stated, Exact) else f"this {volume.name}"
    told = f"{function}() of {what} {verb} {keyword}" if keyword else f"{what} {verb} {name}"
    detail = f"{told} (there from {first} on at the latest); {caller.words(facts, volume.name, asks)}"
    packages = tuple(dict.fromkeys(one for one in (volume.name, caller.package) if one))
    pins = ((volume.name, f">={first}"),)
    # Where no release is stated, a class of somebody's own may have the name.
    return Hit(family, True if known else None, (), detail=detail, packages=packages, pins=pins, edge=f"{caller.package or 'code'}:{name}")
