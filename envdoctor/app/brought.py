"""What files bring that they do not name: what a pin requires exactly, and what a list that is otherwise all there is does not lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact, parse_package
from envdoctor.world.dependencies import dependencies, extra_dependencies
from envdoctor.world.releases import newest

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

_PACKAGE = "packages."


def say_what_is_brought(facts: Facts, targets: Sequence[Target]) -> Facts:
    """The facts of a list that is all there is, with what declared packages bring along that it does not name: in some release.

    What a listed package needs was there when it was listed, but for the extras that a file asks for.
    """
    asked = {line: target.text for target in targets for line in target.collected.wanted} if facts.closed else {}
    if not asked:
        return facts
    from packaging.requirements import InvalidRequirement, Requirement

    brought: dict[str, Fact] = {}
    for line, file in asked.items():
        try:
            read = Requirement(line)
        except InvalidRequirement:
            continue  # the reader of the file has told of it
        for name in _brought(canonical(read.name), tuple(read.extras), facts):
            brought.setdefault(name, Fact(f"{_PACKAGE}{name}", parse_package("*"), Origin(f"comes with {line}", file)))
    return facts.with_facts(brought.values())


def _brought(package: str, extras: Sequence[str], facts: Facts) -> Iterator[str]:
    """The packages, by normalised name, that are not listed and come with this one, each once."""
    seen: set[str] = set()
    waiting = [(package, tuple(extras))]
    while waiting:
        name, asked = waiting.pop()
        value = facts.value(f"{_PACKAGE}{name}")
        release = value.text.partition("+")[0] if isinstance(value, Exact) else newest(name)
        if release is None:
            continue
        needed = [one for extra in asked for one in extra_dependencies(name, release, extra) or ()]
        if not isinstance(value, Exact):
            needed += dependencies(name, release, unbound=True) or ()
        for one in needed:
            if one.name not in seen:
                seen.add(one.name)
                waiting.append((one.name, one.extras))
                if f"{_PACKAGE}{one.name}" not in facts:
                    yield one.name


__all__ = ["say_what_is_brought"]


def say_what_is_required(facts: Facts, targets: Sequence[Target], installation: Installation | None) -> Facts:
    """The facts of files yet to be installed, with the releases that their pins leave no choice of; of a described stack, torch."""
    declaring = [target.collected for target in targets if target.collected.wanted]
    if declaring and all(one.apart for one in declaring):
        return facts
    from envdoctor.engine.required_pins import with_required_pins
    from envdoctor.world.installation import Installation

    elsewhere = [line.partition(" @ ")[0] for one in declaring for line in one.wanted if " @ " in line]
    required = with_required_pins(facts, installation or Installation(), elsewhere)
    if declaring:
        return required
    # Of a stack that somebody describes only the torch that a build of another package is for is as good as stated.
    return facts.with_facts(fact for name, fact in required.items() if name == f"{_PACKAGE}torch" and name not in facts)
