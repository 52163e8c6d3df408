"""Of what waits for a package that nothing names: what a stated release has just brought.

Who states a release that came out with a fault a few days before has the other package from the time before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from envdoctor.engine.finding import Finding
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.records import replace
from envdoctor.rules.conditions import PackageIs, accused
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import day_of, release_texts

_MOST_DAYS = 31
_MOST_SHOWN = 4


def show_what_was_brought(findings: Iterable[Finding], facts: Facts) -> tuple[Finding, ...]:
    """The findings, with those hidden ones shown that begin with a stated release, or with one of the month before it; a few at most."""
    told, shown = [], 0
    for one in findings:
        if shown < _MOST_SHOWN and one.hidden and one.severity != "note" and not one.weight.averted and _is_brought(one, facts):
            told.append(replace(one, hidden=False))
            shown += 1
        else:
            told.append(one)
    return tuple(told)


def _is_brought(finding: Finding, facts: Facts) -> bool:
    if any(_is_averted(setting, facts) for setting in finding.state):
        return False
    held = [reason.fact for reason in finding.because if reason.fact.startswith("packages.")]
    leaves = () if finding.rule.condition is None else accused(finding.rule.condition)
    return any(_begins_with(leaf, facts) for leaf in leaves if isinstance(leaf, PackageIs) and leaf.fact in held)


def _is_averted(setting: str, facts: Facts) -> bool:
    """Whether a stated release requires other releases of a package than the one under which a rule holds."""
    name, _, release = setting.removeprefix("packages.").partition("=")
    if not setting.startswith("packages.") or not release[:1].isdigit():
        return False
    for fact in facts.by_name.values():
        stated = fact.value
        if fact.name.startswith("packages.") and isinstance(stated, Exact):
            required = dependencies(fact.name.removeprefix("packages."), stated.text.partition("+")[0]) or ()
            if any(one.name == name and not version_condition(one.specifier).admits(exact(release)) for one in required):
                return True
    return False


def _begins_with(leaf: PackageIs, facts: Facts) -> bool:
    """Whether the accused releases of a package begin with the stated one, or not long before it, and there were others before these."""
    stated = facts.value(leaf.fact)
    if not isinstance(stated, Exact) or not leaf.version.text or not leaf.version.admits(stated):
        return False
    public = stated.text.partition("+")[0]
    first = ""
    for text in reversed(release_texts(leaf.package)):
        release = exact(text)
        if release.key is None or stated.key is None or release.key > stated.key:
            continue
        if not leaf.version.admits(release):
            break
        first = text
    else:
        return False
    own, begun = day_of(leaf.package, public), day_of(leaf.package, first) if first else None
    return own is not None and begun is not None and (date.fromisoformat(own) - date.fromisoformat(begun)).days <= _MOST_DAYS


__all__ = ["show_what_was_brought"]
