"""A wider range where what decides was not stated: a figure must not look surer than what it was made of."""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.memory import modeling
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import GIB, Assumption, Estimate, Moment, Range
from envdoctor.memory.plan import Plan
from envdoctor.memory.regime import Regime, estimate_under
from envdoctor.records import replace

SHORT, LONG = 64, 8192
"""Between these lies the longest of rows of which nobody says how long they are: questions of one line with answers to be scored took 112
tokens (benchmarks/unseen/memory-11.json, 1 to 4), and a limit that is set today is often this high."""
_UNMEASURED = 0.25
# Tensors as wide as the queries: a ring over 700,000 tokens on eight ranks ran out of 80 GB with one stack, and not with another, where 61
# are counted without any (benchmarks/unseen/memory-4.json, 9936 and 9939).
_EXCHANGED = 12
# What GRPO under Unsloth took of what is counted of it: 1.34 to 2.22 times, in five runs (benchmarks/unseen/memory-9.json, 44 to 48).
_OF_UNSLOTHS_GRPO = 2.25
# gpu_memory_utilization of vLLM, and vllm_gpu_memory_utilization of GRPOConfig (0.18.2 to 1.16.0).
_OF_VLLM, _OF_VLLM_IN_TRL = 0.9, 0.3


def widened(computed: Estimate, architecture: Architecture, plan: Plan, assumptions: Iterable[Assumption], regime: Regime) -> Estimate:
    """The estimate with the low end of short rows and the high end of long ones, where the length of the rows was assumed."""
    if "plan.seq_len" not in {assumption.fact for assumption in assumptions}:
        return computed
    short = estimate_under(architecture, replace(plan, tokens=min(SHORT, plan.tokens)), regime)
    long = estimate_under(architecture, replace(plan, tokens=max(LONG, plan.tokens)), regime)
    return replace(
        computed,
        allocated=_both(computed.allocated, short.allocated, long.allocated),
        reserved=_both(computed.reserved, short.reserved, long.reserved),
        guessed=True,
    )


def fused_perhaps(computed: Estimate, architecture: Architecture, plan: Plan, regime: Regime) -> Estimate:
    """The estimate of a loop of one's own with a low end at which a fused kernel computes the attention, although transformers would give
    torch's sdpa what none takes: a script may copy keys and values for every head itself, as that of fitcheck's runs does
    (benchmarks/unseen/memory.json, 9005 to 9059)."""
    if not modeling.falls_back(architecture, plan):
        return computed
    fused = estimate_under(architecture, replace(plan, attention="flash_attention_2"), regime)
    low, cached = min(computed.allocated.low, fused.allocated.low), min(computed.reserved.low, fused.reserved.low)
    return replace(computed, allocated=replace(computed.allocated, low=low), reserved=replace(computed.reserved, low=cached))


def exchanged(computed: Estimate, architecture: Architecture, plan: Plan) -> Estimate:
    """The estimate of rows whose tokens are shared out, with a high end of what the exchange of queries, keys, values and their gradients
    may hold for a moment: those of a ring are float32, and of keys and values there are two
    (zigzag_ring_flash_attn.py of ring-flash-attn 0.1.5)."""
    tokens = plan.rows * plan.tokens
    gathered = 4.0 * architecture.key_width * tokens * plan.context if plan.gathers else 0.0
    moments = tuple(_with_gathered(moment, gathered) for moment in computed.moments)
    grown = max(moment.total for moment in moments) - computed.peak.total
    more = grown + _EXCHANGED * 4.0 * architecture.query_width * tokens

    def wider(one: Range) -> Range:
        return Range(one.low, one.expected + grown, one.high + more)

    return replace(computed, moments=moments, allocated=wider(computed.allocated), reserved=wider(computed.reserved), guessed=True)


def _with_gathered(moment: Moment, gathered: float) -> Moment:
    """The moment in which a layer is computed again, with the keys and values of the whole row in 16 bits: torch has a buffer of them
    (``_AllGatherRotater`` of torch/distributed/tensor/experimental, 2.13.0). Three runs over 1,048,576 tokens are 7 % too low, 7 % too
    low and 15 % too high with it (benchmarks/unseen/memory-6.json, 93 to 95)."""
    if not gathered or moment.name != "backward of the last layer":
        return moment
    return Moment(moment.name, {**moment.terms, "activations": moment.terms.get("activations", 0.0) + gathered})


def unmeasured(computed: Estimate) -> Estimate:
    """The estimate for kernels that are not CUDA's, of which nothing was compared with a measurement: a quarter wider at both ends."""
    return replace(computed, allocated=_wider(computed.allocated), reserved=_wider(computed.reserved))


def generated_elsewhere(computed: Estimate, plan: Plan, *, valued: bool) -> Estimate:
    """The estimate of GRPO or PPO whose answers are generated and scored by code that is not modelled, as Unsloth's: with a high end that
    its runs were seen to reach, and with the copy that full training may compare with. ``valued``: PPO of a whole model trains another one
    for values, and asks a third for rewards."""
    weights = computed.moments[0].terms.get("weights", 0.0) if plan.method == "full" else 0.0
    high = _OF_UNSLOTHS_GRPO * computed.allocated.expected + weights
    return _up_to(computed, max(high, 2 * (computed.allocated.expected + weights)) if valued else high)


def beside_vllm(computed: Estimate, plan: Plan, *, of_trl: bool) -> Estimate:
    """The estimate with a high end at which vLLM has its share of the same card; the low end is that of a server elsewhere."""
    return _up_to(computed, computed.allocated.high + (_OF_VLLM_IN_TRL if of_trl else _OF_VLLM) * plan.card * GIB)


def _up_to(computed: Estimate, high: float) -> Estimate:
    allocated, cached = computed.allocated, computed.reserved
    return replace(
        computed,
        allocated=replace(allocated, high=max(allocated.high, high)),
        reserved=replace(cached, high=max(cached.high, high)),
        guessed=True,
    )


def _wider(one: Range) -> Range:
    return Range(one.low * (1 - _UNMEASURED), one.expected, one.high * (1 + _UNMEASURED))


def _both(expected: Range, short: Range, long: Range) -> Range:
    return Range(min(expected.low, short.low), expected.expected, max(expected.high, long.high))
