"""Facts that nobody stated and that move the answer by more than a quarter: each with what it could be, and the range that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.facts.fact import FactValue
from envdoctor.memory.estimate import Estimate, Range
from envdoctor.memory.situation import Planned
from envdoctor.memory.stack import at_least
from envdoctor.records import dataclass, replace

_MOVES = 0.25
_NEUTRAL: Mapping[str, FactValue] = {"plan.activation_offload": False, "plan.float8": False}


@dataclass(frozen=True, slots=True)
class Undecided:
    """``allocated`` spans what the run would take with the value that was ``taken`` and with the ``others``.

    Where it is not ``modelled``, the fact is stated, the answer leaves it out, and what it could save at most is the low end.
    """

    fact: str
    taken: FactValue
    others: tuple[FactValue, ...]
    allocated: Range
    modelled: bool = True


def undecided(situation: Planned, computed: Estimate) -> tuple[Undecided, ...]:
    """What decides and was not stated, the widest first."""
    expected = computed.allocated.expected
    found = []
    for fact, taken, others in _open(situation):
        ranges = [situation.estimate_with({fact: other}).allocated.expected for other in others]
        low, high = min(*ranges, expected), max(*ranges, expected)
        if max(high / expected - 1, 1 - low / expected) > _MOVES:
            found.append(Undecided(fact, taken, others, Range(low, expected, high)))
    found += [one for one in _unmodelled(situation, computed) if 1 - one.allocated.low / expected > _MOVES]
    return tuple(sorted(found, key=lambda one: one.allocated.low - one.allocated.high))


def spanning(computed: Estimate, found: Iterable[Undecided]) -> Estimate:
    """The estimate with a range that holds every value of what is undecided."""
    for one in found:
        allocated, reserved = computed.allocated, computed.reserved
        low, high = min(allocated.low, one.allocated.low), max(allocated.high, one.allocated.high)
        held = Range(min(reserved.low, one.allocated.low), reserved.expected, max(reserved.high, one.allocated.high))
        computed = replace(computed, allocated=Range(low, allocated.expected, high), reserved=held, guessed=True)
    return computed


def _open(situation: Planned) -> Iterator[tuple[str, FactValue, tuple[FactValue, ...]]]:
    """Facts that were assumed, what was taken, and what else is usual."""
    plan, facts = situation.plan, situation.facts
    assumed = {one.fact for one in situation.assumptions}
    if "plan.seq_len" in assumed:
        yield "plan.seq_len", plan.tokens, (256, 4096)
    if "plan.batch_size" in assumed:
        # per_device_train_batch_size of TrainingArguments.
        yield "plan.batch_size", 1, (8,)
    if plan.method == "inference":
        return
    if plan.gpus > 1 and "plan.distributed" in assumed and facts.value("plan.distributed") is not None:
        # A way of sharing that is not modelled (tensor, context, pipeline or expert parallelism): somewhere between all on each and parts.
        yield "plan.distributed", plan.sharding, ("fsdp",)
    trainer = facts.text("plan.trainer")
    if "plan.gradient_checkpointing" in assumed and trainer is None:
        yield "plan.gradient_checkpointing", False, (True,)
    if "plan.load_dtype" in assumed and plan.quant == "none" and trainer is None and not _as_stored(situation):
        # from_pretrained makes float32 of every checkpoint up to transformers 4 unless it is told another dtype.
        yield "plan.load_dtype", plan.load_dtype, ("float32",)
    if plan.upcast and plan.autocast is None and facts.value("plan.bf16") is None and facts.value("plan.fp16") is None:
        # Beside what k-bit preparation made float32 everything is computed so, unless mixed precision is asked for.
        yield "plan.bf16", False, (True,)


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
        yield without("plan.context_parallel", shorter.allocated.expected)
    for fact in ("plan.pipeline_parallel", "plan.expert_parallel"):
        if parts(fact) > 1:
            yield without(fact, expected / parts(fact))
    for fact, left in (("plan.activation_offload", 0.0), ("plan.float8", 0.5)):
        if facts.value(fact) is True:
            yield without(fact, max(moment.total - (1 - left) * moment.terms.get("activations", 0.0) for moment in computed.moments))


def _as_stored(situation: Planned) -> bool:
    release = situation.plan.stack.transformers
    return situation.plan.load_dtype == "float32" or at_least(release, "5.0")
