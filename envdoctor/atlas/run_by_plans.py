"""Functions that a plan runs: what their bodies take is taken, though no import leads to it.

Read in the packages' sources: who calls each of them, and under which setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.atlas.breaks import Break, provider_of, takes_of
from envdoctor.atlas.decisions import decide
from envdoctor.atlas.masks import read
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, holds, places
from envdoctor.atlas.volume import Volume
from envdoctor.facts.versions import exact
from envdoctor.records import dataclass

_ADAPTERS = ("lora", "qlora", "dora", "rslora")
_FSDP = ("plan.distributed", ("fsdp",))
_ZERO = ("plan.distributed", ("zero1", "zero2", "zero3"))


@dataclass(frozen=True, slots=True)
class RunBy:
    """A function of a package, and the fact of a plan, with its values, under which it runs; no fact: whenever the package trains."""

    package: str
    function: str
    fact: str = ""
    values: tuple[str, ...] = ()


RUN_BY_PLANS = (
    # accelerate's launcher sets a variable, and Accelerator() makes the plugin; so does transformers' Trainer with fsdp.
    RunBy("accelerate", "FullyShardedDataParallelPlugin.__post_init__", *_FSDP),
    RunBy("accelerate", "FullyShardedDataParallelPlugin.set_mixed_precision", *_FSDP),
    RunBy("accelerate", "DeepSpeedPlugin.__post_init__", *_ZERO),
    RunBy("accelerate", "Accelerator._prepare_deepspeed", *_ZERO),
    RunBy("accelerate", "Accelerator.prepare_model", *_FSDP),
    RunBy("peft", "get_peft_model", "plan.method", _ADAPTERS),
    RunBy("peft", "PeftModel.__init__", "plan.method", _ADAPTERS),
    RunBy("peft", "LoraModel._create_and_replace", "plan.method", _ADAPTERS),
    RunBy("peft", "prepare_model_for_kbit_training", "plan.method", ("qlora",)),
    # fsdp_workers.py calls it for every actor and critic.
    RunBy("verl", "apply_monkey_patch"),
)


def places_of(volume: Volume, release: str) -> tuple[int, ...]:
    """Where a release stands in a volume; one before all that were read stands with the first of them."""
    found, asked, first = places(volume, release), exact(release), exact(volume.releases[0])
    return found or ((0,) if asked.key is not None and first.key is not None and asked.key < first.key else ())


def breaks_in_functions(stack: Stack, plan: Mapping[str, str]) -> Iterator[tuple[Break, RunBy]]:
    """What the functions that a plan runs take of stated releases which do not have it; nothing of which a condition is unknown."""
    for one in RUN_BY_PLANS:
        found = takes_of(one.package) if one.package in stack.releases else None
        if found is None or (one.fact and plan.get(one.fact) not in one.values):
            continue
        bound, takes = found
        where = places(bound.volume, stack.releases[one.package])
        for number in takes.in_function(one.function) if where else ():
            take = takes.take(number)
            provider = provider_of(take.name, stack)
            theirs = None if provider is None or provider == one.package else open_package(provider)
            if provider is None or theirs is None or not all(takes.line_of(take, place) for place in where):
                continue
            # A release without the whole module lacks what is taken of it, too.
            bad = read(take.bad, theirs.volume.places) | (theirs.volume.all & ~theirs.volume.has_module(take.name.partition(":")[0]))
            there = places_of(theirs.volume, stack.releases[provider])
            if there and holds(bad, there) and theirs.volume.all & ~bad and decide(take.guard, stack, moduleless=False):
                line = takes.line_of(take, where[-1])
                entry = f"{take.path.removesuffix('.py').replace('/', '.')}:{one.function}"
                yield Break(one.package, provider, take.name, take.call, take.path, line, entry, "", True, bad), one


__all__ = ["RUN_BY_PLANS", "RunBy", "breaks_in_functions", "places_of"]
