"""What the script that a command starts shows by itself, beside what the command tells it.

A flag that fills a setting of the script's own takes away what follows from the default of that setting: the flag's value is not traced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.vocabulary import UNCLEAR, WHOLE
from envdoctor.sources.launches.programs import Launch, flags
from envdoctor.sources.plans.deepspeed import beside
from envdoctor.sources.plans.training_arguments import DEFAULTS, DIRECT


class ReadScript(Protocol):
    """What reads a Python script; ``given`` are the flags that fill its settings, by their names with underscores."""

    def __call__(self, path: Path, /, *, given: Mapping[str, str] | None = None) -> Collected: ...


# What a script decides, however it is started and beside whatever else is.
_WHO_TRAINS = frozenset(("plan.trainer", "plan.method", "plan.resume"))
_OF_ARGUMENTS = frozenset((*(fact for fact, _ in DEFAULTS), *(fact for _, fact in DIRECT), "plan.distributed", "plan.offload"))
# Of a script that was given by itself: whoever starts it loads more.
_OF_THE_FILE = "plan.script"
_SETTING = re.compile(r"default of --?([\w-]+) in ")
_MOST_FLAGS = 200
_PLANS = (".yaml", ".yml", ".json")


def script_of(path: Path, launch: Launch, read: ReadScript | None) -> tuple[Fact, ...]:
    """What is read of the Python script that is started, where it lies there."""
    script = beside(path, launch.tool) if launch.tool.endswith(".py") else None
    try:
        return () if script is None or read is None else read(script, given=_given(launch)).facts
    except EnvdoctorError:
        return ()


def _given(launch: Launch) -> dict[str, str]:
    """The flags that are given one known word, or stand alone; none where the command hands on what nobody sees."""
    values, _, _ = flags(launch.arguments)
    if "" in values or len(values) > _MOST_FLAGS:
        return {}
    told = {name.replace("-", "_"): pieces for name, pieces in values.items() if len(pieces) < 2 and all(one.known for one in pieces)}
    return {name: pieces[0].text if pieces else "" for name, pieces in told.items()}


def is_one_run(path: Path, launches: Iterable[Launch], read: ReadScript | None) -> bool:
    """Whether one command trains, and what the others start lies there and makes no Trainer: data that are made ready."""
    several = list(launches)
    if len(several) == 1:
        return True
    scripts = [() if launch.starters else script_of(path, launch, read) for launch in several]
    return sum(not script or trains(script) for script in scripts) == 1


def trains(script: Iterable[Fact]) -> bool:
    return any(fact.name == "plan.trainer" for fact in script)


def shows_uses(script: Iterable[Fact]) -> bool:
    return any(fact.name == CODE_USES for fact in script)


def add_script(facts: dict[str, Fact], script: Iterable[Fact], launch: Launch, *, alone: bool, parses: bool) -> None:
    """Fill gaps of what a command says with what its script shows.

    ``alone``: nothing else is started, so that all of the script is about this run. ``parses``: the script has a parser of its own, which
    no training arguments fill.
    """
    script = tuple(script)
    if not alone or not trains(script):
        for fact in script:
            if fact.name in _WHO_TRAINS or (alone and fact.name == CODE_USES):
                facts.setdefault(fact.name, fact)
        return
    values, _, before = flags(launch.arguments)
    given = {name.replace("-", "_") for name in values}
    by_file = any(piece.text.endswith(_PLANS) for piece in (*before, *(piece for pieces in values.values() for piece in pieces)))
    filled: set[str] = set()
    for fact in script:
        if not fact.name.startswith(("plan.", "model.")) or fact.name in (_OF_THE_FILE, UNCLEAR):
            continue
        setting = _SETTING.match(fact.origin.source)
        if setting is not None and (by_file or "" in given or setting[1].replace("-", "_") in given):
            filled.add(fact.name)
            continue
        had = facts.get(fact.name)
        if had is None or (is_default(had) and (setting is not None or not is_default(fact))):
            facts[fact.name] = fact
    _leave_unclear(facts, script, filled, parses=parses)


def _leave_unclear(facts: dict[str, Fact], script: Iterable[Fact], filled: set[str], *, parses: bool) -> None:
    """Keep the defaults away from what the script decides and does not show, as far as the command does not say it."""
    unclear = next((fact for fact in script if fact.name == UNCLEAR), None)
    names = {*filled, *(unclear.value if unclear is not None and isinstance(unclear.value, tuple) else ())}
    whole = facts.get(WHOLE)
    if not parses and whole is not None and whole.value is True and "plan.arguments" in facts:
        # The command has all training arguments.
        names -= _OF_ARGUMENTS - filled
    names -= {name for name, fact in facts.items() if not is_default(fact)}
    for name in names:
        facts.pop(name, None)
    if names:
        origin = unclear.origin if unclear is not None else next(iter(script)).origin
        facts[UNCLEAR] = Fact(UNCLEAR, tuple(sorted(names)), origin)


def is_default(fact: Fact) -> bool:
    return fact.origin.source.startswith("default of")
