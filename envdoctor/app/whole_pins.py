"""Pins for what an installer refused that do not only move the contradiction: what is stated beside them admits them, or moves along."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.records import replace
from envdoctor.remedies.cures import Cure
from envdoctor.world.dependencies import dependencies, versions

# So many packages may have to follow the first one.
_MOST = 3


def as_whole(cures: Sequence[Cure], stated: Facts) -> tuple[Cure, ...]:
    """The cures with what has to follow their pins; without those that nothing makes whole, where others are left."""
    found = [(cure, _whole(cure.pins, stated) if cure.pins else {}) for cure in cures]
    kept = [replace(cure, pins=pins) if pins else cure for cure, pins in found if pins is not None]
    return tuple(kept) if any(cure.pins for cure in kept) else tuple(cures)


def takes_back(pins: Mapping[str, str], own: Collection[str], stated: Facts) -> bool:
    """Whether a package that only follows, and is not one of a finding's ``own``, goes to an earlier release than is stated."""
    followers = [(name, stated.value(f"packages.{name}"), pin) for name, pin in pins.items() if name not in own]
    return any(isinstance(value, Exact) and admits(f"<{_public(value.text)}", _public(pin)) for _, value, pin in followers)


def _whole(pins: Mapping[str, str], stated: Facts) -> dict[str, str] | None:
    """The pins with those of the stated packages that refuse them as they are; None where these have no release that does not."""
    found = dict(pins)
    for _ in range(_MOST):
        broken = broken_by(found, stated)
        if broken is None:
            return found
        release = next(_fitting(broken, found, stated), None)
        if release is None or broken in found:
            return None
        found[broken] = f"=={release}"
    return None


def broken_by(pins: Mapping[str, str], stated: Facts) -> str | None:
    """The first stated package whose release does not admit a pin; None where all of them do."""
    for fact in stated:
        name, value = fact.removeprefix("packages."), stated.value(fact)
        if not fact.startswith("packages.") or name in pins or not isinstance(value, Exact):
            continue
        for one in dependencies(name, value.text.partition("+")[0]) or ():
            pin = pins.get(one.name, "")
            if pin.startswith("==") and not one.marker and admits(one.specifier, _public(pin)) is False:
                return name
    return None


def _fitting(name: str, pins: Mapping[str, str], stated: Facts) -> Iterator[str]:
    """The releases of a stated package that admit the pins, the nearest later ones first."""
    value = stated.value(f"packages.{name}")
    known = versions(name)
    release = value.text.partition("+")[0] if isinstance(value, Exact) else ""
    place = known.index(release) if release in known else len(known)
    for text in (*known[place + 1 :], *reversed(known[:place])):
        asked = dependencies(name, text)
        if asked is not None and all(admits(one.specifier, _public(pins[one.name])) is not False for one in asked if one.name in pins):
            yield text


def _public(pin: str) -> str:
    """A pinned release without the label of its build."""
    return pin.removeprefix("==").partition("+")[0]
