"""The runs that a notebook starts by commands: ``!llamafactory-cli train plan.yaml``, ``!accelerate launch train.py``."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.fact import Collected, Fact
from envdoctor.facts.same_uses import list_same
from envdoctor.facts.uses import CODE_USES, DIRECTORIES, SWITCHES
from envdoctor.files.text import plain
from envdoctor.records import replace
from envdoctor.sources.scripts.shell import each_script, handed_over
from envdoctor.sources.scripts.source import Source

_TRAINER = "plan.trainer"
_STARTS = ("accelerate", "axolotl", "deepspeed", "llamafactory-cli", "lmf ", "megatron", "swift", "torchrun", "trl ", "tune ")
# What runs a plan that a command names: a script has none of its Trainers.
_RUN_PLANS = ("axolotl", "llamafactory", "ms-swift", "torchtune")
_ASKED = frozenset((*SWITCHES, *DIRECTORIES))
_MOST = 32


def with_launched(found: Collected, source: Source) -> Collected:
    """What a notebook says, with what its commands tell the runs that they start; where it makes a Trainer itself, that is the run."""
    if any(fact.name == _TRAINER and fact.value not in _RUN_PLANS for fact in found.facts):
        return found
    lines = [line for line in each_script(source) if any(word in line.text for word in _STARTS)]
    if not lines:
        return found
    from envdoctor.sources.launches.launcher import agreed
    from envdoctor.sources.launches.script import read_script
    from envdoctor.sources.launches.settings import told_by

    path = Path(source.path)
    said = []
    variables: dict[str, int] = {}
    for line in lines[:_MOST]:
        for launch in read_script(handed_over(line)).launches:
            told = told_by(path, launch)
            above = line.line - 1
            told.facts = {name: _placed(fact, source, above) for name, fact in told.facts.items()}
            own = f"{plain(source.path, 4096)}:{launch.line}"
            told.skips = [replace(skip, what=source.place(above + launch.line)) if skip.what == own else skip for skip in told.skips]
            set_ = {name: piece for name, piece in launch.environment.items() if name in _ASKED and piece.known}
            set_uses = [same for name, piece in set_.items() for same in list_same(f"env:{name}={piece.text}")]
            variables |= dict.fromkeys(set_uses, above + launch.line)
            if told.facts:
                said.append((replace(launch, line=above + launch.line), told))
    if not said:
        return found
    skips = list(found.skips)
    launched = agreed(str(path), said, skips)
    skips += [skip for _, told in said for skip in told.skips if skip not in skips]
    facts = {fact.name: fact for fact in found.facts} | {name: fact for name, fact in launched.items() if name != CODE_USES}
    uses = _united(facts.get(CODE_USES), launched.get(CODE_USES), variables, source)
    facts |= {} if uses is None else {CODE_USES: uses}
    return replace(found, facts=tuple(facts.values()), skips=tuple(skips))


def _placed(fact: Fact, source: Source, above: int) -> Fact:
    """A fact of a command, at the line of the notebook; what a plan says stays where it stands."""
    line, file = fact.origin.line, fact.origin.file
    return fact if line is None or file != source.origin(1).file else replace(fact, origin=source.origin(above + line))


def _united(own: Fact | None, launched: Fact | None, variables: dict[str, int], source: Source) -> Fact | None:
    """The uses of the notebook and those of its commands, each with its place."""
    rows = {use: source.origin(line) for use, line in variables.items()}
    for fact in (launched, own):
        items = fact.value if fact is not None and isinstance(fact.value, tuple) else ()
        if fact is not None:
            rows |= dict(zip(items, fact.places or [fact.origin] * len(items), strict=True))
    uses = tuple(sorted(rows))
    return Fact(CODE_USES, uses, rows[uses[0]], tuple(rows[use] for use in uses)) if uses else None
