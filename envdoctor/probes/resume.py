"""``resume``: can this stack continue a run from a checkpoint that it wrote itself?

The faults, which training itself never shows: torch 2.6 loads with ``weights_only`` and transformers before 4.47 does not expect it
(huggingface/transformers#34631), 4.51 asks for it of a torch that cannot do it yet, and from 4.52 on ``torch.load`` is refused before
torch 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import with_assumed
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "resume"

# How torch and transformers say that a checkpoint's pickles are not loaded.
_REFUSALS = ("weights only load failed", "weights_only", "due to a serious vulnerability issue in `torch.load`", "unsupported class numpy")
_REFUSED = re.compile(r"Unsupported (?:global: GLOBAL|class) [\w.]{1,100}")
_OPTIMIZERS = ("adamw", "adamw_torch", "adamw_torch_fused")
_OTHER_CHECKPOINTS = ("zero1", "zero2", "zero3", "fsdp", "megatron")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """What is assumed of the plan, or why its checkpoints are others than this probe writes."""
    distributed = facts.value("plan.distributed")
    if distributed in _OTHER_CHECKPOINTS or facts.value("plan.deepspeed") is True:
        return f"checkpoints of {'DeepSpeed' if distributed is None else distributed} are others than this probe writes"
    optimizer = facts.text("plan.optimizer")
    return {"assumed": [] if optimizer is None or optimizer in _OPTIMIZERS else [f"adamw_torch in place of {optimizer}"]}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured), params)


def _judge(measured: Mapping[str, object]) -> Judgement:
    listed = measured.get("steps")
    steps = list(listed) if isinstance(listed, (list, tuple)) else []
    error = measured.get("error")
    if error is not None:
        fields = error if isinstance(error, Mapping) else {}
        message = " ".join(str(fields.get("message", "")).split())
        during = str(fields.get("during", "a step"))
        told = f"{during} failed: {fields.get('type', 'an error')}: {_short(message)}"
        if during == "resuming" and steps == [1] and any(text in message.lower() for text in _REFUSALS):
            return "confirmed", f"one step trains and is saved; {told}"
        return "inconclusive", told
    if steps != [1, 2]:
        return "inconclusive", "no run was saved and resumed"
    return "refuted", "a run of one step is saved, and a new Trainer takes the second step from its checkpoint"


def _short(message: str) -> str:
    """The first sentence and the class that was refused: torch goes on with two ways out, neither of which a Trainer has."""
    refused = _REFUSED.search(message)
    first = message.partition(". ")[0][:200]
    return first if refused is None or refused[0] in first else f"{first}: {refused[0]}"


PROBE = Probe(
    name=NAME,
    shows="whether a checkpoint of the Trainer can be resumed by the stack that wrote it",
    needs=("torch", "transformers", "accelerate"),
    cost="4 to 30 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "resume.py",
    parameters=parameters,
    judge=judge,
    timeout=180.0,
    memory_bytes=8 << 30,
)
