"""What a rule's lists leave out: who loads a package, where the atlas follows that, of methods of training some that are trained alike, and
variables that no reader of launchers and images hands on.

Of forty rules drawn at random more than half missed somebody, and most of these by a list that somebody had written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from envdoctor.facts.uses import ALLOCATOR, DIRECTORIES, SECRETS, SWITCHES
from envdoctor.rules.awaited import patterns_of

# Of what a list of imports answers: by what it shows that it does.
_ANSWERS = {
    "accelerate": "accelerate",
    "flash-attn": "flash_attn",
    "gptqmodel": "gptqmodel",
    "model": "transformers.*Model*",
    "peft": "peft",
    "torch": "torch",
    "transformers": "transformers",
}
# A closed list of them leaves out the next package that imports the same; of fewer names it is about these.
_MANY = 5
# accelerate.hooks counts as loaded by a tokenizer, of which some release gives it: there the list knows better.
_BETTER_LISTED = frozenset(("accelerate",))
# What its probe recorded is of the condition as it stands.
_RECORDED = frozenset(("chatglm-config-max-length",))
# Without an adapter these train the whole model: the readers of scripts, plans and commands say so of no other run.
_WHOLE = frozenset(("full", "pretrain"))
_BY_PREFERENCE = ("dpo", "kto", "orpo")
_VARIABLE = "env:"
_READ = frozenset((*ALLOCATOR, *DIRECTORIES, *SECRETS, *SWITCHES))


def left_out(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The key, what was found and what is expected, of each list in a rule's conditions that leaves somebody out."""
    asked = (pattern.removeprefix(_VARIABLE).partition("=")[0] for pattern in patterns_of(table) if pattern.startswith(_VARIABLE))
    for name in dict.fromkeys(one for one in asked if one not in _READ):
        yield "affected: calls", f"{_VARIABLE}{name}", "a variable of envdoctor/facts/uses.py: launchers and images hand on no other"
    affected = table.get("affected")
    if not isinstance(affected, Mapping):
        return
    if table.get("id") not in _RECORDED:
        loads = affected.get("loads", ())
        for names in _importers(affected):
            answered = [one for one in loads if one not in _BETTER_LISTED and _ANSWERS.get(one) in names]
            if answered and sum(name.isidentifier() for name in names) >= _MANY:
                found = f"a list of {len(names)} that import {answered[0]}"
                yield "affected: calls", found, f"loads = [{answered[0]!r}] alone: the atlas knows who else leads to it"
    for methods in _methods(affected):
        if methods >= _WHOLE and not methods.issuperset(_BY_PREFERENCE):
            missed = ", ".join(name for name in _BY_PREFERENCE if name not in methods)
            yield "affected: plan.method", "full and pretrain alone", f"with {missed}: they train the whole model where no adapter is made"


def _importers(value: object) -> Iterator[list[str]]:
    """The uses that a table waits for where a script was read, and for nothing where none was."""
    if isinstance(value, Mapping):
        choices = value.get("any")
        if isinstance(choices, list) and len(choices) == 2 and {"plan": {"script": False}} in choices:
            yield from (one["calls"] for one in choices if isinstance(one, Mapping) and set(one) == {"calls"})
        for inner in value.values():
            yield from _importers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _importers(inner)


def _methods(value: object, key: str = "") -> Iterator[set[str]]:
    """The lists of methods that conditions ask for, and not those that they spare."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name != "not":
                yield from _methods(inner, str(name))
    elif isinstance(value, list):
        if key == "method":
            yield set(map(str, value))
        else:
            for inner in value:
                yield from _methods(inner)
