"""What a fit report says, in words that its formats share."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import FactValue
from envdoctor.memory.advice import Advice
from envdoctor.memory.estimate import GIB, Range, Term
from envdoctor.memory.fits import Verdict
from envdoctor.memory.plan import Adapter, Plan
from envdoctor.memory.targets import EVERY_LINEAR
from envdoctor.report.fit import FitReport
from envdoctor.report.plain import printable

TERM_WORDS: dict[Term, str] = {
    "weights": "weights",
    "adapters": "adapters",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "activations": "activations",
    "logits": "logits, loss",
    "other": "other",
}
_SHARDING = {
    "ddp": "DDP: a whole copy on each",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "zero3": "ZeRO-3",
    "fsdp": "FSDP",
    "device_map": "layers spread by device_map",
    "megatron": "Megatron",
}
_DECISIVE = ("plan.method", "plan.trained_layers", "plan.batch_size", "plan.seq_len", "gpu.count")
_FITS = {"yes": "fits", "tight": "tight", "no": "does not fit", "unknown": "cannot be told"}


def gib(count: float, places: int = 1) -> str:
    """Bytes as GiB, 2**30 bytes."""
    return f"{count / GIB:.{places}f} GiB"


def counted(number: int, of: str) -> str:
    """``12,408 tokens``, ``1024 tokens``, and ``1 token``."""
    written = f"{number:,}" if number >= 10_000 else str(number)
    return f"{written} {of}{'' if number == 1 else 's'}"


def between(range_: Range) -> str:
    """A range in GiB, without its unit: ``60.1 to 70.2``."""
    return f"{range_.low / GIB:.1f} to {range_.high / GIB:.1f}"


def verdict_word(report: FitReport) -> str:
    return _FITS[report.verdict.fits]


def verdict_words(report: FitReport) -> str:
    """What follows the verdict: the need, and what there is."""
    verdict, estimate = report.verdict, report.estimate
    needed = f"{gib(verdict.needed.expected)} at the peak ({printable(estimate.peak.name)})"
    if estimate.is_a_range:
        return _range_words(verdict)
    if verdict.memory is None or verdict.spare is None:
        return f"{needed}; the memory of the GPU is not known"
    there = f"{gib(verdict.memory)} usable"
    if verdict.fits == "yes":
        return f"{needed}, {there}: {gib(verdict.spare)} to spare"
    if verdict.fits == "tight":
        return f"{needed}, {there}; it may be {gib(verdict.needed.high)}"
    if verdict.fits == "unknown":
        return f"{between(verdict.needed)} GiB at the peak, {there}: what decides was not stated"
    return f"{needed}, {there}: {gib(-verdict.spare)} too much"


def _range_words(verdict: Verdict) -> str:
    """The need as a range, where a figure in it could be off by more than twice."""
    needed = f"{between(verdict.needed)} GiB at the peak, by what was not stated"
    if verdict.memory is None:
        return f"{needed}; the memory of the GPU is not known"
    also = {"yes": "; the most of it fits", "no": "; the least of it does not fit"}.get(verdict.fits, "")
    return f"{needed}, {gib(verdict.memory)} usable{also}"


def decisive(report: FitReport) -> str:
    """What was assumed of the facts that decide most; empty where all of them were stated."""
    known = {one.fact: assumed(one.assumed) for one in report.assumptions}
    taken = [f"{name.removeprefix('plan.')} = {known[name]}" for name in _DECISIVE if name in known]
    return f"with what nobody stated: {', '.join(taken)}" if taken else ""


def plan_words(report: FitReport) -> str:
    """The plan in one sentence without a verb, as a person would tell it."""
    what, *how = _plan(report.plan)
    if report.trained_layers is not None:
        what = f"training of {report.trained_layers} layer{'s' if report.trained_layers != 1 else ''}, the others frozen"
    return printable(", ".join((what, *how)))


def gpu_words(report: FitReport) -> str:
    """The GPUs of the plan: ``3 x RTX 3090, 23.6 GiB usable each``."""
    name = printable(report.gpu) or "a GPU that is not named"
    ranks = report.plan.ranks
    count = f"{ranks} x " if ranks > 1 else ""
    memory = report.verdict.memory
    each = " each" if ranks > 1 else ""
    return f"{count}{name}, {'memory not known' if memory is None else f'{gib(memory)} usable{each}'}"


def change_line(advice: Advice) -> str:
    """A change as it is given on the command line."""
    return " ".join(f"--set {name}={setting(value)}" for name, value in advice.change.items())


def setting(value: FactValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def assumed(value: object) -> str:
    """What was taken in the place of a fact."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return setting(value) if isinstance(value, (bool, str, int, float)) else str(value)


