"""What somebody says by hand that a script uses, against the stated releases: names and arguments that they do not have."""

from __future__ import annotations

from functools import lru_cache

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES, read_use
from envdoctor.facts.versions import Exact

_CODE_BREAKS = "code-breaks"


def stated_uses(facts: Facts) -> tuple[Hit, ...]:
    """A finding for each name, or argument of a call, that the stated release of its package is known not to have.

    What a script shows has places, and is read as the script is; what is stated by hand has none. A pattern with ``*``, or one of any
    object (``?.save``), says of no name that it is used.
    """
    fact = facts.by_name.get(CODE_USES)
    if fact is None or fact.places or not isinstance(fact.value, tuple):
        return ()
    found: dict[str, Hit] = {}
    for name, keywords in (symbols for use in fact.value if (symbols := _symbols(str(use)))):
        release = facts.value(f"packages.{_owner(name)}")
        if not isinstance(release, Exact) or name in found:
            continue
        missing = _missing(name, release.text)
        # Of what is not there no argument is asked for.
        asked = {name: missing} if missing else {symbol: _missing(symbol, release.text) for symbol in keywords}
        found |= {symbol: hit for symbol, hit in asked.items() if hit is not None}
    return tuple(found.values())


def _symbols(text: str) -> tuple[str, tuple[str, ...]] | None:
    """A name, and each keyword that it is called with: ``trl.GRPOConfig(top_p)``."""
    use = read_use(text)
    if use.kind != "name" or "*" in use.name or "?" in use.name or use.value is not None or "." not in use.name:
        return None
    return use.name, tuple(f"{use.name}({key})" for key in use.arguments or () if key.isidentifier())


@lru_cache(maxsize=1024)
def _owner(symbol: str) -> str:
    from envdoctor.atlas.answers import owner_of

    bound = owner_of(symbol)
    return "" if bound is None else bound.volume.name


@lru_cache(maxsize=1024)
def _missing(symbol: str, release: str) -> Hit | None:
    """The finding that a release does not have a symbol; None where it has it, may have it, or no release was seen to have it."""
    from envdoctor.atlas.answers import answer, owner_of
    from envdoctor.atlas.stack import holds, places
    from envdoctor.atlas.words import good_specifiers, since

    one, bound = answer(symbol), owner_of(symbol)
    where = places(bound.volume, release) if bound is not None else ()
    if one is None or bound is None or not one.there or not where or not holds(one.gone, where):
        return None
    when = since(bound.volume, one.gone, where[-1], one.there)
    name, _, keyword = symbol.rstrip(")").partition("(")
    did = f"calls {name}({keyword})" if keyword else f"uses {name}"
    pins = tuple((bound.volume.name, specifier) for specifier in good_specifiers(bound.volume, bound.volume.all & ~one.there, where[-1]))
    return Hit(
        _CODE_BREAKS,
        True,
        ((f"packages.{bound.volume.name}", when), (CODE_USES, did)),
        detail=f"{did}: {when} ({bound.volume.name} {release})",
        packages=(bound.volume.name,),
        pins=pins,
        yields=True,
        names=(keyword or name.rpartition(".")[2],),
        edge=symbol,
    )


CHECKS = (stated_uses,)
