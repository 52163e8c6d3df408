"""The settings by which each dialect of plans says a fact: the readers of ``sources/plans``, the other way round.

What is written here is read back before anything is kept, so that a name that a reader does not know is never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from envdoctor.edits.edit import Setting
from envdoctor.edits.specifier import RefusedError
from envdoctor.records import dataclass

Keys: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A setting by its path of keys, and its value; None is null."""

    keys: Keys
    value: Setting | None


# Names by fact, the first that stands in the file before the others. One with a `?` is changed where it stands and never added.
_ARGUMENTS = {
    "batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "gradient_accumulation": "gradient_accumulation_steps",
    "gradient_checkpointing": "gradient_checkpointing activation_checkpointing?",
    "use_reentrant": "gradient_checkpointing_kwargs.use_reentrant",
    "fp16": "fp16",
    "bf16": "bf16",
    "tf32": "tf32",
    "optimizer": "optim",
    "optimizer_eps": "adam_epsilon",
    "learning_rate": "learning_rate",
    "max_grad_norm": "max_grad_norm",
    "predict_with_generate": "predict_with_generate",
    "remove_unused_columns": "remove_unused_columns",
    "liger": "use_liger_kernel",
    "use_cache": "use_cache",
    "compile": "torch_compile",
    "evaluate": "eval_strategy? evaluation_strategy?",
    "save": "save_strategy",
    "neftune": "neftune_noise_alpha?",
    "resume": "resume_from_checkpoint?",
}
# Of TRL's own; a script that takes TrainingArguments alone would refuse them.
_TRL = {
    "load_dtype": "torch_dtype? dtype?",
    "attn": "attn_implementation",
    "trust_remote_code": "trust_remote_code",
    "seq_len": "max_length? max_seq_length?",
    "packing": "packing",
    "vllm": "use_vllm",
    "lora_r": "lora_r",
    "lora_alpha": "lora_alpha",
    "lora_targets": "lora_target_modules",
    "modules_to_save": "lora_modules_to_save",
}
_PEFT = {
    "lora_r": "peft_config.r",
    "lora_alpha": "peft_config.lora_alpha",
    "lora_targets": "peft_config.target_modules",
    "modules_to_save": "peft_config.modules_to_save",
}
_NAMES: dict[str, dict[str, str]] = {
    "TrainingArguments": {
        **{fact: " ".join(f"{name.rstrip('?')}?" for name in names.split()) for fact, names in _TRL.items()},
        **_ARGUMENTS,
    },
    "TRL": {**_ARGUMENTS, **_TRL},
    "finetune_demo": {**{fact: " ".join(f"training_args.{name}" for name in names.split()) for fact, names in _ARGUMENTS.items()}, **_PEFT},
    "LLaMA-Factory": {
        **_ARGUMENTS,
        "use_reentrant": "use_reentrant_gc",
        "liger": "enable_liger_kernel",
        "seq_len": "cutoff_len",
        "packing": "packing neat_packing?",
        "trust_remote_code": "trust_remote_code",
        "stream": "streaming",
        "attn": "flash_attn",
        "quant": "quantization_bit",
        "gradient_checkpointing": "disable_gradient_checkpointing",
        "method": "finetuning_type",
        "lora_r": "lora_rank",
        "lora_alpha": "lora_alpha",
        "lora_targets": "lora_target",
        "modules_to_save": "additional_target",
    },
    "axolotl": {
        "batch_size": "micro_batch_size",
        "eval_batch_size": "eval_batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "gradient_checkpointing": "gradient_checkpointing",
        "use_reentrant": "gradient_checkpointing_kwargs.use_reentrant",
        "seq_len": "sequence_len",
        "packing": "sample_packing",
        "fp16": "fp16",
        "bf16": "bf16",
        "tf32": "tf32",
        "optimizer": "optimizer",
        "optimizer_eps": "adam_epsilon",
        "learning_rate": "learning_rate",
        "max_grad_norm": "max_grad_norm",
        "trust_remote_code": "trust_remote_code",
        "remove_unused_columns": "remove_unused_columns",
        "stream": "streaming",
        "compile": "torch_compile",
        "vllm": "trl.use_vllm",
        "lora_r": "lora_r",
        "lora_alpha": "lora_alpha",
        "lora_targets": "lora_target_modules",
        "modules_to_save": "lora_modules_to_save",
        "autocast_adapter_dtype": "peft_autocast_adapter_dtype",
        "save": "save_strategy",
        "neftune": "neftune_noise_alpha? noisy_embedding_alpha?",
    },
    "ms-swift": {
        "batch_size": "per_device_train_batch_size? batch_size? per_device_train_batch_size",
        "eval_batch_size": "per_device_eval_batch_size? eval_batch_size? per_device_eval_batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "gradient_checkpointing": "gradient_checkpointing",
        "use_reentrant": "gradient_checkpointing_kwargs.use_reentrant",
        "seq_len": "max_length",
        "packing": "packing",
        "stream": "streaming",
        "fp16": "fp16",
        "bf16": "bf16",
        "load_dtype": "torch_dtype",
        "optimizer": "optim",
        "optimizer_eps": "adam_epsilon",
        "learning_rate": "learning_rate",
        "max_grad_norm": "max_grad_norm",
        "predict_with_generate": "predict_with_generate",
        "liger": "use_liger_kernel? use_liger? use_liger_kernel",
        "vllm": "use_vllm",
        "attn": "attn_impl",
        "lora_r": "lora_rank",
        "lora_alpha": "lora_alpha",
        "lora_targets": "target_modules? lora_target_modules? target_modules",
        "modules_to_save": "modules_to_save? lora_modules_to_save? modules_to_save",
        "evaluate": "eval_strategy? evaluation_strategy?",
        "save": "save_strategy",
        "neftune": "neftune_noise_alpha? neftune_alpha?",
        "resume": "resume_from_checkpoint?",
    },
    "torchtune": {
        "batch_size": "batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "gradient_checkpointing": "enable_activation_checkpointing",
        "load_dtype": "dtype",
        "max_grad_norm": "clip_grad_norm",
        "resume": "resume_from_checkpoint",
        "compile": "compile",
        "learning_rate": "optimizer.lr",
        "optimizer_eps": "optimizer.eps",
        "seq_len": "tokenizer.max_seq_len",
        "packing": "dataset.packed",
        "lora_r": "model.lora_rank",
        "lora_alpha": "model.lora_alpha",
    },
    "DeepSpeed": {
        "fp16": "fp16.enabled",
        "bf16": "bf16.enabled",
        "batch_size": "train_micro_batch_size_per_gpu",
        "gradient_accumulation": "gradient_accumulation_steps",
        "max_grad_norm": "gradient_clipping",
        "learning_rate": "optimizer.params.lr?",
        "optimizer_eps": "optimizer.params.eps?",
        "distributed": "zero_optimization.stage",
    },
    "accelerate": {
        "fp16": "mixed_precision",
        "bf16": "mixed_precision",
        "distributed": "deepspeed_config.zero_stage?",
        "gradient_checkpointing": "fsdp_config.fsdp_activation_checkpointing?",
        "compile": "dynamo_config.dynamo_backend? dynamo_backend?",
    },
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
    if dialect in ("TrainingArguments", "TRL") and name in _PEFT and isinstance(table.get("peft_config"), dict):
        return [Assignment(_path(dialect, table, fact, _PEFT[name]), _encoded(dialect, name, value))]
    keys = _path(dialect, table, fact, _NAMES.get(dialect, {}).get(name, ""))
    return [Assignment(keys, _encoded(dialect, name, value))]


def _at(table: Any, keys: Keys) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


def _stands(table: Any, keys: Keys) -> bool:
    above = _at(table, keys[:-1]) if len(keys) > 1 else table
    return isinstance(above, dict) and keys[-1] in above


def _path(dialect: str, table: Mapping[Any, Any], fact: str, names: str) -> Keys:
    told = [(tuple(name.rstrip("?").split(".")), name.endswith("?")) for name in names.split()]
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
