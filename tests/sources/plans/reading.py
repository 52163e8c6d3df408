"""Plans out of text, as facts that are compared whole."""

from __future__ import annotations

import textwrap
from pathlib import Path

from envdoctor.facts.fact import Collected, FactValue
from envdoctor.sources.plans.plan import collect_plan


def collect(folder: Path, text: str, name: str = "plan.yaml") -> Collected:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return collect_plan(path)


def stated(found: Collected) -> dict[str, FactValue]:
    """What the file itself says, defaults left out."""
    return {fact.name: fact.value for fact in found.facts if not fact.origin.source.startswith("default of")}


def defaults(found: Collected) -> dict[str, tuple[FactValue, str]]:
    return {fact.name: (fact.value, fact.origin.source) for fact in found.facts if fact.origin.source.startswith("default of")}


def lines(found: Collected) -> dict[str, int | None]:
    return {fact.name: fact.origin.line for fact in found.facts}


def skips(found: Collected) -> list[str]:
    return [skip.why for skip in found.skips]
