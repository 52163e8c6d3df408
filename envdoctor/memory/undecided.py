"""Facts that nobody stated and that move the answer by more than a quarter: each with what it could be, and the range that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.facts.fact import FactValue
from envdoctor.facts.versions import ABSENT, Exact, exact
from envdoctor.memory import mixers
from envdoctor.memory.asked import trainer_of
from envdoctor.memory.estimate import GIB, Estimate, Range
from envdoctor.memory.situation import Planned
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass, replace
from envdoctor.world.releases import newest

_MOVES = 0.25
_SEVERAL = 2
_EARLIER = ("4.35.2", "4.45.2")
_TORCH = "2.5.1"
# A release whose loss makes all logits at once unless they fill the card (memory/pieces.py).
_OF_UNSLOTH = ("2026.1.1",)
# As which an unstated release of TRL is counted, and one with today's defaults (memory/read_kernels.py), which asks for transformers 4.56.
_OF_TRL, _NEWER_TRL, _BESIDE_TRL = "0.18.2", "1.16.0", "4.56"
# Beside weights of bitsandbytes the releases of May 2023 took more than is counted here: a 7B model in 8 bits and a 13B one in 4 did not go
# into the 14.6 GiB of a T4 at 1,024 tokens (https://huggingface.co/blog/4bit-transformers-bitsandbytes), where 8.8 and 10.1 are counted.
_OF_2023 = 1.65
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
# Those of litgpt that cut at 512 (benchmarks/unseen/memory-5.json, 55 to 89) took what 0.65 times as many tokens do, or more.
_SHORTER, _SHORT = 8, 256
# Where rows are not packed, the longest batch may be shorter than what is stated, by so much of what lives for its tokens: nine runs of
# peft's table (batches of 4, at most 768 tokens; docs/memory.md) held 1 to 5 % less than the least that was counted.
_LONGEST = 0.1
# Frameworks that bring layers and loss of their own, and take nothing of transformers' modeling files: litgpt (litgpt/model.py of 0.5.0),
# torchtune (torchtune/modules of 0.6.1) and torchtitan (torchtitan/models at 0168bd51). What litgpt's runs in 4 bits keep is not
# understood: they took up to 27 % more than is counted (benchmarks/unseen/memory-5.json, 53 to 89), and keep the range of before.
_OWN_LAYERS = frozenset(("litgpt", "torchtune", "torchtitan"))
# Who makes the logits in pieces where a setting asks for it: a run of 64,000 tokens took 28 GB in all
# (https://github.com/PrimeIntellect-ai/prime-rl/issues/1685), where all logits at once are 109 GiB.
_IN_PIECES = frozenset(("prime-rl",))
# Whose scripts call from_pretrained themselves: float32 up to transformers 4 unless they name a dtype.
_LOAD_BY_THEMSELVES = frozenset((None, "own", "transformers", "trl", "accelerate"))
_NEUTRAL: Mapping[str, FactValue] = {"plan.activation_offload": False, "plan.float8": False}


@dataclass(frozen=True, slots=True)
class Undecided:
    """``allocated`` spans what the run would take with the value that was ``taken`` and with the ``others``.

    Where it is not ``modelled``, the fact is stated, the answer leaves it out, and what it could save at most is the low end.
    ``reserved`` is the most of what torch is expected to reserve. ``least`` and ``most`` are the values with which the run would take least
    and most, None where that is the one that was taken.
    """

    fact: str
    taken: FactValue
    others: tuple[FactValue, ...]
    allocated: Range
    modelled: bool = True
    reserved: float = 0.0
    least: FactValue | None = None
    most: FactValue | None = None

    @property
    def decides(self) -> bool:
        """Whether it moves the answer by more than a quarter; what is not modelled could only make it smaller."""
        expected = self.allocated.expected
        return max(self.allocated.high / expected - 1, 1 - self.allocated.low / expected) > _MOVES


def weigh(situation: Planned, computed: Estimate) -> tuple[Undecided, ...]:
    """What was not stated, or is not modelled, with the range that each leaves open, the widest first."""
    expected = computed.allocated.expected
    found = []
    for fact, taken, others in _open(situation, expected):
        estimates = [situation.estimate_with(_change(situation, fact, other)) for other in others]
        ranges = [one.allocated.expected for one in estimates]
        low, high = min(*ranges, expected), max(*ranges, expected)
        if fact == "packages.transformers" and situation.plan.quant in ("4bit", "8bit") and _perhaps_of_2023(situation):
            high = max(high, _OF_2023 * expected)
        cached = max(one.reserved.expected for one in estimates)
        least = others[ranges.index(min(ranges))] if min(ranges) < expected else None
        most = others[ranges.index(max(ranges))] if max(ranges) > expected else None
        found.append(Undecided(fact, taken, others, Range(low, expected, high), reserved=cached, least=least, most=most))
    found += _unmodelled(situation, computed)
    if situation.plan.rows > 1 and not situation.plan.packed and not situation.counted:
        terms = computed.peak.terms
        shorter = _LONGEST * (terms.get("activations", 0.0) + terms.get("logits", 0.0))
        found.append(Undecided("plan.seq_len", situation.plan.tokens, (), Range(expected - shorter, expected, expected)))
    return tuple(sorted(found, key=lambda one: one.allocated.low - one.allocated.high))


def undecided(situation: Planned, computed: Estimate) -> tuple[Undecided, ...]:
    """What decides and was not stated, the widest first."""
    return deciding(weigh(situation, computed))


def deciding(weighed: Iterable[Undecided]) -> tuple[Undecided, ...]:
    """Those that move the answer by more than a quarter: each is named."""
    return tuple(one for one in weighed if one.decides)


def _perhaps_of_2023(situation: Planned) -> bool:
    """Whether an adapter's run may be one of the first half of 2023, by the packages that are stated beside transformers."""
    stack = situation.plan.stack
    later = ((stack.torch, "2.1"), (stack.peft, "0.5"), (stack.bitsandbytes, "0.41"), (stack.accelerate, "0.22"))
    # Unsloth, Liger's kernels and cut cross entropy are younger.
    if situation.plan.unsloth or situation.plan.liger:
        return False
    return situation.plan.method == "adapter" and not any(one not in ("", "-") and at_least(one, least) for one, least in later)


