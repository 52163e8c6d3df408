"""The finding of ``check``: a plan that cannot fit into the memory of its GPU, whatever nobody has stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.memory import optimizer as optimizers
from envdoctor.memory.budget import foreign, usable_memory
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.estimate import GIB, Estimate
from envdoctor.memory.plan import Plan
from envdoctor.memory.situation import Planned, planned
from envdoctor.records import replace

RULE = "plan-exceeds-gpu-memory"
# Rules that say of the same run why, where the number of parameters alone decides.
_WHY = ("full-training-adam-states-larger-than-gpu", "weights-larger-than-one-gpu")
# What is taken for a fact that nobody stated: whatever needs the least memory, so that it is never held against the plan.
_LEAST: Mapping[str, FactValue] = {
    "plan.batch_size": 1,
    "plan.seq_len": 1,
    "plan.gradient_accumulation": 1,
    "plan.gradient_checkpointing": True,
    "plan.attn": "flash_attention_2",
    "plan.optimizer": "paged_adamw_8bit",
    "plan.load_dtype": "bfloat16",
    "plan.lora_r": 1,
    "plan.liger": True,
    "plan.double_quant": True,
    "plan.kbit_preparation": False,
    "plan.padding": False,
}
_TRAINED_WHOLE = frozenset(("full", "pretrain"))
_ADAPTED = frozenset(("lora", "qlora", "dora", "rslora"))
_RUN_PLANS = frozenset(("llamafactory", "axolotl", "ms-swift"))
_ALONE = frozenset(("none", "ddp", "dp"))
# How far activations may be below the estimate where the release of transformers is not known: it moved by 30 % between some.
_UNKNOWN_RELEASE = 0.3


def exceeding(stated: Facts, config: Mapping[str, object]) -> tuple[Hit, ...]:
    """The rule holds where the low end of the estimate, with the smallest context, is more than torch may use of the card.

    Where nobody says how many GPUs there are, or how they share, it may hold: if the one that is named has to hold all.
    It is not asked where method or GPU are not known, nor of architectures that were compared with no real modules, nor of
    kernels that are neither CUDA's nor ROCm's.
    """
    # What a framework runs by itself does nothing that its plan does not say.
    facts = derive(stated if stated.text("plan.trainer") in _RUN_PLANS else stated.without(WHOLE))
    memory = usable_memory(facts)
    if memory is None or foreign(facts) or facts.text("plan.method") not in _TRAINED_WHOLE | _ADAPTED:
        return ()
    if not _counted(facts):
        return _if_alone(stated, config)
    try:
        architecture = read_architecture(config)
    except ArchitectureError:
        return ()
    if not architecture.known or _another_way(facts):
        return ()
    # What is evaluated may be short rows only.
    least = planned(stated.with_facts(_least(facts)).without("plan.evaluate"), architecture)
    estimate = least.estimate()
    if _needed(estimate, least.plan) <= memory:
        return _if_alone(stated, config)
    return (_hit(planned(stated, architecture), estimate, _needed(estimate, least.plan), memory),)


def _if_alone(stated: Facts, config: Mapping[str, object]) -> tuple[Hit, ...]:
    """The same as it is if the GPU that is named is the only one and holds all, where nobody says otherwise."""
    open_ = [name for name in ("gpu.count", "plan.distributed") if name not in stated]
    one = stated.value("gpu.count") in (None, 1) and derive(stated).text("accelerator") in (None, "cuda", "rocm")
    if (
        "plan.distributed" not in open_
        or not one
        or stated.value("plan.deepspeed") is True
        or stated.text("plan.offload") not in (None, "none")
    ):
        return ()
    origin = Origin("the GPU that is named")
    found = exceeding(stated.with_facts([Fact("gpu.count", 1, origin), Fact("plan.distributed", "none", origin)]), config)
    return tuple(replace(hit, outcome=None, missing=tuple(open_)) for hit in found)


def _another_way(facts: Facts) -> bool:
    """Whether the run may step in a way that no fact tells: torchtune's optimizer_in_bwd, or an optimizer that is not known here."""
    named = facts.text("plan.optimizer")
    whole = facts.text("plan.method") in _TRAINED_WHOLE
    return whole and (facts.text("plan.trainer") == "torchtune" or (named is not None and optimizers.find(named) is None))


def _counted(facts: Facts) -> bool:
    """Whether it is known on how many GPUs the run is spread, and that they are GPUs with a memory of their own."""
    if facts.text("accelerator") not in (None, "cuda", "rocm"):
        return False
    return facts.text("plan.distributed") in _ALONE or isinstance(facts.value("gpu.count"), int)


def _least(facts: Facts) -> Iterator[Fact]:
    origin = Origin("the least that a plan can ask")
    least = dict(_LEAST)
    if facts.text("plan.method") in _ADAPTED:
        least["plan.quant"] = "4bit"
    if facts.value(WHOLE) is True and facts.text("plan.trainer") in _RUN_PLANS and facts.value("plan.arguments") is not None:
        # Every release of transformers takes AdamW with its two moments, where nothing else is asked for.
        least["plan.optimizer"] = "adamw_torch"
    count = facts.value("gpu.count")
    if facts.text("plan.distributed") is None and isinstance(count, int) and count > 1:
        least["plan.distributed"] = "zero3"
    if facts.text("plan.distributed") not in _ALONE and not (count == 1 and facts.value("plan.deepspeed") is False):
        # ZeRO 1 and 2 share out what the optimizer holds: the weights stay on every card.
        least["plan.offload"] = "optimizer" if facts.text("plan.distributed") in ("zero1", "zero2") else "both"
    for name, value in least.items():
        if facts.value(name) is None or isinstance(facts.value(name), NotUnderstood):
            yield Fact(name, value, origin)


def _needed(estimate: Estimate, plan: Plan) -> float:
    """Bytes that are surely needed."""
    needed = estimate.allocated.low + estimate.beside.low
    if not plan.stack.transformers:
        terms = estimate.peak.terms
        needed -= _UNKNOWN_RELEASE * (terms.get("activations", 0.0) + terms.get("logits", 0.0))
    return needed


def _hit(situation: Planned, least: Estimate, needed: float, memory: float) -> Hit:
    # A finding is rare, and the search for its cure is most of what there is to load.
    from envdoctor.memory.advice import advise

    facts, peak = situation.facts, least.peak
    terms = sorted(((count, term) for term, count in peak.terms.items() if count >= 0.05 * peak.total), reverse=True)
    made = ", ".join(f"{term} {_gib(count)}" for count, term in terms[:3])
    card = facts.text("gpu.name") or "the GPU"
    proposed = advise(situation.plan, situation.estimate_with, memory, situation.circumstances())
    advice = next((one for one in proposed if all(name.startswith("plan.") for name in one.change)), None)
    then = "" if advice is None else f"; with what is proposed it needs {_gib(advice.allocated.expected)}"
    because = [("gpu.memory_gib", f"less than {_gib(needed)} and what the driver keeps")]
    because += [(name, "decides the memory") for name in ("plan.method", "plan.batch_size", "plan.seq_len") if name in facts]
    return Hit(
        RULE,
        True,
        because=tuple(because),
        detail=f"at least {_gib(needed)} on each GPU at the peak ({peak.name}: {made}); torch may use {_gib(memory)} of {card}{then}",
        plan=() if advice is None else tuple(advice.change.items()),
        unless=_WHY,
    )


def _gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB"
