"""Facts that nobody stated and that move the answer by more than a quarter: each with what it could be, and the range that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.facts.fact import FactValue
from envdoctor.facts.versions import Exact, exact
from envdoctor.memory.asked import Reader
from envdoctor.memory.estimate import Estimate, Range
from envdoctor.memory.implied import least_transformers
from envdoctor.memory.open_facts import OWN_LAYERS, open_facts
from envdoctor.memory.situation import Planned
from envdoctor.memory.stack import at_least
from envdoctor.memory.weights import experts_bytes
from envdoctor.records import dataclass, replace

_MOVES = 0.25
_SEVERAL = 2
_TORCH = "2.5.1"
# Beside weights of bitsandbytes the releases of May 2023 took more than is counted here: a 7B model in 8 bits and a 13B one in 4 did not go
# into the 14.6 GiB of a T4 at 1,024 tokens (https://huggingface.co/blog/4bit-transformers-bitsandbytes), where 8.8 and 10.1 are counted.
_OF_2023 = 1.65
# What came after that: neither a model that these brought, nor a configuration that they wrote, is from before.
_SINCE, _TRL_SINCE = "4.32", "0.7"
# Where rows are not packed, the longest batch may be shorter than what is stated, by so much of what lives for its tokens: nine runs of
# peft's table (batches of 4, at most 768 tokens; docs/memory.md) held 1 to 5 % less than the least that was counted.
_LONGEST = 0.1
_NEUTRAL: Mapping[str, FactValue] = {"plan.activation_offload": False, "plan.float8": False, "plan.expert_offload": False}


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
    for fact, taken, others in open_facts(situation, expected):
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
    facts, written = situation.facts, situation.facts.value("model.transformers_version")
    known = (least_transformers(facts), written.text if isinstance(written, Exact) else "")
    later_than_that = Reader(facts).of_trl(_TRL_SINCE) or any(one and at_least(one, _SINCE) for one in known)
    if later_than_that and facts.text("plan.trainer") not in OWN_LAYERS:
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
    # What moves a long row little may move a short one much: beside an open length all that is open is taken together.
    together = found if any(one.fact == "plan.seq_len" for one in deciding(found)) else deciding(found)
    for values in ([(one, one.least) for one in together], [(one, one.most) for one in together]):
        changes = [_change(situation, one.fact, value) for one, value in values if value is not None]
        if len(changes) < _SEVERAL:
            continue
        corner = situation.estimate_with({name: value for change in changes for name, value in change.items()})
        low, high = min(ranged.allocated.low, corner.allocated.expected), max(ranged.allocated.high, corner.allocated.expected)
        cached = max(ranged.reserved.high, corner.reserved.expected)
        held = Range(min(ranged.reserved.low, low), ranged.reserved.expected, cached)
        ranged = replace(ranged, allocated=Range(low, ranged.allocated.expected, high), reserved=held)
    return ranged


def _unmodelled(situation: Planned, computed: Estimate) -> Iterator[Undecided]:
    """What is stated of a run and has no term here, each with the most that it could take away."""
    facts, expected = situation.facts, computed.allocated.expected

    def parts(fact: str) -> int:
        value = facts.value(fact)
        return value if isinstance(value, int) and not isinstance(value, bool) else 1

    def without(fact: str, low: float) -> Undecided:
        return Undecided(fact, facts.value(fact) or 0, (_NEUTRAL.get(fact, 1),), Range(low, expected, expected), modelled=False)

    tensor = parts("plan.tensor_parallel")
    if tensor > 1 and situation.plan.tensor == 1:
        yield without("plan.tensor_parallel", expected / tensor)
    if facts.text("plan.distributed") == "megatron" and situation.plan.gpus > 1 and facts.value("plan.tensor_parallel") is None:
        # Its layers are mostly cut among some of its ranks.
        gpus = situation.plan.gpus
        yield Undecided("plan.tensor_parallel", 1, (gpus,), Range(expected / gpus, expected, expected))
    counted = {"plan.pipeline_parallel"} if situation.plan.pipeline > 1 else set()
    counted |= {"plan.expert_parallel"} if situation.plan.experts_over > 1 else set()
    for fact in ("plan.pipeline_parallel", "plan.expert_parallel"):
        if parts(fact) > 1 and fact not in counted:
            yield without(fact, expected / parts(fact))
    if facts.value("plan.expert_offload") is True and any(kind.experts for _, kind in situation.architecture.kinds):
        # Those of a layer or two are on the GPU at a time, of as many as there are.
        yield without("plan.expert_offload", max(expected - experts_bytes(situation.architecture, situation.plan), 0.0))
    for fact, left in (("plan.activation_offload", 0.0), ("plan.float8", 0.5)):
        if facts.value(fact) is True and not (situation.plan.checkpointing and fact == "plan.activation_offload"):
            yield without(fact, max(moment.total - (1 - left) * moment.terms.get("activations", 0.0) for moment in computed.moments))
