"""Settings of a plan that the stated release of the tool which reads it does not have, and refuses.

LLaMA-Factory hands its settings to HfArgumentParser, which raises for one that no dataclass of its own and not TrainingArguments have
(``src/llamafactory/hparams/parser.py`` of 0.7.1, 0.9.2 and 0.9.5); ``accelerate launch`` makes a dataclass of its file, and raises for one
that this lacks (``accelerate/commands/config/config_args.py`` of 0.16.0 to 1.15.0).
"""

from __future__ import annotations

from functools import lru_cache

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import Exact
from envdoctor.records import dataclass

RULE = "plan-key-refused"
KEYS = "plan.keys"

_TRANSFORMERS = "transformers"
_ARGUMENTS = ("transformers.training_args", "transformers.training_args_seq2seq")
_FIELD = ("=", ":")
_FILES = (".yaml", ".yml", ".json")
# They make its parser take what it does not know, or read arguments of another program.
_SWITCHES = ("env:ALLOW_EXTRA_ARGS", "env:USE_MCA")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that refuses settings: the modules of its dataclasses, whether it reads TrainingArguments, and old names that it takes."""

    name: str
    modules: tuple[str, ...]
    arguments: bool = False
    also: frozenset[str] = frozenset()


_HPARAMS = ("data_args", "evaluation_args", "finetuning_args", "generating_args", "model_args", "training_args")
TOOLS = {
    "llamafactory": Tool("LLaMA-Factory", tuple(f"llamafactory.hparams.{name}" for name in _HPARAMS), arguments=True),
    "accelerate": Tool("accelerate launch", ("accelerate.commands.config.config_args",), also=frozenset(("fp16", "dynamo_backend"))),
}


def plan_keys(facts: Facts) -> tuple[Hit, ...]:
    """One finding for each setting that the stated release refuses."""
    fact = facts.by_name.get(KEYS)
    uses = facts.value(CODE_USES)
    if fact is None or not isinstance(fact.value, tuple):
        return ()
    if isinstance(uses, tuple) and any(str(use).startswith(_SWITCHES) for use in uses):
        return ()
    return tuple(hit for text, place in _placed(fact) if (hit := _hit(facts, text, place)) is not None)


def _placed(fact: Fact) -> list[tuple[str, Origin]]:
    assert isinstance(fact.value, tuple)
    places = fact.places if len(fact.places) == len(fact.value) else (fact.origin,) * len(fact.value)
    return list(zip(map(str, fact.value), places, strict=True))


def _hit(facts: Facts, text: str, place: Origin) -> Hit | None:
    from difflib import get_close_matches

    from envdoctor.atlas.shelf import open_package
    from envdoctor.atlas.stack import holds, places
    from envdoctor.atlas.words import good_specifiers, since

    package, _, key = text.partition(":")
    tool, release, bound = TOOLS[package], facts.value(f"packages.{package}"), open_package(package)
    where = places(bound.volume, release.text) if bound is not None and isinstance(release, Exact) else ()
    if bound is None or not isinstance(release, Exact) or not where or key in tool.also:
        return None
    own = fields_of(package, tool.modules)
    there = own.get(key, 0)
    lacks = bound.volume.all & ~there
    if not own or not holds(lacks, where) or (tool.arguments and _is_argument(facts, key, other=bool(there))):
        return None
    known = [name for name, mask in own.items() if mask >> where[-1] & 1]
    # On a command line argparse takes the beginning of a name for it, and makes --no_x of a switch x.
    written = (place.file or "").endswith(_FILES)
    if not written and any(name.startswith(key) or f"no_{name}" == key for name in known):
        return None
    like = "" if there else next(iter(get_close_matches(key, known, 1, 0.85)), "")
    if not there and not like:
        return None  # of another program, or of somebody's fork
    when = since(bound.volume, lacks, where[-1]) if there else "which no release has"
    left = lacks >> (len(bound.volume.releases) - 1) & 1
    advice = f"write {like}" if like else "take it out of the file" if left else ""
    return Hit(
        RULE,
        True,
        ((f"packages.{package}", when),),
        detail=f"{tool.name} reads {key}, {when} ({package} {release.text}), and refuses the whole file",
        packages=(package,),
        pins=tuple((package, one) for one in good_specifiers(bound.volume, lacks, where[-1])) if there else (),
        file=place.file,
        line=place.line,
        yields=True,
        names=(key,),
        edge=f"{package}:{key}",
        advice=advice,
    )


def _is_argument(facts: Facts, key: str, *, other: bool) -> bool:
    """Whether TrainingArguments have a setting, or may have: what became of theirs is told elsewhere.

    Where nobody states transformers, only a setting that another release of the tool has (``other``) is none of theirs.
    """
    from envdoctor.atlas.shelf import open_package
    from envdoctor.atlas.stack import places

    bound, release = open_package(_TRANSFORMERS), facts.value(f"packages.{_TRANSFORMERS}")
    read = bound is not None and isinstance(release, Exact) and bool(places(bound.volume, release.text))
    return key in fields_of(_TRANSFORMERS, _ARGUMENTS) or not (read or other)


@lru_cache(maxsize=8)
def fields_of(package: str, modules: tuple[str, ...]) -> dict[str, int]:
    """The fields of all classes of modules, with the releases that have them."""
    from envdoctor.atlas.shelf import open_package

    bound = open_package(package)
    found: dict[str, int] = {}
    for module in modules if bound is not None else ():
        chunk = bound.volume.chunk(module) if bound is not None else None
        for sheet in chunk.classes.values() if chunk is not None else ():
            for name, values in sheet.methods.items():
                mask = 0
                for value, held in values.items():
                    mask |= held if value in _FIELD else 0
                if mask:
                    found[name] = found.get(name, 0) | mask
    return found


CHECKS = (plan_keys,)
