"""ms-swift: the settings of ``swift sft`` and its kin, under the names of releases 1 and 2 and of 3 and later.

swift/llm/utils/argument.py of 1.7.3 and 2.6.1, swift/llm/argument of 3.x and swift/arguments of 4.x in
https://github.com/modelscope/ms-swift. Stated defaults are those of 1.1.0, 1.7.3, 2.6.1, 3.0.0, 3.6.0 and 4.5.2 alike.
"""

from __future__ import annotations

from envdoctor.facts.fact import Origin
from envdoctor.records import replace
from envdoctor.sources.plans.arguments import read_checkpointing_kwargs
from envdoctor.sources.plans.deepspeed import PRESETS, read_setting
from envdoctor.sources.plans.fsdp import read_fsdp
from envdoctor.sources.plans.peft import lora_kind, say_targets
from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_open, is_yes, text_keys, word
from envdoctor.sources.plans.settings import Settings

_DEFAULT = Origin("default of ms-swift")
_MARKS = frozenset(("train_type", "tuner_type", "sft_type", "rlhf_type", "model_id_or_path", "split_dataset_ratio", "swift_version"))
# With a tuner of "full": some layers at a time (LISA), or parts that are left as they are.
_PARTLY = ("lisa_activated_layers", "freeze_parameters_ratio", "freeze_parameters", "freeze_llm")
_ALL: tuple[object, ...] = (None, False, 0, "0", "0.0", "", "false", [])
_GOALS = frozenset(("dpo", "grpo", "kto", "orpo", "ppo"))
_TUNERS = ("tuner_type", "train_type", "sft_type")
_WITH_TUNER = frozenset(
    ("model", "model_type", "dataset", "torch_dtype", "max_length", "target_modules", "lora_rank", "attn_impl", "template",
     "template_type", "quant_bits", "quant_method", "per_device_train_batch_size", "lora_target_modules", "use_flash_attn")
)  # fmt: skip
_MEGATRON = frozenset(
    ("tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "recompute_granularity",
     "lr_warmup_fraction", "moe_grouped_gemm", "no_save_optim")
)  # fmt: skip

_SHARED = Settings(
    {
        "batch_size": "per_device_train_batch_size? batch_size? per_device_train_batch_size",
        "eval_batch_size": "per_device_eval_batch_size? eval_batch_size? per_device_eval_batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "seq_len": "max_length",
        "packing": "packing",
        "stream": "streaming",
        "learning_rate": "learning_rate",
        "max_grad_norm": "max_grad_norm",
        "optimizer": "optim",
        "optimizer_eps": "adam_epsilon",
        "gradient_checkpointing": "gradient_checkpointing",
        "predict_with_generate": "predict_with_generate",
        "double_quant": "<bnb_4bit_use_double_quant",
        "liger": "use_liger_kernel? use_liger? use_liger_kernel",
        "vllm": "use_vllm",
        "context_parallel": "<sequence_parallel_size",
        "use_reentrant": ">gradient_checkpointing_kwargs.use_reentrant",
        "load_dtype": ">torch_dtype",
        "attn": ">attn_impl",
        "evaluate": ">eval_strategy? >evaluation_strategy?",
        "save": ">save_strategy",
        "neftune": ">neftune_noise_alpha? >neftune_alpha?",
        "resume": ">resume_from_checkpoint?",
    }
)
_MIXED = Settings({"fp16": "fp16", "bf16": "bf16"})
_LORA = Settings(
    {
        "lora_r": "lora_rank",
        "lora_alpha": "lora_alpha",
        "lora_dropout": "<lora_dropout",
        "modules_to_save": "modules_to_save? lora_modules_to_save? modules_to_save",
        "lora_targets": ">target_modules? >lora_target_modules? >target_modules",
    }
)
SETTINGS = Settings({}, _SHARED, _MIXED, _LORA)


def _recognises(_: Table, keys: frozenset[str]) -> bool:
    return len(keys & _MARKS) >= 2 or (bool(keys & {*_TUNERS, "rlhf_type"}) and bool(keys & _WITH_TUNER))