def _plan(plan: Plan) -> Iterator[str]:
    yield _method(plan)
    yield plan.load_dtype if plan.autocast in (None, plan.load_dtype) else f"{plan.load_dtype} weights under {plan.autocast} autocast"
    rows = f"{counted(plan.rows, 'row')} of {counted(plan.tokens * plan.parts, 'token')}"
    if plan.parts > 1:
        rows += f" ({counted(plan.tokens, 'token')} on each GPU)"
    yield f"{rows}, {plan.accumulation} times a step" if plan.accumulation > 1 else rows
    yield f"{plan.attention} attention"
    if plan.method != "inference":
        yield _optimizer(plan)
        yield "gradient checkpointing" if plan.checkpointing else "no gradient checkpointing"
    if plan.liger or plan.fused_loss or plan.chunked_loss:
        yield _loss(plan)
    if plan.lora_kernels:
        yield "adapters in kernels"
    if plan.compile:
        yield "torch.compile"
    if plan.ranks > 1 or plan.sharding not in ("none", "ddp"):
        yield f"{plan.ranks} GPU{'s' if plan.ranks != 1 else ''}{_way(plan)}"
    if plan.offload != "none":
        yield {"optimizer": "optimizer", "parameters": "parameters", "both": "parameters and optimizer"}[plan.offload] + " on the CPU"


def _optimizer(plan: Plan) -> str:
    states = f" with {plan.state_dtype} states" if plan.state_dtype is not None else ""
    return f"{plan.optimizer}{states}{' in the backward' if plan.in_backward else ''}"


def _loss(plan: Plan) -> str:
    if plan.loss_rows or plan.chunked_loss:
        return "a loss in pieces"
    if plan.cut_loss:
        return "cut cross entropy"
    if plan.unsloth or not plan.liger:
        return "fused cross entropy"
    return "Liger kernels"


def _way(plan: Plan) -> str:
    cuts = ((plan.tensor, "each layer cut in"), (plan.pipeline, "layers in stages:"), (plan.experts_over, "experts cut in"))
    ways = [_SHARDING[plan.sharding]] if plan.sharding in _SHARDING else []
    ways += [f"{words} {number}" for number, words in cuts if number > 1]
    return f" ({', '.join(ways)})" if ways else ""


def _method(plan: Plan) -> str:
    quant = "" if plan.quant == "none" else f" beside {plan.quant}{', doubly quantized' if plan.double_quant else ''} weights"
    if plan.method == "full":
        return f"full fine-tuning{'' if not quant else f' of {plan.quant} weights'}"
    if plan.method == "inference":
        return f"inference{'' if not quant else f' with {plan.quant} weights'}"
    if plan.adapter is not None:
        return f"{_adapter(plan.adapter)}{quant}"
    return f"{plan.prompt} virtual tokens{quant}" if plan.prompt else f"an adapter{quant}"


def _adapter(adapter: Adapter) -> str:
    name = "IA3" if adapter.vectors else f"{'DoRA' if adapter.dora else 'LoRA'} r {adapter.rank}"
    where = "every linear layer" if not EVERY_LINEAR.isdisjoint(adapter.targets) else ", ".join(adapter.targets)
    saved = f" and {', '.join(adapter.modules_to_save)} in full" if adapter.modules_to_save else ""
    return f"{name}{f' on {where}' if where else ''}{saved}"
