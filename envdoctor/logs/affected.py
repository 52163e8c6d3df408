"""Which releases a rule accuses, told where the text shows its fault and nobody stated the release that ran."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from envdoctor.atlas.masks import write
from envdoctor.engine.finding import AFFECTED
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact
from envdoctor.rules.conditions import All, AnyOf, Condition, PackageIs, accused
from envdoctor.rules.rule import Rule
from envdoctor.world.releases import release_texts

# A rule that lists more stretches tells releases that no reader compares with a list.
_MOST_STRETCHES, _MOST_PACKAGES = 4, 2


def tell_affected(rule: Rule, facts: Facts) -> str:
    """``affected: nltk, releases 3.8.2-`` for the packages whose release the rule asks for and nobody stated; empty without any."""
    if rule.affected is None:
        return ""
    ranges = dict.fromkeys(leaf.package for leaf in accused(rule.affected) if isinstance(leaf, PackageIs) and leaf.version.text)
    named = [package for package in ranges if package in rule.packages][:_MOST_PACKAGES]
    told = [
        f"{package}, releases {spans}"
        for package in named
        if facts.value(f"packages.{package}") is None and (spans := _spans(package, rule.affected, facts))
    ]
    return f"{AFFECTED}{'; '.join(told)}" if told else ""


def _spans(package: str, condition: Condition, facts: Facts) -> str:
    """The known releases that the condition admits; empty where these are all, none, or in too many stretches."""
    known = release_texts(package)
    mask, _ = _admitted(condition, package, known, facts)
    spans = write(mask, known) if mask and mask != (1 << len(known)) - 1 else ""
    return spans if spans.count(",") < _MOST_STRETCHES else ""


def _admitted(condition: Condition, package: str, known: Sequence[str], facts: Facts) -> tuple[int | None, bool]:
    """The releases of a package that a condition admits, as a mask, and whether each of its alternatives says which; None: it does not ask.

    An alternative that does not ask leaves what stands around it as it is: of `>=4.52.0, <4.52.4` and, as one of two ways, `<4.52.1`
    the first alone tells.
    """
    if isinstance(condition, PackageIs) and condition.package == package and condition.version.text:
        return sum(1 << place for place, text in enumerate(known) if condition.version.admits(exact(text))), True
    if isinstance(condition, PackageIs) and isinstance(stated := facts.value(f"packages.{condition.package}"), Exact):
        # An alternative that is of another release than the stated one admits none: triton 3.2 is that of torch 2.6.
        return (None, False) if not condition.version.text or condition.version.admits(stated) else (0, True)
    if not isinstance(condition, (All, AnyOf)):
        return None, False
    found = [(mask, whole) for mask, whole in (_admitted(part, package, known, facts) for part in condition.parts) if mask is not None]
    if not found:
        return None, False
    if isinstance(condition, AnyOf):
        return reduce(or_, (mask for mask, _ in found)), len(found) == len(condition.parts) and all(whole for _, whole in found)
    sure = [mask for mask, whole in found if whole]
    return reduce(and_, sure or [mask for mask, _ in found]), bool(sure)
