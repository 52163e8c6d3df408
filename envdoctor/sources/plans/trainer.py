"""Plans of transformers' Trainer and of TRL: flat TrainingArguments, with or without what TRL adds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.plans.arguments import read_arguments, say_refused, state_arguments
from envdoctor.sources.plans.peft import lora_facts, lora_kind, read_peft
from envdoctor.sources.plans.plan_file import read_plan
from envdoctor.sources.plans.reader import Dialect, Reader, Table, text_keys
from envdoctor.sources.plans.settings import Settings
from envdoctor.sources.plans.training_arguments import FIELDS
from envdoctor.sources.plans.trl_uses import kind_of_recipe, say_config_uses

# Settings of TRL's ModelConfig and of its trainers. Scripts of projects' own have those of the second kind, too.
_TRL = frozenset(
    ("use_peft", "lora_target_modules", "lora_modules_to_save", "bnb_4bit_quant_type", "dataset_text_field", "assistant_only_loss",
     "completion_only_loss", "max_prompt_length", "max_completion_length", "num_generations", "padding_free")
)  # fmt: skip
_WITH_MODEL_CONFIG = frozenset(("max_seq_length", "max_length", "packing", "load_in_4bit", "load_in_8bit", "lora_r"))
_MODEL_CONFIG = frozenset(("torch_dtype", "dtype", "attn_implementation", "use_flash_attention_2", "dataset_mixer", "dataset_mixture"))
# Names under which a script of a project's own keeps what a field of TrainingArguments says: then the field's default means nothing.
_RIVALS = frozenset(
    ("lr", "batch_size", "train_batch_size", "micro_batch_size", "num_epochs", "epochs", "num_train_steps", "checkpointing_steps",
     "precision", "mixed_precision", "is_bf16", "is_fp16", "use_bf16", "use_fp16", "_target_", "num_warmup_steps", "zero_stage",
     "max_train_steps", "with_tracking")
)  # fmt: skip
# Words in the names of settings that may train anything but all weights; TRL's own do nothing without use_peft.
ANOTHER_WAY = re.compile(r"lora|peft|adapter|quant|freeze|tuner|tuning|(?:train|tune|training|finetune)_(?:mode|method|type)|fine_tune")
_TRL_ADAPTERS = frozenset(
    ("use_peft", "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules", "lora_target_parameters", "lora_modules_to_save",
     "lora_task_type", "use_rslora", "use_dora", "bnb_4bit_quant_type", "use_bnb_nested_quant", "bnb_4bit_quant_storage")
)  # fmt: skip
_KNOWN = FIELDS | _TRL | _WITH_MODEL_CONFIG | _MODEL_CONFIG | _TRL_ADAPTERS | {"model_name_or_path", "model_revision", "trust_remote_code"}
# How large an adapter is to be: without use_peft nothing to TRL, and to many a project's own script all that asks for one.
_SIZES = frozenset(("lora_r", "lora_alpha", "lora_dropout", "lora_target_modules"))
_SCRIPT = re.compile(
    r"dataset_(?:name|config|train_split|test_split|streaming)|datasets|trust_remote_code|ignore_bias_buffers|gradient_checkpointing_use_reentrant"
)
# Mappings that their parsers take: variables, mixtures of data sets, and values of a field.
_MAPPINGS = frozenset(("env", "datasets", "dataset_mixer", "dataset_mixture"))
_FOR_A_FIELD = re.compile(r"_(?:kwargs|args|config)$")
# Fields by which TrainingArguments are told: others, such as learning_rate and seed, every trainer has.
_TELLING = frozenset(
    ("per_device_train_batch_size", "per_device_eval_batch_size", "eval_strategy", "evaluation_strategy", "save_strategy",
     "logging_strategy", "lr_scheduler_type", "report_to", "gradient_checkpointing", "gradient_checkpointing_kwargs", "bf16", "fp16",
     "output_dir", "save_total_limit", "logging_steps", "save_steps", "predict_with_generate", "remove_unused_columns", "optim",
     "dataloader_num_workers", "neftune_noise_alpha", "use_liger_kernel", "ddp_find_unused_parameters", "overwrite_output_dir")
)  # fmt: skip
_UNMISTAKABLE = frozenset(
    ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_checkpointing_kwargs", "predict_with_generate", "eval_strategy")
)

# TRL's own; a script that takes TrainingArguments alone would refuse them.
TRL = Settings(
    {
        "load_dtype": "dtype? torch_dtype?",
        "attn": "attn_implementation",
        "trust_remote_code": "trust_remote_code",
        "seq_len": "max_length? max_seq_length?",
        "packing": "packing",
        "completion_len": "max_completion_length",
        "generation_steps": "steps_per_generation",
        "vllm": "use_vllm",
        "double_quant": "<use_bnb_nested_quant",
        "lora_r": ">lora_r",
        "lora_alpha": ">lora_alpha",
        "lora_targets": ">lora_target_modules",
        "modules_to_save": ">lora_modules_to_save",
    }
)


# Fields of its configurations that came and went.
_PASSING = frozenset(
    ("max_seq_length", "max_prompt_length", "vllm_device", "vllm_dtype", "vllm_max_model_len", "vllm_enable_prefix_caching")
)


def state_trl_arguments(reader: Reader, keys: frozenset[str]) -> None:
    """The fields that a configuration of TRL is given: TrainingArguments', and those of its own that not every release has."""
    if names := tuple(sorted(keys & (FIELDS | _PASSING))):
        reader.say_names("plan.arguments", names)