def _change(situation: Planned, fact: str, other: FactValue) -> dict[str, FactValue]:
    """A fact as it may be, and what goes with it: the torch of an earlier transformers is no later than torch 2.5."""
    change = {fact: other}
    if fact == "packages.transformers" and not situation.plan.stack.torch:
        change["packages.torch"] = exact(_TORCH)
    return change


def spanning(computed: Estimate, found: Iterable[Undecided]) -> Estimate:
    """The estimate with a range that holds every value of what is undecided. Where nothing decides, what is open moves both ends as it
    moves the figure."""
    for one in found:
        allocated, reserved = computed.allocated, computed.reserved
        if not one.decides and computed.guessed:
            continue
        if not one.decides:
            less, more = one.allocated.low / one.allocated.expected, one.allocated.high / one.allocated.expected
            computed = replace(
                computed,
                allocated=Range(allocated.low * less, allocated.expected, allocated.high * more),
                reserved=Range(reserved.low * less, reserved.expected, reserved.high * more),
            )
            continue
        low, high = min(allocated.low, one.allocated.low), max(allocated.high, one.allocated.high)
        held = Range(min(reserved.low, one.allocated.low), reserved.expected, max(reserved.high, one.allocated.high, one.reserved))
        computed = replace(computed, allocated=Range(low, allocated.expected, high), reserved=held, guessed=True)
    return computed


def spanned(situation: Planned, computed: Estimate, found: Iterable[Undecided]) -> Estimate:
    """The estimate with a range that holds every value of what is undecided, and what moves it the same way taken together: a run of which
    neither dtype nor release is known may be one of float32 under an old release."""
    found = tuple(found)
    ranged = spanning(computed, found)
    for values in ([(one, one.least) for one in deciding(found)], [(one, one.most) for one in deciding(found)]):
        changes = [_change(situation, one.fact, value) for one, value in values if value is not None]
        if len(changes) < _SEVERAL:
            continue
        corner = situation.estimate_with({name: value for change in changes for name, value in change.items()})
        low, high = min(ranged.allocated.low, corner.allocated.expected), max(ranged.allocated.high, corner.allocated.expected)
        cached = max(ranged.reserved.high, corner.reserved.expected)
        held = Range(min(ranged.reserved.low, low), ranged.reserved.expected, cached)
        ranged = replace(ranged, allocated=Range(low, ranged.allocated.expected, high), reserved=held)
    return ranged


