"""Whether what was pasted shows who asked for what is missing: a frame of a package, or a line that names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.logs.asked import ATTRIBUTE, Asked
from envdoctor.logs.callers import asker_of
from envdoctor.logs.likely_callers import LikelyCaller, likely_callers
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

Pins: TypeAlias = "tuple[tuple[str, str], ...]"
_LINE_OF_CODE = re.compile(r"\S\w*\(|^\s*\w+ = ")
_IMPORTS = re.compile(r"^\s*(?:from|import) (?P<top>[A-Za-z_]\w*)")
# A name of an everybody's package with fewer letters, or without a digit or an underscore in it, is one that everybody writes.
_TELLING = 10


def callers_meant(asked: Asked, failure: Failure, facts: Facts, *, everybodys: bool) -> tuple[LikelyCaller, ...]:
    """Who may have asked, where nobody printed a frame or a line of code that says so."""
    if asked.told or says_who_asks(asked.symbol, asked.family, failure, everybodys=everybodys):
        return ()
    return likely_callers(asked.symbol, asked.bound.volume.name, facts)


def stays_with(provider: str, likely: Sequence[LikelyCaller]) -> str:
    """What to lower where the provider stays: the releases of likely callers before they asked for it."""
    before = [f"{name}{spec}" for one in likely for name, spec in one.pins() if spec.startswith("<")]
    return f"where {provider} stays, what is there of {', '.join(before)}" if before else ""


def order_pins(provider: Pins, caller: Pins, likely: Sequence[LikelyCaller], *, came: bool, stated: bool) -> Pins:
    """The pins of who lacks a name, of the caller that is shown, and of those that may have asked.

    What moved under its users is put back first; that they have followed since is the other way. Where the name ``came`` with a later
    release, who is too old is raised and no guessed caller lowered, but for the one that an installer took beside a ``stated`` release;
    torch is often what stays.
    """
    guessed = () if likely and likely[0].among else tuple(pin for one in likely for pin in one.pins())
    taken = stated and len(likely) == 1 and not likely[0].stated
    if came and taken:
        return tuple(dict.fromkeys((*guessed, *provider, *caller)))
    if came and not any(name == "torch" for name, _ in provider):
        guessed = ()
    return tuple(dict.fromkeys((*provider, *caller, *guessed)))


def says_who_asks(symbol: str, family: str, failure: Failure, *, everybodys: bool) -> bool:
    """Whether nobody else needs to be looked for.

    A last line that imports another package is not who asked: what that import led to was not pasted.
    """
    top, last = symbol.partition(".")[0], symbol.rpartition(".")[2]
    if everybodys and family == ATTRIBUTE and symbol.count(".") == 1 and not (len(last) >= _TELLING and re.search(r"[\d_]", last)):
        return True
    asker = asker_of(failure)
    if asker is not None:
        imported = _IMPORTS.match(asker.text)
        return bool(asker.package) or imported is None or package_of(imported["top"]) == package_of(top)
    if failure.frames:
        return True
    return _LINE_OF_CODE.search(failure.near) is not None
