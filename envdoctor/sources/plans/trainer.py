"""Plans of transformers' Trainer and of TRL: flat TrainingArguments, with or without what TRL adds."""

from __future__ import annotations

from envdoctor.sources.plans.arguments import read_arguments
from envdoctor.sources.plans.peft import lora_facts, lora_kind, read_peft
from envdoctor.sources.plans.reader import Dialect, Reader, Table, text_keys
from envdoctor.sources.training_arguments import FIELDS

# Settings that only the named tool knows.
_TRL = frozenset(
    ("use_peft", "lora_r", "lora_target_modules", "lora_modules_to_save", "load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type",
     "max_seq_length", "packing", "dataset_text_field", "assistant_only_loss", "completion_only_loss", "max_prompt_length",
     "max_completion_length", "num_generations", "padding_free")
)  # fmt: skip
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


def telling(keys: frozenset[str]) -> bool:
    """Whether names of settings are TrainingArguments', wherever they stand."""
    return len(keys & _TELLING) >= 2 or bool(keys & _UNMISTAKABLE)


def _recognises(table: Table, keys: frozenset[str]) -> bool:
    fields = keys & FIELDS
    mostly = len(fields) >= 2 and 5 * len(fields) >= 4 * len(table)
    return mostly or telling(keys) or (bool(fields) and isinstance(table.get("peft_config"), dict))


def _read(reader: Reader, table: Table) -> None:
    read_arguments(reader, table)
    peft = table.get("peft_config")
    trl = text_keys(table) & _TRL
    if isinstance(peft, dict):
        read_peft(reader, peft)
    if trl:
        read_trl(reader, table)
    reader.default("plan.trainer", "trl" if trl else "transformers", reader.origin())


def read_trl(reader: Reader, table: Table) -> None:
    """TRL's ModelConfig and the configurations of its trainers, as ``trl sft --config`` and the alignment-handbook use them."""
    reader.say_all(
        table,
        (
            ("torch_dtype", "plan.load_dtype"),
            ("dtype", "plan.load_dtype"),
            ("attn_implementation", "plan.attn"),
            ("trust_remote_code", "plan.trust_remote_code"),
            ("max_seq_length", "plan.seq_len"),
            ("max_length", "plan.seq_len"),
            ("packing", "plan.packing"),
            ("use_vllm", "plan.vllm"),
        ),
    )
    for key, bits in (("load_in_8bit", "8bit"), ("load_in_4bit", "4bit")):
        if table.get(key) is True:
            reader.say("plan.quant", bits, key)
            reader.say("plan.quantization_config", True, key)
    if table.get("use_peft") is True:
        reader.say("plan.method", lora_kind(table, "lora"), "use_peft")
        lora_facts(reader, table, ("lora_r", "lora_alpha", "lora_target_modules", "lora_modules_to_save"))
    elif "peft_config" not in table:
        reader.default("plan.method", "full", reader.origin())


TRAINING_ARGUMENTS = Dialect("TrainingArguments", _recognises, _read)