def read_swift(reader: Reader, table: Table) -> None:
    group = table.get("train")
    if isinstance(group, dict):
        # A run of Ray's says what only the trainers need in a group of its own.
        placed = ((key, reader.file.line_of("train", key)) for key in text_keys(group))
        lines: dict[tuple[str, ...], int] = {(key,): line for key, line in placed if line is not None}
        reader.file = replace(reader.file, lines={**reader.file.lines, **lines})
        table = {**table, **group}
    megatron = next((key for key in table if key in _MEGATRON), None)
    reader.say_settings(table, _SHARED)
    if is_yes(table.get("use_galore")):
        reader.say("plan.optimizer", "galore_adamw", "use_galore")
    reader.say_model(table, "model", "model_id_or_path")
    if not reader.names_a_model() and isinstance(kind := table.get("model_type"), str):
        # Up to release 2 a model is named by its type alone: qwen-7b-chat.
        reader.say_called(kind, "model_type")
    _method(reader, table, megatron is None)
    if word(table.get("task_type") or "").lower() == "seq_cls" and table.get("modules_to_save") is None:
        # peft adds the head of a classifier by the task (swift/llm/train/tuner.py hands it on).
        reader.say("plan.modules_to_save", ["classifier", "score"], "task_type")
    _quantization(reader, table)
    _precision(reader, table)
    if word(table.get("tuner_backend") or "").lower() == "unsloth":
        reader.say("plan.code_uses", ["unsloth"], "tuner_backend")
    flash = table.get("use_flash_attn")
    if flash is True:
        reader.say("plan.attn", "flash_attention_2", "use_flash_attn")
    reader.say("plan.attn", table.get("attn_impl"), "attn_impl")
    for key, fact in (("eval_strategy", "plan.evaluate"), ("evaluation_strategy", "plan.evaluate"), ("save_strategy", "plan.save")):
        raw = table.get(key)
        reader.say(fact, None if raw is None else raw is not False and word(raw).lower() != "no", key)
    if is_yes(table.get("resume_from_checkpoint")):
        reader.say("plan.resume", True, "resume_from_checkpoint")
    for key in ("neftune_noise_alpha", "neftune_alpha"):
        if table.get(key) is not None:
            reader.say("plan.neftune", True, key)
    read_checkpointing_kwargs(reader, table, "gradient_checkpointing_kwargs")
    read_fsdp(reader, table)
    deepspeed = next((key for key in ("deepspeed", "deepspeed_config_path") if is_yes(table.get(key))), None)
    if deepspeed:
        preset = PRESETS.get(word(table.get(deepspeed)).replace("_", "-"))
        if preset:
            reader.say("plan.deepspeed", True, deepspeed)
            reader.say("plan.distributed", preset[0], deepspeed)
            reader.say("plan.offload", preset[1], deepspeed)
        else:
            read_setting(reader, table[deepspeed], deepspeed)
    if megatron is not None:
        _megatron(reader, table, word(megatron))
    else:
        reader.default("plan.batch_size", 1, _DEFAULT)
    # Its loaders pass it always: swift/llm/utils/model.py of 2.6.1, swift/llm/model/register.py of 3.6.0.
    reader.default("plan.trust_remote_code", True, _DEFAULT)
    reader.default("plan.trainer", "ms-swift", reader.origin())


