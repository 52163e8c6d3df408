"""What a plan leaves out has the default of what runs it.

A plan is whole (``plan.whole``) where everything that it asks for was read: then what is not stated was not asked for. A value that stands
in a script and cannot be read (``plan.unclear``) keeps its fact unknown, and so do frameworks or releases that differ in a default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.sources.plans.training_arguments import DEFAULTS
from envdoctor.world.packages import FRAMEWORKS
from envdoctor.world.releases import release_texts

# Off in transformers' Trainer, TRL, LLaMA-Factory, axolotl, ms-swift, torchtune and Unsloth unless they are asked for.
_OFF_EVERYWHERE = (
    "plan.vllm", "plan.stream", "plan.resume", "plan.compile", "plan.neftune", "plan.liger", "plan.predict_with_generate", "plan.tf32",
)  # fmt: skip
# Methods that say what the loss is of.
OBJECTIVES = frozenset(("dpo", "grpo", "kto", "orpo", "ppo"))
# LLaMA-Factory packs where it pretrains (src/llamafactory/hparams/parser.py).
_PACKS_TO_PRETRAIN = "llamafactory"
# What TRL's configurations of SFT, DPO, GRPO, KTO and reward models make of what is not given, and the release that began it: read from
# the wheels 0.12.2 to 1.16.0.
_OF_TRL: tuple[tuple[str, FactValue, str, FactValue], ...] = (
    ("plan.bf16", False, "0.19.0", True),
    ("plan.gradient_checkpointing", False, "0.22.0", True),
)
_DIFFERS_IN_TRL = frozenset(
    ("plan.learning_rate", "plan.gradient_checkpointing", "plan.gradient_checkpointing_kwargs", "plan.bf16", "plan.remove_unused_columns")
)
# Words in the names of repositories whose weights are stored quantized.
_QUANTIZED_NAME = re.compile(
    r"gptq|awq|\d-?bits?\b|(?<![a-z])int-?[48]|fp[48]\b|nf4|bnb|gguf|exl[23]|hqq|aqlm|autoround|w[48]a\d|quant|marlin", re.IGNORECASE
)
# Types whose makers publish them quantized.
_QUANTIZED_TYPES = frozenset(("deepseek_v3", "deepseek_v32", "gpt_oss", "kimi_k2", "minimax_m2"))
_WITH_ACCELERATE = ("transformers", "trl", "llamafactory", "axolotl", "ms-swift")
_LORA_KINDS = ("lora", "qlora", "dora", "rslora")
# They train nothing in full beside an adapter of LoRA's unless they are asked to.
_SAVE_NO_MODULE = ("axolotl", "llamafactory", "ms-swift")
# Those that run a plan by themselves, and that nobody imports for a part.
_RUN_PLANS = ("axolotl", "llamafactory", "ms-swift", "torchtune")
# Whoever states by hand that one of these is there may well mean to use it.
_QUANTIZERS = ("bitsandbytes", "auto-gptq", "gptqmodel", "autoawq", "hqq", "aqlm")


def what_runs_it(facts: Facts) -> Iterator[Fact]:
    """The one framework that is stated beside a plan which is silent on what runs it; a list of all that is installed does not say that."""
    if facts.value(WHOLE) is not True or facts.closed or facts.text("plan.method") == "inference":
        return
    there = [name for name in FRAMEWORKS if f"packages.{name}" in facts and not facts.lacks(name)]
    if len(there) == 1 and there[0] in _RUN_PLANS:
        yield Fact("plan.trainer", there[0], Origin(f"{there[0]} is stated, and no other framework"))


def unset(facts: Facts) -> Iterator[Fact]:
    """The defaults of what a whole plan leaves out."""
    if facts.value(WHOLE) is not True:
        return
    yield from _not_asked_for(facts)
    if _is_stored_as_it_was_trained(facts) and not _may_mean_a_quantizer(facts):
        yield _default("plan.quant", "none", "from_pretrained")
    if facts.value("gpu.count") == 1 and facts.value("plan.deepspeed") is not True:
        yield Fact("plan.distributed", "none", Origin("one GPU"))
    trainer = facts.text("plan.trainer")
    if trainer in ("transformers", "trl"):
        yield from _training_arguments(facts, trainer)


def _not_asked_for(facts: Facts) -> Iterator[Fact]:
    trainer = facts.text("plan.trainer")
    runs = trainer or "every framework"
    for name in _OFF_EVERYWHERE:
        yield _default(name, False, runs)
    yield _default("plan.fused_loss", "none", runs)
    if trainer is not None and facts.text("plan.method") not in OBJECTIVES:
        yield _default("plan.objective", "sft", runs)
    if trainer != _PACKS_TO_PRETRAIN and (trainer is not None or not _names_a_framework(facts)):
        yield _default("plan.packing", False, runs)


def _training_arguments(facts: Facts, trainer: str) -> Iterator[Fact]:
    for name, value in DEFAULTS:
        if trainer == "transformers" or name not in _DIFFERS_IN_TRL:
            yield _default(name, value, "TrainingArguments")


def unset_beside(facts: Facts) -> Iterator[Fact]:
    """The defaults that go by other ones: of what offloads, and of TRL, whose releases differ."""
    if facts.value(WHOLE) is not True:
        return
    if facts.text("plan.distributed") in ("none", "ddp", "dp"):
        yield Fact("plan.offload", "none", Origin(f"plan.distributed = {facts.value('plan.distributed')}"))
    adapts = facts.text("plan.trainer") in _SAVE_NO_MODULE and facts.text("plan.method") in _LORA_KINDS
    # A model of rewards has a head, which peft adds by its task; LLaMA-Factory puts one of its own beside the model.
    if adapts and (facts.text("plan.objective") != "reward" or facts.text("plan.trainer") == "llamafactory"):
        yield _default("plan.modules_to_save", (), str(facts.value("plan.trainer")))
    # Where none is named the Trainer takes 2 from 5.10.0 on (training_args.py of 5.5.0, 5.9.0 and 5.10.0).
    of_accelerate = facts.text("plan.distributed") == "fsdp" and facts.text("plan.trainer") in _WITH_ACCELERATE
    is_later = _all_at_least(facts, "transformers", "5.10.0") if of_accelerate else None
    if is_later is False:
        yield _default("plan.fsdp_version", 1, "accelerate")
    elif is_later and "fsdp" in (arguments if isinstance(arguments := facts.value("plan.arguments"), tuple) else ()):
        yield _default("plan.fsdp_version", 2, f"transformers {facts.value('packages.transformers')}")
    # The Trainer of transformers 5 sets it from an argument of its own (training_args.py and trainer.py of 5.0.0 and 5.5.4).
    if facts.text("plan.trainer") in _WITH_ACCELERATE and _all_at_least(facts, "transformers", "5.0.0"):
        yield _default("plan.use_cache", False, f"transformers {facts.value('packages.transformers')}")
    if facts.text("plan.trainer") == "transformers":
        yield from _checkpointing(facts)
    if facts.text("plan.trainer") == "trl" and facts.text("plan.method") != "ppo":
        for name, before, since, after in _OF_TRL:
            is_later = _all_at_least(facts, "trl", since)
            if is_later is not None and not (name == "plan.bf16" and facts.value("plan.fp16") is not False):
                yield _default(name, after if is_later else before, f"trl {facts.value('packages.trl')}")


def _checkpointing(facts: Facts) -> Iterator[Fact]:
    """The variant of checkpointing that ``gradient_checkpointing_enable`` takes where nobody names one."""
    is_five = _all_at_least(facts, "transformers", "5.0.0")
    # Before 4.35.0 nobody can name one.
    unnamed = facts.value("plan.gradient_checkpointing_kwargs") is False or _all_at_least(facts, "transformers", "4.35.0") is False
    if facts.value("plan.gradient_checkpointing") is True and unnamed and is_five is not None:
        yield _default("plan.use_reentrant", not is_five, f"transformers {facts.value('packages.transformers')}")


def _all_at_least(facts: Facts, package: str, release: str) -> bool | None:
    """Whether all releases of a package that are possible are this one or later, or all earlier; None where some are and some are not."""
    value = facts.value(f"packages.{package}")
    later = version_condition(f">={release}")
    if isinstance(value, Exact):
        return later.admits(value)
    if not isinstance(value, Ranged) or not value.text:
        return None
    from envdoctor.facts.versions import exact

    wanted = version_condition(value.text)
    outcomes = {later.admits(one) for one in map(exact, release_texts(package)) if wanted.admits(one)}
    # A release still to come is later.
    outcomes |= {True} if wanted.admits(exact("9999")) else set()
    return outcomes.pop() if len(outcomes) == 1 else None


def _is_stored_as_it_was_trained(facts: Facts) -> bool:
    """Whether nothing says that the weights on the hub or on disk are quantized."""
    if facts.text("model.quant_method") not in (None, "none") or facts.text("model.type") in _QUANTIZED_TYPES:
        return False
    named = (facts.text("model.id"), facts.text("model.path"))
    return not any(_QUANTIZED_NAME.search(name) for name in named if name)


def _may_mean_a_quantizer(facts: Facts) -> bool:
    stated = facts.get("plan.arguments") or facts.get("plan.load_dtype_argument")
    by_hand = stated is None or stated.origin.source.startswith("default of")
    return by_hand and not facts.closed and any(f"packages.{name}" in facts and not facts.lacks(name) for name in _QUANTIZERS)


def _names_a_framework(facts: Facts) -> bool:
    return any(f"packages.{name}" in facts and not facts.lacks(name) for name in FRAMEWORKS)


# Made again for every set of pins that is looked at. True and 1 are not one value.
@lru_cache(maxsize=4096, typed=True)
def _default(name: str, value: FactValue, of: str) -> Fact:
    return Fact(name, value, Origin(f"default of {of}"))


__all__ = ["unset", "unset_beside", "what_runs_it"]
