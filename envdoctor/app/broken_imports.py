"""What the imports of a script, or of what runs a plan, come to and do not find, told before rules are judged."""

from __future__ import annotations

from envdoctor.app.gathered import Gathered
from envdoctor.checks.atlas import IMPORT_BREAKS, stack_of
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
    hits = [hit for hit in gathered.hits if hit.rule == IMPORT_BREAKS and hit.outcome is not None]
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
    reached = hits_of(replace(stack, idle=frozenset(stack.releases)), (entry,))
    more = tuple(replace(hit, outcome=False) if (hit.rule, hit.packages) in told else hit for hit in reached)
    return replace(gathered, hits=(*gathered.hits, *more)) if more else gathered
