"""The changes of a plan that take memory away, in the order in which a practitioner would accept them.

Each is what is to be stated of the plan (facts), so that a person can paste it and is given the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import FactValue
from envdoctor.memory.plan import Plan
from envdoctor.memory.sharding import is_deepspeed
from envdoctor.records import dataclass

Change: TypeAlias = Mapping[str, FactValue]

NOT_MEASURED = "speed not measured"
_COUNTS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
# As many as one machine has: more is for whoever has as many already.
_IN_ONE_MACHINE = 8
_PARTS = (0.75, 0.5, 0.375, 0.25, 0.125)
_SHORTEST = 256
# Language models whose loss Liger computes without the logits (MODEL_TYPE_TO_APPLY_LIGER_FN of liger-kernel 0.8.5; code of a
# snapshot's own is in no such table).
_LIGER = frozenset(("gemma", "gemma2", "gemma3_text", "glm4", "llama", "mistral", "mixtral", "olmo2", "phi3", "qwen2", "qwen3", "smollm3"))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides on a change beside the plan: ``method`` as stated, the model's type and code, the GPU, the lengths of the data.

    ``lengths`` are (tokens, share of the rows that are longer), the longest first. ``half`` says that the GPU is an Ampere or later one.
    ``sequences`` are made of one row of the data: 2 of a preference pair. ``evaluated`` are the rows of an evaluation's batch, 0 without.
    """

    method: str | None = None
    kind: str = ""
    remote: bool = False
    checkpointing_works: bool = True
    half: bool = False
    sequences: int = 1
    evaluated: int = 0
    lengths: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One degree of a change, and what it costs beside memory: in words, and as a number that only serves to compare sets of changes."""

    change: Change
    cost: str
    price: float = 1.0


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of change; its ``steps`` from the mildest on. ``hardware`` says that it has to be bought."""

    name: str
    steps: tuple[Step, ...]
    hardware: bool = False


def moves(plan: Plan, circumstances: Circumstances) -> tuple[Move, ...]:
    """What may be changed of this plan at all, most acceptable first; moves without a step are left out."""
    frozen = plan.method != "full"
    told = (
        Move("dtype", tuple(_dtype(plan, circumstances)) if frozen else ()),
        Move("checkpointing", tuple(_checkpointing(plan, circumstances))),
        Move("attention", tuple(_attention(plan, circumstances))),
        Move("batch", tuple(_batch(plan, circumstances.sequences))),
        Move("evaluation", tuple(_evaluation(circumstances))),
        Move("liger", tuple(_liger(plan, circumstances))),
        Move("length", tuple(_length(plan, circumstances))),
        Move("quant", tuple(_quant(plan, circumstances))),
        Move("optimizer", tuple(_optimizer(plan))),
        Move("dtype", () if frozen else tuple(_dtype(plan, circumstances))),
        Move("zero", tuple(_zero(plan))),
        Move("offload", tuple(_offload(plan))),
        Move("gpus", tuple(_gpus(plan)), hardware=True),
    )
    return tuple(move for move in told if move.steps)


_TOGETHER_NEVER = (
    frozenset(("quant", "zero")),  # DeepSpeed's ZeRO-3 refuses quantized weights
    frozenset(("quant", "offload")),
    frozenset(("quant", "gpus")),
    frozenset(("optimizer", "offload")),  # an offloaded optimizer is DeepSpeed's own
)


def go_together(*names: str) -> bool:
    return not any(pair <= frozenset(names) for pair in _TOGETHER_NEVER)


def _trains(plan: Plan) -> bool:
    return plan.method != "inference"