def settings_of(file: Path | None) -> Table:
    """The settings that a file of them has."""
    try:
        read = None if file is None else read_plan(file).value
    except EnvdoctorError:
        return {}
    return read if isinstance(read, dict) else {}


def telling(keys: frozenset[str]) -> bool:
    """Whether names of settings are TrainingArguments', wherever they stand."""
    return len(keys & _TELLING) >= 2 or bool(keys & _UNMISTAKABLE)


def is_given_whole(keys: frozenset[str]) -> bool:
    """Whether settings with TrainingArguments' names are all there is, so that what they leave out has its default.

    A file or command of another tool has borrowed some of the names, and keeps its own beside them.
    """
    return not keys & _RIVALS


def _has_own_groups(table: Table) -> bool:
    """Whether settings stand in groups that no configuration of transformers or TRL has.

    Their parsers take a file of fields. A file in groups (Hydra's, OmegaConf's) is read by a script of its own, which may hand a setting
    on under another name.
    """
    return any(
        isinstance(value, Mapping) and isinstance(key, str) and key not in _KNOWN | _MAPPINGS and not _FOR_A_FIELD.search(key)
        for key, value in table.items()
    )


def _recognises(table: Table, keys: frozenset[str]) -> bool:
    fields = keys & FIELDS
    mostly = len(fields) >= 2 and 5 * len(fields) >= 4 * len(table)
    return mostly or telling(keys) or (bool(fields) and isinstance(table.get("peft_config"), dict))


def _read(reader: Reader, table: Table) -> None:
    keys = text_keys(table)
    mostly = 2 * len(keys & _KNOWN) >= len(keys) and is_given_whole(keys) and not _has_own_groups(table)
    if mostly:
        read_arguments(reader, table)
        say_refused(reader, table)
    else:
        # Names that a tool of its own has borrowed: what it does without them is not known.
        state_arguments(reader, table)
        reader.skip(str(reader.path), "a plan of another tool with some of TrainingArguments' names: what it leaves out is unknown")
    reader.say_model(table, "model_name_or_path")
    peft = table.get("peft_config")
    if isinstance(peft, dict):
        read_peft(reader, peft)
    is_trl = bool(keys & _TRL) or (bool(keys & _WITH_MODEL_CONFIG) and bool(keys & _MODEL_CONFIG))
    if is_trl or keys & _WITH_MODEL_CONFIG:
        another = any(ANOTHER_WAY.search(key) for key in keys - _TRL_ADAPTERS)
        if keys & _SIZES and "use_peft" not in keys:
            # Settings that neither of the two has are those of a script of its own, which may well take these for a LoRA.
            another = another or any(not _SCRIPT.fullmatch(key) for key in keys - _KNOWN)
        read_trl(reader, table, trains_all=is_trl and mostly and not another)
    if mostly and is_trl:
        state_trl_arguments(reader, keys)
        say_config_uses(reader, kind_of_recipe(keys), table)
    if mostly:
        reader.default("plan.trainer", "trl" if is_trl else "transformers", reader.origin())


def read_trl(reader: Reader, table: Table, *, trains_all: bool = True) -> None:
    """TRL's ModelConfig and the configurations of its trainers, as ``trl sft --config`` and the alignment-handbook use them.

    ``trains_all``: without use_peft all weights are trained.
    """
    reader.say_model(table, "model_name_or_path")
    reader.say_settings(table, TRL)
    for key, bits in (("load_in_8bit", "8bit"), ("load_in_4bit", "4bit")):
        if table.get(key) is True:
            reader.say("plan.quant", bits, key)
            reader.say("plan.quantization_config", True, key)
    if table.get("use_peft") is True:
        reader.say("plan.method", lora_kind(table, "lora"), "use_peft")
        lora_facts(reader, table, TRL)
    elif trains_all and "peft_config" not in table:
        reader.default("plan.method", "full", reader.origin())


TRAINING_ARGUMENTS = Dialect("TrainingArguments", _recognises, _read)
