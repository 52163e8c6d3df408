"""What the imports of a script, or of what runs a plan, come to and do not find, told before rules are judged."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.app.gathered import Gathered
from envdoctor.checks.atlas import IMPORT_BREAKS, atlas_breaks, stack_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.vocabulary import BROKEN_IMPORTS, NOT_LOADED
from envdoctor.records import replace

# What the command that runs a plan imports, whatever the plan says.
_RUN_BY = {
    "axolotl": ("axolotl", "axolotl.train:train"),
    "llamafactory": ("llamafactory", "llamafactory.train.tuner:run_exp"),
    "ms-swift": ("ms-swift", "swift.llm:sft_main"),
}


def say_what_breaks(gathered: Gathered) -> Gathered:
    """The situation with the imports that fail in it, as far as it is certain that somebody comes to them."""
    gathered = _with_framework(gathered)
    hits = list(_certain(gathered))
    edges = tuple(sorted({edge for hit in hits for edge in hit.edges}))
    if not edges or BROKEN_IMPORTS in gathered.facts:
        return gathered
    facts = [Fact(BROKEN_IMPORTS, edges, Origin("imports"))]
    if (unused := gathered.facts.by_name.get(NOT_LOADED)) is not None and isinstance(unused.value, tuple):
        loaded = {package for hit in hits for package in hit.packages}
        facts.append(replace(unused, value=tuple(one for one in unused.value if one not in loaded)))
    situation = replace(gathered.situation, facts=gathered.facts.with_facts(facts))
    return replace(gathered, situation=situation, derived=gathered.derived.with_facts(facts))


def _with_framework(gathered: Gathered) -> Gathered:
    """The situation with what the framework of a plan does not find when it is started."""
    entry = _RUN_BY.get(gathered.derived.text("plan.trainer") or "")
    plans = any(target.kind == "plan" for target in gathered.targets)
    if entry is None or not plans or f"packages.{entry[0]}" not in gathered.derived:
        return gathered
    from envdoctor.checks.atlas import hits_of

    stack = stack_of(gathered.derived)
    told = {(hit.rule, hit.packages) for hit in (*hits_of(stack, ()), *gathered.hits)}
    more = tuple(hit for hit in hits_of(stack, (entry,)) if (hit.rule, hit.packages) not in told)
    return replace(gathered, hits=(*gathered.hits, *more)) if more else gathered


def _certain(gathered: Gathered) -> Iterator[Hit]:
    """The hits at imports that somebody writes, and where a script shows all that it loads those of what it loads."""
    hits = gathered.hits
    if NOT_LOADED in gathered.derived:
        hits = (*hits, *atlas_breaks(gathered.derived))
    return (hit for hit in hits if hit.rule == IMPORT_BREAKS and hit.outcome)