def _checkpointing(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    if _trains(plan) and not plan.checkpointing and circumstances.checkpointing_works:
        yield Step({"plan.gradient_checkpointing": True}, "about 20 to 30 % slower: activations are computed twice", 1.0)


def _dtype(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    """Weights of 16 bits in the place of float32: costs nothing where they are frozen, and small updates where they are trained.

    float16 weights cannot be trained in full: the GradScaler refuses to unscale their gradients.
    """
    half = "bfloat16" if circumstances.half or plan.autocast == "bfloat16" else "float16"
    if plan.load_dtype != "float32" or is_deepspeed(plan):
        return
    if plan.method != "full":
        yield Step({"plan.load_dtype": half}, f"frozen weights in 16 bits; {NOT_MEASURED}", 0.5)
    elif half == "bfloat16" and plan.sharding != "fsdp":
        yield Step({"plan.load_dtype": half}, f"trains 16-bit weights: small updates are lost in rounding; {NOT_MEASURED}", 3.5)


def _attention(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    if plan.attention == "eager":
        yield Step({"plan.attn": "sdpa"}, f"the same result; {NOT_MEASURED}", 0.5)
    half = "float32" not in (plan.autocast or plan.load_dtype)
    if plan.attention in ("eager", "sdpa") and circumstances.half and half:
        yield Step({"plan.attn": "flash_attention_2"}, f"needs the flash-attn package; {NOT_MEASURED}")


def _batch(plan: Plan, sequences: int) -> Iterator[Step]:
    """Fewer rows at a time and as many more times: what is learned stays the same."""
    now = plan.rows // sequences
    for rows in [count for count in range(min(now - 1, 4096), 0, -1) if now % count == 0]:
        change: Change = {"plan.batch_size": rows}
        cost = f"smaller batches; {NOT_MEASURED}"
        if _trains(plan):
            times = plan.accumulation * (now // rows)
            change = {**change, "plan.gradient_accumulation": times}
            cost = f"the same effective batch of {rows * times} rows; {NOT_MEASURED}"
        yield Step(change, cost, 1.0)


def _evaluation(circumstances: Circumstances) -> Iterator[Step]:
    """Fewer rows at a time where evaluation is what needs most: it changes nothing of the training."""
    rows = min(circumstances.evaluated, 4096) // 2
    while rows:
        at_once = f"{rows} row{'s' if rows > 1 else ''} at a time"
        yield Step({"plan.eval_batch_size": rows}, f"the same evaluation, {at_once}; {NOT_MEASURED}", 0.4)
        rows //= 2


def _liger(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    if _trains(plan) and not plan.liger and not circumstances.remote and circumstances.kind in _LIGER:
        yield Step({"plan.liger": True}, f"the loss without its logits; needs liger-kernel; {NOT_MEASURED}")


def _length(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    if circumstances.lengths:
        for tokens, longer in circumstances.lengths:
            if 0 < tokens < plan.tokens:
                yield Step({"plan.seq_len": tokens}, f"{100 * longer:.2g} % of the rows are cut", 1.8 + 8 * longer)
        return
    for part in _PARTS:
        tokens = int(plan.tokens * part) // 64 * 64
        if tokens >= _SHORTEST:
            yield Step({"plan.seq_len": tokens}, "longer rows are cut; --data FILE tells how many", 2.0 + 6 * (1 - part))


def _quant(plan: Plan, circumstances: Circumstances) -> Iterator[Step]:
    if plan.quant not in ("none", "8bit") or plan.sharding in ("zero3", "fsdp") or plan.offload != "none":
        return
    four = f"base weights in 4 bits; {NOT_MEASURED}"
    # Without mixed precision all that is computed beside prepared 4-bit weights is float32.
    mixed: Change = {} if plan.autocast is not None else {"plan.bf16": True} if circumstances.half else {"plan.fp16": True}
    if plan.method == "full" and circumstances.method in (None, "full", "freeze"):
        yield Step({"plan.method": "lora"}, f"trains small matrices beside the weights, not the weights; {NOT_MEASURED}", 4.0)
        yield Step({"plan.method": "qlora", "plan.quant": "4bit", **mixed}, f"LoRA beside {four}", 5.0)
    elif plan.method == "adapter" and circumstances.method == "lora":
        yield Step({"plan.method": "qlora", "plan.quant": "4bit", **mixed}, four, 3.0)
    elif plan.method in ("adapter", "inference"):
        yield Step({"plan.quant": "4bit"}, four, 3.0)


def _optimizer(plan: Plan) -> Iterator[Step]:
    name = plan.optimizer
    if _trains(plan) and "adam" in name and not any(mark in name for mark in ("8bit", "4bit")) and plan.offload == "none":
        yield Step({"plan.optimizer": "adamw_8bit"}, f"needs bitsandbytes; {NOT_MEASURED}", 2.0)
        yield Step({"plan.optimizer": "paged_adamw_8bit"}, f"needs bitsandbytes; slower where it pages; {NOT_MEASURED}", 2.5)


def _zero(plan: Plan) -> Iterator[Step]:
    if not _trains(plan) or plan.gpus < 2 or plan.quant != "none":
        return
    if plan.sharding in ("none", "ddp", "zero1"):
        yield Step({"plan.distributed": "zero2"}, f"needs deepspeed; {NOT_MEASURED}", 2.0)
    if plan.sharding in ("none", "ddp", "zero1", "zero2"):
        yield Step({"plan.distributed": "zero3"}, f"needs deepspeed; weights travel between the GPUs; {NOT_MEASURED}", 2.5)


def _offload(plan: Plan) -> Iterator[Step]:
    if not _trains(plan) or plan.offload in ("parameters", "both") or plan.quant != "none" or plan.sharding == "device_map":
        return
    slower = f"wait in the memory of the CPU: slower; {NOT_MEASURED}"
    if plan.sharding == "fsdp":
        yield Step({"plan.offload": "both"}, f"weights and states {slower}", 6.0)
        return
    if plan.offload == "none":
        held = plan.sharding if plan.sharding in ("zero2", "zero3") else "zero2"
        yield Step({"plan.distributed": held, "plan.offload": "optimizer"}, f"the optimizer's states {slower}", 4.5)
    yield Step({"plan.distributed": "zero3", "plan.offload": "both"}, f"weights and states {slower}", 6.0)


def _gpus(plan: Plan) -> Iterator[Step]:
    way = "device_map" if plan.quant != "none" or not _trains(plan) else "fsdp" if plan.sharding == "fsdp" else "zero3"
    for count in _COUNTS:
        if count > plan.gpus and (count <= _IN_ONE_MACHINE or plan.gpus >= _IN_ONE_MACHINE):
            yield Step({"gpu.count": count, "plan.distributed": way}, f"{count} GPUs; {NOT_MEASURED}")
