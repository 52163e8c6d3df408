"""Which releases a rule accuses, told where the text shows its fault and nobody stated the release that ran."""

from __future__ import annotations

from envdoctor.atlas.masks import write
from envdoctor.engine.finding import AFFECTED
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import exact
from envdoctor.rules.conditions import PackageIs, accused
from envdoctor.rules.rule import Rule
from envdoctor.world.releases import release_texts

# A rule that lists more stretches tells releases that no reader compares with a list.
_MOST_STRETCHES, _MOST_PACKAGES = 4, 2


def tell_affected(rule: Rule, facts: Facts) -> str:
    """``affected: nltk, releases 3.8.2-`` for the packages whose release the rule asks for and nobody stated; empty without any."""
    if rule.affected is None:
        return ""
    ranges: dict[str, list[PackageIs]] = {}
    for leaf in accused(rule.affected):
        if isinstance(leaf, PackageIs) and leaf.version.text and leaf.package in rule.packages:
            ranges.setdefault(leaf.package, []).append(leaf)
    told = [
        f"{package}, releases {spans}"
        for package, leaves in list(ranges.items())[:_MOST_PACKAGES]
        if facts.value(f"packages.{package}") is None and (spans := _spans(package, leaves))
    ]
    return f"{AFFECTED}{'; '.join(told)}" if told else ""


def _spans(package: str, leaves: list[PackageIs]) -> str:
    """The known releases that one of the ranges admits; empty where these are all, none, or in too many stretches."""
    known = release_texts(package)
    mask = sum(1 << place for place, text in enumerate(known) if any(leaf.version.admits(exact(text)) for leaf in leaves))
    spans = write(mask, known) if mask and mask != (1 << len(known)) - 1 else ""
    return spans if spans.count(",") < _MOST_STRETCHES else ""
