"""What a file's other extras and groups say of a stack that stands beside one of them: pins of a choice that is not there accuse nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Collected, Fact, Skip
from envdoctor.facts.values import shown
from envdoctor.facts.versions import ABSENT, Exact
from envdoctor.records import replace
from envdoctor.sources.situation import contradict

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target

_PACKAGES = "packages."
# A Dockerfile's stages are of other images; what one of them pins says nothing of the next.
_KINDS = ("requirements", "lock")


def set_aside_pins(chosen: Sequence[Target], offered: Sequence[Target], stack: Iterable[Collected]) -> tuple[Target, ...]:
    """The chosen targets without the pins that no installation has beside the stack.

    A lock, or a manifest's extras, are one answer: where every choice that has a package of the stack pins it otherwise, the choices
    that lack it are not installed beside that stack either. An extra or group is not installed where a complete stack lacks a package of
    it, or where a stated stack has none of its packages and has some that only another extra or group brings.
    ``offered`` are the targets before one choice was taken of each, in the same order.
    """
    stack = tuple(stack)
    there = {fact.name: fact for found in stack for fact in _pins(found)}
    if not there:
        return tuple(chosen)
    closed = any(found.closed for found in stack)
    return tuple(_set_aside(one, whole, there, closed=closed) for one, whole in zip(chosen, offered, strict=True))


def _set_aside(one: Target, whole: Target, there: dict[str, Fact], *, closed: bool) -> Target:
    if one.kind not in _KINDS or not whole.others:
        return one
    why = _find_another_stack(one, whole, there) or _find_absence(one, whole, there, closed=closed)
    if not why:
        return one
    kept = tuple(fact for fact in one.collected.facts if not fact.name.startswith(_PACKAGES))
    told = Skip(one.text, f"{why}: what they pin is not put beside it")
    return replace(one, collected=replace(one.collected, facts=kept, skips=(*one.collected.skips, told)))


def _find_another_stack(one: Target, whole: Target, there: dict[str, Fact]) -> str:
    """The package of the stack that this choice lacks and all the choices with it pin otherwise, in words; empty where there is none."""
    here = {fact.name for fact in _pins(one.collected)}
    beside: dict[str, list[bool]] = {}
    pinned: dict[str, Fact] = {}
    for found in (whole.collected, *(variant.collected for variant in whole.others)):
        for fact in _pins(found):
            stated = there.get(fact.name)
            if fact.name not in here and stated is not None and isinstance(stated.value, Exact):
                beside.setdefault(fact.name, []).append(contradict(fact, stated))
                pinned.setdefault(fact.name, fact)
    for name, told in beside.items():
        if all(told):
            package, asked = name.removeprefix(_PACKAGES), shown(pinned[name].value)
            return f"its extras and groups that have {package} ask for {asked}, and the stack has {shown(there[name].value)}"
    return ""


def _find_absence(one: Target, whole: Target, there: dict[str, Fact], *, closed: bool) -> str:
    """Why this choice is not what is installed, in the same words for all of a file: the stack lacks what it adds; else empty."""
    if one.collected is whole.collected:
        return ""
    always = {fact.name for fact in _pins(whole.collected)}
    own = _list_own(one.collected, always)
    lacking = [name for name in own if name not in there]
    others = (_list_own(variant.collected, always) for variant in whole.others if variant.collected is not one.collected)
    told = closed or (len(lacking) == len(own) and any(name in there for names in others for name in names if name not in own))
    return "it has extras or groups that are not installed in this stack" if lacking and told else ""


def _list_own(found: Collected, always: set[str]) -> list[str]:
    return [fact.name for fact in _pins(found) if fact.name not in always]


def _pins(found: Collected) -> Iterator[Fact]:
    return (fact for fact in found.facts if fact.name.startswith(_PACKAGES) and fact.value != ABSENT)
