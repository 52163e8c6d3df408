"""Facts that were assumed and are usually something else too: what was taken for each, and what it may be."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Facts, FactValue, NotUnderstood
from envdoctor.facts.versions import ABSENT, Exact, exact
from envdoctor.memory import mixers
from envdoctor.memory.asked import CHECKPOINTS_IN_TRL, CHUNKED_SINCE, Reader, arguments_may_decide, trainer_of
from envdoctor.memory.assumed import LONG, SHORT
from envdoctor.memory.estimate import GIB
from envdoctor.memory.implied import least_transformers, least_trl
from envdoctor.memory.modeling import merges_experts
from envdoctor.memory.read_method import is_adapter
from envdoctor.memory.situation import Planned
from envdoctor.memory.stack import at_least
from envdoctor.world.releases import newest

OpenFact = tuple[str, FactValue, tuple[FactValue, ...]]
"""The name of a fact, what was taken for it, and the other values."""

_EARLIER = ("4.35.2", "4.45.2")
# From which releases of TRL on it asks for a later one than the first of them, and than both (transformers>=4.40 of 0.11.4, >=4.46 of
# 0.12.0 and 0.17.0, >=4.50 of 0.18.0).
_WITHOUT_EARLIER = ("0.12", "0.18")
# A release whose loss makes all logits at once unless they fill the card (memory/pieces.py).
_OF_UNSLOTH = ("2026.1.1",)
# As which an unstated release of TRL is counted, and one with today's defaults (memory/read_kernels.py), which asks for transformers 4.56.
_OF_TRL, _NEWER_TRL, _BESIDE_TRL = "0.18.2", "1.16.0", "4.56"
# What is taken of a package of kernels that nobody speaks of.
_THERE = exact("0.6.0")
# Whose FSDP has no wrap policy unless it is given one (FSDPStrategy of Lightning 2.5), and whose checkpointing is selective by default (the
# ``selective_ac_option`` of torchtitan's Llama 3).
_UNWRAPPED = frozenset(("own", "lightning"))
_SELECTIVE = frozenset(("torchtitan",))
_SELECTED = frozenset(("none", "op", "full"))
# Whose one setting for the length cuts longer rows and fills up no shorter ones (``max_length`` of ms-swift, ``cutoff_len`` of
# LLaMA-Factory, ``train.max_seq_length`` of litgpt, which pads a batch to its own longest row). Of ms-swift's scripts at 3602360a that
# state it with batches of 4 to 16, what they measured is that of 0.1 to 0.8 times so many tokens (benchmarks/unseen/memory-4.json, 9859 to
# 9870); one row at a time comes to the cut sooner or later.
_CUTS = frozenset(("ms-swift", "llamafactory", "litgpt"))
# TRL's max_length and Unsloth's max_seq_length cut too: where several rows of a batch are neither packed nor padded to it, five notebooks
# took 0.55 to 0.7 times what full rows do (benchmarks/unseen/memory-7.json, 8 and 53 to 56).
# Rows that are said to be padded are as long as each other, and need not be as long as that: three notebooks of Unsloth with 8,192 took
# a third of what full rows do, or little more (benchmarks/unseen/memory-9.json, 72 to 74).
_LONG = 4096
# Those of litgpt that cut at 512 (benchmarks/unseen/memory-5.json, 55 to 89) took what 0.65 times as many tokens do, or more.
_SHORTER, _SHORT = 8, 256
# Frameworks that bring layers and loss of their own, and take nothing of transformers' modeling files: litgpt (litgpt/model.py of 0.5.0),
# torchtune (torchtune/modules of 0.6.1) and torchtitan (torchtitan/models at 0168bd51). What litgpt's runs in 4 bits keep is not
# understood: they took up to 27 % more than is counted (benchmarks/unseen/memory-5.json, 53 to 89), and keep the range of before.
OWN_LAYERS = frozenset(("litgpt", "torchtune", "torchtitan"))
# Who makes the logits in pieces where a setting asks for it: a run of 64,000 tokens took 28 GB in all
# (https://github.com/PrimeIntellect-ai/prime-rl/issues/1685), where all logits at once are 109 GiB.
_IN_PIECES = frozenset(("prime-rl",))
# Who may have a way of their own to quantize experts that are a parameter of their layer.
_QUANTIZE_EXPERTS = frozenset((None, "own", "axolotl", "unsloth"))
# Whose scripts call from_pretrained themselves: float32 up to transformers 4 unless they name a dtype.
_LOAD_BY_THEMSELVES = frozenset((None, "own", "transformers", "trl", "accelerate"))


def open_facts(situation: Planned, expected: float) -> Iterator[OpenFact]:
    """What nobody stated of a run that takes ``expected`` bytes as it was taken."""
    yield from _of_batches(situation)
    yield from _of_releases(situation)
    if situation.plan.method == "inference":
        return
    yield from _of_what_is_trained(situation)
    yield from _of_sharing(situation, expected)
    yield from _of_the_loop(situation)
    yield from _of_checkpointing(situation)
    yield from _of_dtypes(situation)
    yield from _of_experts(situation)


def _assumed(situation: Planned) -> set[str]:
    return {one.fact for one in situation.assumptions}


def _of_batches(situation: Planned) -> Iterator[OpenFact]:
    plan, assumed = situation.plan, _assumed(situation)
    if "plan.seq_len" in assumed:
        yield "plan.seq_len", plan.tokens, (SHORT, LONG)
    elif plan.rows > 1 and not plan.packed and _is_cut(situation):
        yield "plan.seq_len", plan.tokens, (max(plan.tokens // _SHORTER, min(plan.tokens, _SHORT)),)
    unsaid = situation.facts.value("plan.completion_len") is None and "plan.seq_len" not in assumed
    if plan.scored and plan.scored < plan.tokens and unsaid:
        # The loss of TRL's GRPO makes the logits of the answer alone: max_completion_length, 256 unless it is set.
        yield "plan.completion_len", plan.scored, (plan.tokens,)
    if "plan.batch_size" in assumed:
        # per_device_train_batch_size of TrainingArguments.
        yield "plan.batch_size", 1, (8,)


def _of_releases(situation: Planned) -> Iterator[OpenFact]:
    plan, facts = situation.plan, situation.facts
    own = facts.text("plan.trainer") in OWN_LAYERS or plan.sharding == "megatron"
    if not plan.stack.transformers and (not own or plan.quant != "none"):
        # What is kept moved with the release: no fused attention before 4.36, float32 copies of the logits up to 4.48.
        latest = newest("transformers") or _EARLIER[-1]
        others = _earlier(facts)
        if _may_quantize_experts(situation):
            # As which experts are counted where no release is known: modules, which bitsandbytes sees.
            others = (*others, latest)
        if others:
            yield "packages.transformers", exact(latest), tuple(map(exact, others))
    if plan.unsloth and not plan.stack.unsloth:
        yield "packages.unsloth", exact(newest("unsloth") or _OF_UNSLOTH[0]), tuple(map(exact, _OF_UNSLOTH))
    if facts.text("plan.trainer") == "trl" and not plan.unsloth and _may_be_newer(situation):
        taken = CHUNKED_SINCE if Reader(facts).chunked_by_trl else least_trl(facts) or _OF_TRL
        yield "packages.trl", exact(taken), (exact(newest("trl") or _NEWER_TRL),)


def _earlier(facts: Facts) -> tuple[str, ...]:
    """Earlier releases of transformers that the run may have: none that does not know the model, or that its TRL does not take."""
    first = least_transformers(facts)
    later = _EARLIER[sum(Reader(facts).of_trl(one) for one in _WITHOUT_EARLIER) :]
    return tuple(dict.fromkeys(one if at_least(one, first or one) else first for one in later))


def _of_what_is_trained(situation: Planned) -> Iterator[OpenFact]:
    plan, assumed = situation.plan, _assumed(situation)
    words = situation.facts.value("plan.method")
    if "plan.method" in assumed and not (isinstance(words, NotUnderstood) and is_adapter(words.text)):
        yield "plan.method", "lora", ("full",)
    if "plan.lora_targets" in assumed and plan.adapter is not None:
        yield "plan.lora_targets", plan.adapter.targets, (("all-linear",),)
    for package in sorted(
        {mixers.PACKAGES[kind.mixer.way] for _, kind in situation.architecture.kinds if kind.mixer and kind.mixer.way in mixers.PACKAGES}
    ):
        if situation.facts.value(f"packages.{package}") is None:
            yield f"packages.{package}", _THERE, (ABSENT,)


def _of_sharing(situation: Planned, expected: float) -> Iterator[OpenFact]:
    plan, facts, trainer = situation.plan, situation.facts, trainer_of(situation.facts)
    unsaid = trainer is None or facts.value("plan.distributed") is not None or _is_too_large(situation, expected)
    if plan.gpus > 1 and "plan.distributed" in _assumed(situation) and unsaid:
        # None is stated, or one that is not modelled (context, pipeline or expert parallelism): somewhere between all on each and parts.
        yield "plan.distributed", plan.sharding, ("fsdp",)
    if plan.sharding == "megatron" and plan.tensor > 1 and not plan.spread and facts.value("plan.sequence_parallel") is None:
        yield "plan.sequence_parallel", False, (True,)
    if trainer in _UNWRAPPED and plan.sharding == "fsdp" and not plan.second and facts.value("plan.fsdp_wrapped") is None:
        yield "plan.fsdp_wrapped", True, (False,)


def _of_the_loop(situation: Planned) -> Iterator[OpenFact]:
    plan, facts, trainer, assumed = situation.plan, situation.facts, trainer_of(situation.facts), _assumed(situation)
    if facts.value("plan.outputs_kept") is None and trainer is None:
        yield "plan.outputs_kept", False, (True,)
    if "plan.lora_kernels" in assumed and plan.lora_kernels:
        yield "plan.lora_kernels", tuple(sorted(plan.lora_kernels)), ((),)
    if "plan.optimizer" in assumed and facts.text("plan.optimizer") is not None:
        # The least is one that steps as soon as a gradient is there, and keeps nothing.
        yield "plan.optimizer", "adamw_torch", ("lomo", "prodigy")
    if trainer in _IN_PIECES and facts.value("plan.fused_loss") is None and not plan.liger:
        yield "plan.fused_loss", "none", ("linear_cross_entropy",)
    upcast, fused = facts.value("plan.loss_upcast"), facts.value("plan.fused_loss")
    if plan.sharding == "megatron" and fused is None and not plan.liger:
        # Transformer Engine's writes its gradient over the logits (``cross_entropy_fusion_impl``): 131,072 and 262,144 tokens of
        # Qwen3.5-27B took no more than 4 bytes a logit (https://github.com/basetenlabs/ml-cookbook/pull/105).
        yield "plan.fused_loss", "cross_entropy" if plan.fused_loss else "none", ("linear_cross_entropy",)
    if trainer == "own" and upcast is True and fused is None and not plan.liger:
        # A loss of its own may take the logits piece by piece, or make those of the answers alone: two runs of the one took 0.72 times
        # what all at once do, two of the other 0.57 and 0.6 (benchmarks/unseen/memory-10.json, 41 and 51; memory-8.json, 87 and 88).
        yield "plan.fused_loss", "none", ("chunked_cross_entropy", "linear_cross_entropy")
    if trainer == "own" and upcast is None:
        yield "plan.loss_upcast", True, (False,)


def _of_checkpointing(situation: Planned) -> Iterator[OpenFact]:
    plan, facts, assumed = situation.plan, situation.facts, _assumed(situation)
    if plan.checkpointing and trainer_of(facts) in _SELECTIVE and facts.value("plan.selective_checkpointing") is None:
        yield "plan.selective_checkpointing", "none", ("op", "2")
    if "plan.activation_offload" in assumed and plan.checkpointing:
        yield "plan.activation_offload", True, (False,)
    selected = facts.text("plan.selective_checkpointing")
    if plan.checkpointing and selected is not None and selected not in _SELECTED and not selected.isdigit():
        # In words: what is spared is not known.
        yield "plan.selective_checkpointing", selected, ("op", "2")
    if "plan.gradient_checkpointing" in assumed and arguments_may_decide(Reader(facts)):
        yield "plan.gradient_checkpointing", plan.checkpointing, (not plan.checkpointing,)
    elif "plan.gradient_checkpointing" in assumed and not plan.checkpointing and _may_checkpoint(situation):
        yield "plan.gradient_checkpointing", False, (True,)


def _of_experts(situation: Planned) -> Iterator[OpenFact]:
    """Whether merged experts are quantized after all, which bitsandbytes passes over: axolotl can be told to, and others bring a store
    of their own (Experts4bit of https://pypi.org/project/experts4bit-qlora/0.38.0/)."""
    own = trainer_of(situation.facts) in _QUANTIZE_EXPERTS and merges_experts(situation.plan)
    if own and _may_quantize_experts(situation):
        yield "plan.quantize_experts", False, (True,)


def _may_quantize_experts(situation: Planned) -> bool:
    """Whether a model with experts lies in weights of bitsandbytes, and nobody says whether the experts do."""
    experts = any(kind.experts for _, kind in situation.architecture.kinds) and not situation.architecture.remote
    return experts and situation.plan.quant in ("4bit", "8bit") and situation.facts.value("plan.quantize_experts") is None


def _of_dtypes(situation: Planned) -> Iterator[OpenFact]:
    plan, facts, assumed = situation.plan, situation.facts, _assumed(situation)
    by_itself = trainer_of(facts) in _LOAD_BY_THEMSELVES
    if "plan.load_dtype" in assumed and plan.quant == "none" and by_itself and not _as_stored(situation):
        # from_pretrained makes float32 of every checkpoint up to transformers 4 unless it is told another dtype.
        yield "plan.load_dtype", plan.load_dtype, ("float32",)
    if "plan.kbit_preparation" in assumed:
        yield "plan.kbit_preparation", True, (False,)
    unmixed = plan.autocast is None and facts.value("plan.bf16") is None and facts.value("plan.fp16") is None
    if (plan.upcast or plan.load_dtype == "float32") and unmixed:
        # Beside float32 weights, loaded or made so by k-bit preparation, everything is computed so, unless mixed precision is asked for.
        yield "plan.bf16", False, (True,)


def _is_too_large(situation: Planned, expected: float) -> bool:
    """Whether a card that is stated could not hold the model on each GPU: it is then rather shared out, by whatever launches the run."""
    return 0 < situation.plan.card < expected / GIB


def _may_be_newer(situation: Planned) -> bool:
    """Whether nobody states the release of TRL, and that of transformers allows today's."""
    stack = situation.plan.stack
    return not isinstance(situation.facts.value("packages.trl"), Exact) and at_least(stack.transformers, _BESIDE_TRL)


def _is_cut(situation: Planned) -> bool:
    """Whether the length is what a trainer's setting says, and nobody said or counted how long the rows are."""
    facts = situation.facts
    padded, trainer = situation.stated.value("plan.padding"), trainer_of(facts)
    filled = padded is True and situation.plan.tokens < _LONG
    cuts = trainer in _CUTS or (padded is False and trainer == "trl") or (not filled and situation.plan.unsloth)
    return cuts and "plan.seq_len" in facts and facts["plan.seq_len"].origin.source != "--set" and not situation.counted


def _may_checkpoint(situation: Planned) -> bool:
    """Whether checkpointing may be on although nobody says so: ``prepare_model_for_kbit_training`` of peft switches it on unless it is told
    not to, which a script may call by itself, and so do TRL's configurations from 0.22 on."""
    plan, facts = situation.plan, situation.facts
    trainer = trainer_of(facts)
    if trainer == "trl" and not isinstance(facts.value("packages.trl"), Exact) and not Reader(facts).of_trl(CHECKPOINTS_IN_TRL):
        return True
    prepared = plan.method == "adapter" and plan.quant in ("4bit", "8bit") and trainer in ("transformers", "trl", "accelerate")
    return trainer in (None, "own") or prepared


def _as_stored(situation: Planned) -> bool:
    release = situation.plan.stack.transformers
    return situation.plan.load_dtype == "float32" or (bool(release) and at_least(release, "5.0"))
