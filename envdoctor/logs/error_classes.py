"""Which releases an error is of by its class, where Python printed the module of that, or by an address in its text."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.masks import write
from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace
from envdoctor.world.releases import release_texts

# pydantic puts its own minor release into the address that ends its errors: pydantic_core's ErrorType and pydantic/errors.py.
_PYDANTIC = re.compile(r"errors\.pydantic\.dev/(?P<minor>\d{1,3}\.\d{1,3})/")
_TOLD = re.compile(r"\breleases \d")


def with_releases_of_class(hit: Hit, failure: Failure, package: str) -> Hit:
    """A finding that tells no releases yet, with those that an error of this package's is of; as it was where nothing shows them."""
    if not package or package not in hit.packages or _TOLD.search(hit.detail):
        return hit
    told = _by_address(failure, package) or _by_class(failure, package)
    return replace(hit, detail="; ".join(filter(None, (hit.detail, told)))) if told else hit


def _by_address(failure: Failure, package: str) -> str:
    shown = _PYDANTIC.search(failure.message) if package == "pydantic" else None
    if shown is None:
        return ""
    minor = shown["minor"]
    found = [one for one in release_texts(package) if one.startswith(f"{minor}.") and one.replace(".", "").isdigit()]
    return f"the address in it is of {package}'s releases {found[0]}-{found[-1]}" if found else ""


def _by_class(failure: Failure, package: str) -> str:
    top = failure.home.partition(".")[0]
    # Of a compiled module nobody read which classes it has; that the package gives them at its top, its Python files say.
    for symbol in (f"{failure.home}:{failure.kind}", f"{top}:{failure.kind}") if failure.home else ():
        bound = owner_of(symbol)
        told = look_up(symbol) if bound is not None and bound.volume.name == package else None
        if bound is not None and told is not None and told.there:
            return f"there is {symbol.replace(':', '.')} in {package}'s releases {write(told.there, bound.volume.releases)}"
    return ""
