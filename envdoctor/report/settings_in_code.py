"""Settings of a plan in the words of a script, for whoever pastes a log and has no plan file to set anything in.

The keywords are those of transformers' TrainingArguments, of from_pretrained and of BitsAndBytesConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from envdoctor.sources.plans.training_arguments import SETTINGS

_ARGUMENTS = {fact: keys[0] for keys, fact in SETTINGS.read()}
_DISTRIBUTED = {
    "none": "one process: python SCRIPT, without torchrun, accelerate launch or deepspeed",
    "ddp": "torchrun --nproc_per_node=GPUS SCRIPT without FSDP and DeepSpeed",
    "zero1": "DeepSpeed with zero_optimization.stage 1",
    "zero2": "DeepSpeed with zero_optimization.stage 2",
    "zero3": "DeepSpeed with zero_optimization.stage 3",
    "fsdp": "FSDP",
}
_QUANT = {
    "none": "no load_in_4bit and no load_in_8bit",
    "4bit": "BitsAndBytesConfig(load_in_4bit=True)",
    "8bit": "BitsAndBytesConfig(load_in_8bit=True)",
}
_WRITTEN: Mapping[str, Callable[[object], str]] = {
    "plan.load_dtype": lambda value: f"torch_dtype=torch.{value} in from_pretrained",
    "plan.attn": lambda value: f'attn_implementation="{value}" in from_pretrained',
    "plan.distributed": lambda value: _DISTRIBUTED.get(str(value), ""),
    "plan.quant": lambda value: _QUANT.get(str(value), ""),
    "plan.use_reentrant": lambda value: f'gradient_checkpointing_kwargs={{"use_reentrant": {value}}}',
    "plan.trust_remote_code": lambda value: f"trust_remote_code={value}",
    "plan.padding_side": lambda value: f'tokenizer.padding_side = "{value}"',
}


def in_code(plan: Mapping[str, object]) -> str:
    """The settings as a script has them; empty where one of them is no setting of a script that is known."""
    written = [_written(fact, value) for fact, value in plan.items()]
    return ", ".join(written) if written and all(written) else ""


def _written(fact: str, value: object) -> str:
    if (form := _WRITTEN.get(fact)) is not None:
        return form(value)
    name = _ARGUMENTS.get(fact, "")
    return f"{name}={value!r}" if name and isinstance(value, (bool, int, float, str)) else ""
