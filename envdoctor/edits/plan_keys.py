"""How a fact is written into a plan: by the dialect's table of settings, which its reader has too (``sources/plans/settings.py``).

What is written here is read back before anything is kept, so that a name that a reader does not know is never written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envdoctor.edits.edit import RefusedError, Setting
from envdoctor.records import dataclass
from envdoctor.sources.plans import accelerate, axolotl, deepspeed, llama_factory, peft, swift, torchtune, trainer, training_arguments
from envdoctor.sources.plans.settings import Keys, Settings


@dataclass(frozen=True, slots=True)
class Assignment:
    """A setting by its path of keys, and its value; None is null."""

    keys: Keys
    value: Setting | None


_PEFT = peft.SETTINGS.below("peft_config")
_DIALECTS: dict[str, Settings] = {
    "TrainingArguments": Settings({}, trainer.TRL.in_place(), training_arguments.SETTINGS),
    "TRL": Settings({}, training_arguments.SETTINGS, trainer.TRL),
    "finetune_demo": Settings({}, training_arguments.SETTINGS.below("training_args"), _PEFT),
    "LLaMA-Factory": llama_factory.SETTINGS,
    "axolotl": axolotl.WRITTEN,
    "ms-swift": swift.SETTINGS,
    "torchtune": torchtune.SETTINGS,
    "DeepSpeed": deepspeed.SETTINGS,
    "accelerate": accelerate.SETTINGS,
}
_FLASH = {"flash_attention_2": "fa2", "flash_attention_3": "fa3", "sdpa": "sdpa", "eager": "disabled"}
_TUNE_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_SWITCHES = ("load_in_4bit", "load_in_8bit")
_ATTENTION = {"flash_attention_2": "flash_attention", "sdpa": "sdp_attention", "xformers": "xformers_attention", "eager": "eager_attention",
              "flex_attention": "flex_attention", "sage": "sage_attention"}  # fmt: skip
# Groups that may be begun for the sake of one setting.
_GROUPS = ("gradient_checkpointing_kwargs", "fp16", "bf16", "zero_optimization")
# Settings beside which a new one of the same row is at home.
_FAMILIES = (
    ("bf16", "fp16", "tf32", "float16", "bfloat16", "torch_dtype", "dtype", "mixed_precision"),
    ("per_device_train_batch_size", "micro_batch_size", "batch_size", "train_micro_batch_size_per_gpu", "per_device_eval_batch_size",
     "eval_batch_size", "gradient_accumulation_steps", "train_batch_size"),
    ("gradient_checkpointing", "activation_checkpointing", "gradient_checkpointing_kwargs", "disable_gradient_checkpointing",
     "use_reentrant_gc", "enable_activation_checkpointing"),
    ("optim", "optimizer", "learning_rate", "adam_epsilon", "max_grad_norm", "weight_decay", "lr", "eps", "gradient_clipping"),
    ("lora_r", "lora_rank", "lora_alpha", "lora_dropout", "lora_target", "lora_target_modules", "target_modules", "r", "adapter",
     "finetuning_type"),
    ("attn_implementation", "flash_attn", "attn_impl", "flash_attention", "sdp_attention", "xformers_attention"),
    ("load_in_4bit", "load_in_8bit", "quantization_bit", "quantization_method"),
    ("cutoff_len", "sequence_len", "max_length", "max_seq_length", "sample_packing", "packing", "pad_to_sequence_len"),
    ("save_strategy", "save_steps", "eval_strategy", "evaluation_strategy", "eval_steps", "logging_steps"),
    ("model_name_or_path", "base_model", "model", "trust_remote_code"),
)  # fmt: skip
# Facts that a reader derives from another's setting, and which may change along with it.
TWINS: Mapping[str, frozenset[str]] = {
    "plan.bf16": frozenset(("plan.load_dtype",)),
    "plan.load_dtype": frozenset(("plan.fp16", "plan.bf16")),
    "plan.quant": frozenset(("plan.quantization_config",)),
    "plan.use_reentrant": frozenset(("plan.gradient_checkpointing_kwargs",)),
    "plan.batch_size": frozenset(("plan.eval_batch_size",)),
    "plan.distributed": frozenset(("plan.offload",)),
}


def related(key: str) -> Keys:
    """The settings beside which one of this name is at home, the nearest kin first."""
    return next((tuple(name for name in family if name != key) for family in _FAMILIES if key in family), ())


def assignments(dialect: str, table: Mapping[Any, Any], fact: str, value: Setting) -> list[Assignment]:
    """What has to be set so that a plan of a dialect says a fact.

    Raises:
        RefusedError: the dialect has no setting for it, or none for this value.
    """
    name = fact.removeprefix("plan.")
    if dialect == "axolotl" and name == "attn":
        return _axolotl_attention(table, value)
    if name == "quant" and dialect in ("axolotl", "TRL", "TrainingArguments"):
        return _switches(table, value, dialect)
    if name == "offload":
        return _offload(dialect, table, value)
    if dialect == "LLaMA-Factory" and name == "lora_targets" and isinstance(_at(table, ("lora_target",)), str) and isinstance(value, tuple):
        return [Assignment(("lora_target",), ",".join(value))]
    if dialect in ("TrainingArguments", "TRL") and _PEFT.written(name) and isinstance(table.get("peft_config"), dict):
        return [Assignment(_path(dialect, table, fact, _PEFT.written(name)), _encoded(dialect, name, value))]
    keys = _path(dialect, table, fact, _DIALECTS[dialect].written(name) if dialect in _DIALECTS else [])
    return [Assignment(keys, _encoded(dialect, name, value))]


def _at(table: Any, keys: Keys) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _stands(table: Any, keys: Keys) -> bool:
    above = _at(table, keys[:-1]) if len(keys) > 1 else table
    return isinstance(above, dict) and keys[-1] in above


def _path(dialect: str, table: Mapping[Any, Any], fact: str, told: Sequence[tuple[Keys, bool]]) -> Keys:
    group = table.get("train")
    for keys, _ in told:
        if dialect == "ms-swift" and isinstance(group, dict) and _stands(group, keys):
            return ("train", *keys)
        if _stands(table, keys):
            return keys
    added = next((keys for keys, only in told if not only and _has_home(table, keys)), None)
    if added is None:
        shown = "TrainingArguments" if dialect == "TRL" and not told else dialect
        raise RefusedError(
            f"no setting of {shown} for {fact} stands here" if told else f"{shown} has no setting for {fact}: change the code"
        )
    return added


def _has_home(table: Mapping[Any, Any], keys: Keys) -> bool:
    """Whether a setting may be added: in a group that stands there, or in one that means nothing else."""
    return len(keys) == 1 or isinstance(_at(table, keys[:-1]), dict) or keys[-2] in _GROUPS


def _encoded(dialect: str, name: str, value: Setting) -> Setting | None:
    told: Setting | None = value
    if name == "lora_alpha" and isinstance(value, float) and value.is_integer():
        told = int(value)  # a whole number to every tool
    elif name in ("evaluate", "save"):
        if value is not False:
            raise RefusedError("how often is the plan's to say: set the strategy by hand")
        told = "no"
    elif name in ("neftune", "resume") and dialect != "torchtune":
        if value is not False:
            raise RefusedError("what it is set to is the plan's to say: set it by hand")
        told = None if name == "neftune" else False
    elif name == "distributed":
        if value not in ("zero1", "zero2", "zero3"):
            raise RefusedError(f"{value} is no stage of ZeRO")
        told = int(str(value)[-1])
    elif dialect == "LLaMA-Factory":
        told = _for_llama_factory(name, value)
    elif dialect == "torchtune" and name == "load_dtype":
        told = _TUNE_DTYPES.get(str(value), value)
    elif dialect == "accelerate" and name in ("fp16", "bf16"):
        if value is not True:
            raise RefusedError("without mixed precision here the trainer decides: set it in the trainer's plan")
        told = name
    elif dialect == "accelerate" and name == "compile":
        told = "INDUCTOR" if value else "NO"
    return told


def _for_llama_factory(name: str, value: Setting) -> Setting | None:
    if name == "gradient_checkpointing":
        return not value
    if name == "attn":
        if value not in _FLASH:
            raise RefusedError(f"flash_attn of LLaMA-Factory has no {value}")
        return _FLASH[str(value)]
    if name == "quant":
        if value not in ("4bit", "8bit", "none"):
            raise RefusedError(f"quantization_bit of LLaMA-Factory has no {value}")
        return None if value == "none" else int(str(value)[0])
    if name == "method" and value not in ("lora", "full", "freeze"):
        raise RefusedError(f"finetuning_type of LLaMA-Factory has no {value}")
    return value


def _axolotl_attention(table: Mapping[Any, Any], value: Setting) -> list[Assignment]:
    """One name in newer releases, a switch for each implementation in older ones."""
    if table.get("attn_implementation") is not None:
        return [Assignment(("attn_implementation",), value)]
    switch = _ATTENTION.get(str(value))
    if switch is None:
        raise RefusedError(f"axolotl has no switch for {value}")
    off = [Assignment((name,), False) for name in _ATTENTION.values() if name != switch and table.get(name) is True]
    return [*off, Assignment((switch,), True)]


def _switches(table: Mapping[Any, Any], value: Setting, dialect: str) -> list[Assignment]:
    wanted = {"none": "", "4bit": "load_in_4bit", "8bit": "load_in_8bit"}.get(str(value))
    if wanted is None:
        raise RefusedError(f"no switch for {value}")
    if wanted and dialect == "TrainingArguments" and wanted not in table:
        raise RefusedError("TrainingArguments have no setting for it: change the code")
    off = [Assignment((name,), False) for name in _SWITCHES if name != wanted and table.get(name) is True]
    return [*off, Assignment((wanted,), True)] if wanted else off


def _offload(dialect: str, table: Mapping[Any, Any], value: Setting) -> list[Assignment]:
    """Offloading is switched off where it is configured; to switch it on takes more than one setting."""
    if value != "none":
        raise RefusedError("offloading has settings of its own: configure it by hand")
    if dialect == "DeepSpeed":
        paths = [("zero_optimization", name, "device") for name in ("offload_optimizer", "offload_param")]
        return [Assignment(keys, "none") for keys in paths if isinstance(_at(table, keys[:-1]), dict)]
    if dialect == "accelerate":
        names = ("offload_optimizer_device", "offload_param_device")
        return [Assignment(keys, "none") for keys in (("deepspeed_config", name) for name in names) if _stands(table, keys)]
    raise RefusedError(f"{dialect} has no setting for plan.offload here: change the DeepSpeed or FSDP configuration")


__all__ = ["TWINS", "Assignment", "assignments", "related"]
