"""What the releases of a package say of a symbol that an error asks for: which have it, which lack it, and how sure that is."""

from __future__ import annotations

from envdoctor.atlas.answers import Answer, owner_of
from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import stretches
from envdoctor.records import dataclass, replace
from envdoctor.world.releases import release_texts

NAME, MODULE, ATTRIBUTE, ARGUMENT = "error-name-missing", "error-module-missing", "error-attribute-missing", "error-argument-refused"
# c10/core/ScalarType.h of torch 2.1.0 has both types, and torch/_C/__init__.pyi from 2.2.0 on.
_EARLIER = {"torch.float8_e4m3fn": "2.1.0", "torch.float8_e5m2": "2.1.0"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: its full ``symbol``, the ``family`` of the finding, and the releases with and without it.

    ``maybe`` are those before the first without it, whose module makes names as it runs: that it fails later says that it is one of them.
    ``unsure``: of those without it nothing is known but that. ``open``: most releases give names to their objects as they run, and which
    of them did not is open. ``advice`` says how the code is written for those without it.
    """

    symbol: str
    family: str
    bound: Bound
    there: int
    gone: int
    told: str = ""
    maybe: int = 0
    unsure: bool = False
    open: bool = False
    advice: str = ""


def symbol_of(symbol: str, family: str) -> Asked | None:
    """What the releases say of a symbol; None where none of them has it, or none lacks it."""
    bound = owner_of(symbol)
    told = None if bound is None else look_up(symbol)
    if bound is None or told is None:
        return None
    told = _with_earlier(symbol, told, bound)
    plain = family in (NAME, MODULE, ATTRIBUTE) and "." not in symbol.partition(":")[2]
    unknown = bound.volume.all & ~told.there & ~told.gone
    newest = told.there >> (len(bound.volume.releases) - 1) & 1
    if family == ATTRIBUTE and not plain and newest and told.gone and told.gone.bit_count() <= unknown.bit_count():
        symbol, rest = symbol.replace(":", "."), bound.volume.all & ~told.there
        return Asked(symbol, family, bound, told.there, rest, unsure=True, open=True) if told.there else None
    if not told.gone:
        # Where the rest make names as they run, the error says that one of them does not make this one.
        rest = bound.volume.all & ~told.there
        one_side = bool(rest) and (rest < told.there & -told.there or rest & -rest > told.there)
        return Asked(symbol.replace(":", "."), family, bound, told.there, rest, unsure=True) if told.there and one_side else None
    maybe = _made_as_it_runs(bound, told.there, told.gone) if plain else 0
    if not told.there and not maybe and not (plain and _is_older(bound, told.gone)):
        return None
    return Asked(symbol.replace(":", "."), family, bound, told.there | maybe, told.gone, maybe=maybe)


def _with_earlier(symbol: str, told: Answer, bound: Bound) -> Answer:
    """The answer, where a compiled part gave a name before its stub had it."""
    since = _EARLIER.get(symbol.replace(":", "."))
    places = bound.volume.places
    if since is None or since not in places:
        return told
    also = bound.volume.all & ~((1 << places[since]) - 1)
    return replace(told, there=told.there | also, gone=told.gone & ~also)


def _made_as_it_runs(bound: Bound, there: int, gone: int) -> int:
    """The releases right before those without a name of which nobody can say whether they have it, where none before them has it."""
    first = stretches(gone)[0][0]
    maybe = bound.volume.all & ~there & ~gone & ((1 << first) - 1)
    return 0 if there & ((1 << first) - 1) or not maybe >> max(first - 1, 0) & 1 else maybe


def _is_older(bound: Bound, gone: int) -> bool:
    """Whether a name that no release has may be of those before the first that was read."""
    first = bound.volume.releases[0]
    before = release_texts(bound.volume.name)
    return gone == bound.volume.all and first in before and before.index(first) > 0


def has_it_always(asked: Asked) -> bool:
    """Whether each release that has a class has the member too, so that no release is to blame for an object without it."""
    has = look_up(asked.symbol.rpartition(".")[0])
    if asked.family != ATTRIBUTE or has is None or not has.there:
        return False
    return not has.there & ~asked.there and has.there != asked.bound.volume.all