def _open(situation: Planned, expected: float) -> Iterator[tuple[str, FactValue, tuple[FactValue, ...]]]:
    """Facts that were assumed, what was taken, and what else is usual."""
    plan, facts = situation.plan, situation.facts
    assumed = {one.fact for one in situation.assumptions}
    if "plan.seq_len" in assumed:
        yield "plan.seq_len", plan.tokens, (256, 4096)
    elif plan.rows > 1 and not plan.packed and _is_cut(situation):
        yield "plan.seq_len", plan.tokens, (max(plan.tokens // _SHORTER, min(plan.tokens, _SHORT)),)
    if "plan.batch_size" in assumed:
        # per_device_train_batch_size of TrainingArguments.
        yield "plan.batch_size", 1, (8,)
    if not plan.stack.transformers and (facts.text("plan.trainer") not in _OWN_LAYERS or plan.quant != "none"):
        # What is kept moved with the release: no fused attention before 4.36, float32 copies of the logits up to 4.48.
        yield "packages.transformers", exact(newest("transformers") or _EARLIER[-1]), tuple(map(exact, _EARLIER))
    if plan.unsloth and not plan.stack.unsloth:
        yield "packages.unsloth", exact(newest("unsloth") or _OF_UNSLOTH[0]), tuple(map(exact, _OF_UNSLOTH))
    if facts.text("plan.trainer") == "trl" and not plan.unsloth and _may_be_newer(situation):
        yield "packages.trl", exact(_OF_TRL), (exact(newest("trl") or _NEWER_TRL),)
    if plan.method == "inference":
        return
    if "plan.method" in assumed:
        yield "plan.method", "lora", ("full",)
    if "plan.lora_targets" in assumed and plan.adapter is not None:
        yield "plan.lora_targets", plan.adapter.targets, (("all-linear",),)
    for package in sorted(
        {mixers.PACKAGES[kind.mixer.way] for _, kind in situation.architecture.kinds if kind.mixer and kind.mixer.way in mixers.PACKAGES}
    ):
        if facts.value(f"packages.{package}") is None:
            yield f"packages.{package}", _THERE, (ABSENT,)
    trainer = trainer_of(facts)
    unsaid = trainer is None or facts.value("plan.distributed") is not None or _is_too_large(situation, expected)
    if plan.gpus > 1 and "plan.distributed" in assumed and unsaid:
        # None is stated, or one that is not modelled (context, pipeline or expert parallelism): somewhere between all on each and parts.
        yield "plan.distributed", plan.sharding, ("fsdp",)
    if facts.value("plan.outputs_kept") is None and trainer is None:
        yield "plan.outputs_kept", False, (True,)
    if "plan.lora_kernels" in assumed and plan.lora_kernels:
        yield "plan.lora_kernels", tuple(sorted(plan.lora_kernels)), ((),)
    if "plan.optimizer" in assumed and facts.text("plan.optimizer") is not None:
        yield "plan.optimizer", "adamw_torch", ("sgd", "prodigy")
    if trainer in _IN_PIECES and facts.value("plan.fused_loss") is None and not plan.liger:
        yield "plan.fused_loss", "none", ("linear_cross_entropy",)
    if trainer == "own" and facts.value("plan.loss_upcast") is None:
        yield "plan.loss_upcast", True, (False,)
    if trainer in _UNWRAPPED and plan.sharding == "fsdp" and not plan.second and facts.value("plan.fsdp_wrapped") is None:
        yield "plan.fsdp_wrapped", True, (False,)
    if plan.checkpointing and trainer in _SELECTIVE and facts.value("plan.selective_checkpointing") is None:
        yield "plan.selective_checkpointing", "none", ("op", "2")
    if "plan.activation_offload" in assumed and plan.checkpointing:
        yield "plan.activation_offload", True, (False,)
    selected = facts.text("plan.selective_checkpointing")
    if plan.checkpointing and selected is not None and selected not in _SELECTED and not selected.isdigit():
        # In words: what is spared is not known.
        yield "plan.selective_checkpointing", selected, ("op", "2")
    if "plan.gradient_checkpointing" in assumed and not plan.checkpointing and _may_checkpoint(situation):
        yield "plan.gradient_checkpointing", False, (True,)
    if "plan.load_dtype" in assumed and plan.quant == "none" and trainer in _LOAD_BY_THEMSELVES and not _as_stored(situation):
        # from_pretrained makes float32 of every checkpoint up to transformers 4 unless it is told another dtype.
        yield "plan.load_dtype", plan.load_dtype, ("float32",)
    if "plan.kbit_preparation" in assumed:
        yield "plan.kbit_preparation", True, (False,)
    if (
        (plan.upcast or plan.load_dtype == "float32")
        and plan.autocast is None
        and facts.value("plan.bf16") is None
        and facts.value("plan.fp16") is None
    ):
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
    cuts = trainer in _CUTS or (padded is False and trainer == "trl") or (padded is not True and situation.plan.unsloth)
    return cuts and "plan.seq_len" in facts and facts["plan.seq_len"].origin.source != "--set" and not situation.counted


def _unmodelled(situation: Planned, computed: Estimate) -> Iterator[Undecided]:
    """What is stated of a run and has no term here, each with the most that it could take away."""
    facts, expected = situation.facts, computed.allocated.expected

    def parts(fact: str) -> int:
        value = facts.value(fact)
        return value if isinstance(value, int) and not isinstance(value, bool) else 1

    def without(fact: str, low: float) -> Undecided:
        return Undecided(fact, facts.value(fact) or 0, (_NEUTRAL.get(fact, 1),), Range(low, expected, expected), modelled=False)

    tensor, context = parts("plan.tensor_parallel"), parts("plan.context_parallel")
    if tensor > 1 and situation.plan.tensor == 1:
        yield without("plan.tensor_parallel", expected / tensor)
    if context > 1:
        shorter = situation.estimate_with({"plan.seq_len": max(1, situation.plan.tokens // context)})
        yield without("plan.context_parallel", shorter.allocated.low)
    if facts.text("plan.distributed") == "megatron" and situation.plan.gpus > 1 and facts.value("plan.tensor_parallel") is None:
        # Its layers are mostly cut among some of its ranks.
        gpus = situation.plan.gpus
        yield Undecided("plan.tensor_parallel", 1, (gpus,), Range(expected / gpus, expected, expected))
    for fact in ("plan.pipeline_parallel", "plan.expert_parallel"):
        if parts(fact) > 1:
            yield without(fact, expected / parts(fact))
    for fact, left in (("plan.activation_offload", 0.0), ("plan.float8", 0.5)):
        if facts.value(fact) is True and not (situation.plan.checkpointing and fact == "plan.activation_offload"):
            yield without(fact, max(moment.total - (1 - left) * moment.terms.get("activations", 0.0) for moment in computed.moments))


def _may_checkpoint(situation: Planned) -> bool:
    """Whether checkpointing may be on although nobody says so: ``prepare_model_for_kbit_training`` of peft switches it on unless it is told
    not to, which a script may call by itself, and so do TRL's configurations from 0.22 on."""
    plan, facts = situation.plan, situation.facts
    trainer = trainer_of(facts)
    if trainer == "trl" and not isinstance(facts.value("packages.trl"), Exact):
        return True
    prepared = plan.method == "adapter" and plan.quant in ("4bit", "8bit") and trainer in ("transformers", "trl", "accelerate")
    return trainer in (None, "own") or prepared


def _as_stored(situation: Planned) -> bool:
    release = situation.plan.stack.transformers
    return situation.plan.load_dtype == "float32" or (bool(release) and at_least(release, "5.0"))