def _method(reader: Reader, table: Table, adapts: bool) -> None:
    """What is trained; without a word an adapter, but by Megatron's trainer, whose default has changed."""
    key = next((name for name in _TUNERS if table.get(name) is not None), None)
    raw = table.get(key) if key else None
    if key is None and not adapts:
        return
    kind = "lora" if key is None else word(raw).lower()
    rl = word(table.get("rlhf_type") or "").lower()
    if is_open(raw):
        reader.say("plan.method", raw, key or "")
    elif kind == "full" and rl:
        reader.say("plan.method", rl, "rlhf_type")
    elif key:
        partly = next((name for name in _PARTLY if kind == "full" and table.get(name) not in _ALL), None)
        reader.say("plan.method", "freeze" if partly else lora_kind(table, kind), partly or key)
    elif lora_kind(table, kind) == kind:
        reader.default("plan.method", "lora", _DEFAULT)
    else:
        reader.say("plan.method", lora_kind(table, kind), "use_dora" if table.get("use_dora") is True else "use_rslora")
    if kind != "full" and rl in _GOALS:
        reader.say("plan.objective", rl, "rlhf_type")
    if kind == "lora":
        reader.say_settings(table, _LORA)
        say_targets(reader, table, "target_modules" if "target_modules" in table else "lora_target_modules")
        reader.default("plan.lora_r", 8, _DEFAULT)
        reader.default("plan.lora_alpha", 32.0, _DEFAULT)


def _quantization(reader: Reader, table: Table) -> None:
    """Release 3 and later quantize only with a ``quant_method``; before, ``quantization_bit`` meant bitsandbytes."""
    method = word(table.get("quant_method") or "").lower()
    bits = next((key for key in ("quant_bits", "quantization_bit") if table.get(key) is not None), None)
    amount = table.get(bits) if bits else None
    if amount == 0 or (bits == "quant_bits" and not method):
        return
    if method in ("", "bnb") and bits:
        reader.say("plan.quant", amount if is_open(amount) else f"{word(amount)}bit", bits)
        reader.say("plan.quantization_config", True, bits)
    elif method not in ("", "bnb"):
        reader.say("plan.quant", method, "quant_method")
        if method in ("hqq", "eetq", "quanto", "fp8"):
            reader.say("plan.quantization_config", True, "quant_method")


def _precision(reader: Reader, table: Table) -> None:
    """torch_dtype decides mixed precision where that is not said (release 3 and later): float32 weights train in fp16."""
    reader.say_settings(table, _MIXED)
    dtype = table.get("torch_dtype")
    reader.say("plan.load_dtype", dtype, "torch_dtype")
    loaded = reader.facts.get("plan.load_dtype")
    if loaded is not None and loaded.value in ("float16", "float32", "bfloat16"):
        for fact, on in (("plan.fp16", loaded.value != "bfloat16"), ("plan.bf16", loaded.value == "bfloat16")):
            if fact not in reader.facts:
                reader.say(fact, on, "torch_dtype")
    older = word(table.get("dtype") or "").lower()
    if older == "bf16":
        reader.say("plan.bf16", True, "dtype")
        reader.say("plan.load_dtype", "bfloat16", "dtype")
    elif older == "fp16":
        reader.say("plan.fp16", True, "dtype")
        reader.say("plan.bf16", False, "dtype")


def _megatron(reader: Reader, table: Table, mark: str) -> None:
    """``megatron sft``: Megatron-LM's own names for batches, rates and recomputation."""
    reader.say("plan.distributed", "megatron", mark)
    reader.say_all(table, (("micro_batch_size", "plan.batch_size"), ("lr", "plan.learning_rate"), ("clip_grad", "plan.max_grad_norm")))
    sizes = (
        ("tensor_model_parallel_size", "plan.tensor_parallel"),
        ("pipeline_model_parallel_size", "plan.pipeline_parallel"),
        ("context_parallel_size", "plan.context_parallel"),
        ("expert_model_parallel_size", "plan.expert_parallel"),
        ("sequence_parallel", "plan.sequence_parallel"),
    )
    reader.say_all(table, sizes)
    # Megatron's own default (megatron/argument/megatron_args.py of ms-swift 3.8.0).
    reader.default("plan.tensor_parallel", 1, _DEFAULT)
    reader.default("plan.sequence_parallel", False, _DEFAULT)
    granularity = table.get("recompute_granularity")
    if granularity is not None:
        # "selective" computes the attention alone again (recompute_modules), of which a fused kernel keeps nothing.
        reader.say("plan.gradient_checkpointing", word(granularity).lower() == "full", "recompute_granularity")


SWIFT = Dialect("ms-swift", _recognises, read_swift)
