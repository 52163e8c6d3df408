"""axolotl's configurations.

Names and what follows from them: src/axolotl/utils/schemas, utils/config/__init__.py and core/builders of
https://github.com/axolotl-ai-cloud/axolotl, releases 0.1.0 to 0.18.0. A default is stated where all of
them agree; bf16, which is ``auto`` from 0.4.0 on and was off before, is not.
"""

from __future__ import annotations

from envdoctor.facts.fact import Origin
from envdoctor.sources.plans.arguments import read_checkpointing_kwargs
from envdoctor.sources.plans.deepspeed import beside, read_setting
from envdoctor.sources.plans.peft import say_targets
from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_open, is_yes, word
from envdoctor.sources.plans.settings import Settings

_DEFAULT = Origin("default of axolotl")
_MARKS = frozenset(("base_model", "sequence_len", "micro_batch_size", "val_set_size", "sample_packing", "adapter"))
_WITH_BASE_MODEL = frozenset(
    ("load_in_8bit", "load_in_4bit", "lora_r", "lora_target_linear", "pad_to_sequence_len", "datasets", "chat_template")
)  # fmt: skip

_ADAPTER = Settings(
    {
        "lora_r": "lora_r",
        "lora_alpha": "lora_alpha",
        "lora_dropout": "<lora_dropout",
        "modules_to_save": "lora_modules_to_save",
        "autocast_adapter_dtype": "peft_autocast_adapter_dtype",
        "lora_targets": ">lora_target_modules",
    }
)
SETTINGS = Settings(
    {
        "batch_size": "micro_batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "seq_len": "sequence_len",
        "packing": "sample_packing",
        "optimizer": "optimizer",
        "optimizer_eps": "adam_epsilon",
        "learning_rate": "learning_rate",
        "max_grad_norm": "max_grad_norm",
        "trust_remote_code": "trust_remote_code",
        "remove_unused_columns": "remove_unused_columns",
        "stream": "streaming",
        "eval_batch_size": ">eval_batch_size",
        "gradient_checkpointing": ">gradient_checkpointing",
        "use_reentrant": ">gradient_checkpointing_kwargs.use_reentrant",
        "fp16": ">fp16",
        "bf16": ">bf16",
        "tf32": ">tf32",
        "compile": ">torch_compile",
        "vllm": ">trl.use_vllm",
        "save": ">save_strategy",
        "neftune": ">neftune_noise_alpha? >noisy_embedding_alpha?",
    }
)
# What a file of an older release says with switches, the specific ones first.
_ATTENTION = (
    ("xformers_attention", "xformers"),
    ("sage_attention", "sage"),
    ("flex_attention", "flex_attention"),
    ("flash_attention", "flash_attention_2"),
    ("sdp_attention", "sdpa"),
    ("eager_attention", "eager"),
)
_LIGER = ("liger_rope", "liger_rms_norm", "liger_layer_norm", "liger_glu_activation", "liger_swiglu", "liger_cross_entropy",
          "liger_fused_linear_cross_entropy")  # fmt: skip
_METHODS_OF_RL = frozenset(("dpo", "grpo", "kto", "orpo"))
# The files of deepspeed_configs/, which axolotl brings along.
_SHIPPED = {
    "zero1.json": ("zero1", "none"),
    "zero1_torch_compile.json": ("zero1", "none"),
    "zero2.json": ("zero2", "none"),
    "zero2_torch_compile.json": ("zero2", "none"),
    "zero3.json": ("zero3", "none"),
    "zero3_bf16.json": ("zero3", "none"),
    "zero3_bf16_cpuoffload_all.json": ("zero3", "both"),
    "zero3_bf16_cpuoffload_params.json": ("zero3", "parameters"),
}


def _recognises(_: Table, keys: frozenset[str]) -> bool:
    return len(keys & _MARKS) >= 2 or ("base_model" in keys and bool(keys & _WITH_BASE_MODEL) and "merge_method" not in keys)


def _read(reader: Reader, table: Table) -> None:
    reader.say_settings(table, SETTINGS)
    reader.say_model(table, "base_model")
    _method(reader, table)
    _precision(reader, table)
    _attention(reader, table)
    _checkpointing(reader, table)
    _saving(reader, table)
    _distribution(reader, table)
    for key in ("resume_from_checkpoint", "auto_resume_from_checkpoints"):
        if is_yes(table.get(key)):
            reader.say("plan.resume", True, key)
    if table.get("torch_compile") != "auto":
        reader.say("plan.compile", table.get("torch_compile"), "torch_compile")
    for key in ("neftune_noise_alpha", "noisy_embedding_alpha"):
        if table.get(key) is not None:
            reader.say("plan.neftune", True, key)
    liger = next((key for key in _LIGER if table.get(key) is True), None)
    if liger:
        reader.say("plan.liger", True, liger)
    kernels = [name for name in ("mlp", "qkv", "o") if table.get(f"lora_{name}_kernel") is not None]
    if kernels and table.get("adapter"):
        # One that is set turns the default of the others off.
        chosen = [name for name in kernels if table.get(f"lora_{name}_kernel") is True]
        reader.say("plan.lora_kernels", chosen, f"lora_{kernels[0]}_kernel")
    plugins = table.get("plugins")
    if any("CutCrossEntropyPlugin" in word(one) for one in (plugins if isinstance(plugins, list) else ()) if isinstance(one, str)):
        reader.say("plan.fused_loss", "linear_cross_entropy", "plugins")
    trl = table.get("trl")
    if isinstance(trl, dict):
        reader.say("plan.vllm", trl.get("use_vllm"), "trl", "use_vllm")
    reader.default("plan.trainer", "axolotl", reader.origin())


def _method(reader: Reader, table: Table) -> None:
    adapter, rl = table.get("adapter"), word(table.get("rl") or "").lower()
    if is_open(adapter):
        reader.say("plan.method", adapter, "adapter")
    elif adapter:
        kind = word(adapter).strip().lower()
        special = {"peft_use_dora": "dora", "peft_use_rslora": "rslora"} if kind == "lora" else {}
        key = next((name for name in special if table.get(name) is True), None)
        reader.say("plan.method", special[key] if key else kind, key or "adapter")
    elif rl in _METHODS_OF_RL:
        reader.say("plan.method", rl, "rl")
    elif table.get("pretraining_dataset"):
        reader.say("plan.method", "pretrain", "pretraining_dataset")
    elif table.get("unfrozen_parameters"):
        reader.say("plan.method", "freeze", "unfrozen_parameters")
    elif not rl:
        reader.default("plan.method", "full", reader.origin("adapter"))
    if adapter and rl in _METHODS_OF_RL:
        reader.say("plan.objective", rl, "rl")
    if adapter:
        reader.say_settings(table, _ADAPTER)
        _targets(reader, table)
    for key, quant in (("load_in_8bit", "8bit"), ("load_in_4bit", "4bit"), ("gptq", "gptq")):
        if table.get(key) is True:
            reader.say("plan.quant", quant, key)
    if table.get("load_in_4bit") is True:
        reader.say("plan.quantization_config", True, "load_in_4bit")
    reader.say("plan.quantize_experts", table.get("quantize_moe_experts"), "quantize_moe_experts")


def _targets(reader: Reader, table: Table) -> None:
    """lora_target_linear adds every linear layer to the modules that are named."""
    named = table.get("lora_target_modules")
    if table.get("lora_target_linear") is True:
        more = [item for item in named if isinstance(item, str)] if isinstance(named, list) else [named] if isinstance(named, str) else []
        reader.say("plan.lora_targets", [*more, "all-linear"], "lora_target_linear")
    else:
        say_targets(reader, table, "lora_target_modules")


def _precision(reader: Reader, table: Table) -> None:
    """Mixed precision, and the dtype that follows from it: weights are loaded in what the run computes with."""
    bf16, fp16 = table.get("bf16"), table.get("fp16")
    for key, value, fact in (("bf16", bf16, "plan.bf16"), ("fp16", fp16, "plan.fp16"), ("tf32", table.get("tf32"), "plan.tf32")):
        # "auto" asks the GPU; "full" is for evaluation only.
        if value not in ("auto", "full"):
            reader.say(fact, value, key)
    if bf16 is True and fp16 is not None:
        reader.say("plan.fp16", False, "bf16")
    if bf16 in (True, "full"):
        reader.say("plan.load_dtype", "bfloat16", "bf16")
    elif table.get("bfloat16") is True:
        reader.say("plan.load_dtype", "bfloat16", "bfloat16")
    elif bf16 is False:
        half = next((key for key in ("fp16", "float16", "load_in_8bit") if table.get(key) is True), None)
        if half:
            reader.say("plan.load_dtype", "float16", half)
        elif not any(is_open(table.get(key)) for key in ("fp16", "float16", "load_in_8bit")):
            reader.say("plan.load_dtype", "float32", "bf16")


def _attention(reader: Reader, table: Table) -> None:
    if table.get("attn_implementation") is not None:
        reader.say("plan.attn", table.get("attn_implementation"), "attn_implementation")
        return
    for key, attention in _ATTENTION:
        if table.get(key) is True:
            reader.say("plan.attn", attention, key)
            return


def _checkpointing(reader: Reader, table: Table) -> None:
    """``unsloth``, ``offload`` and ``offload_disk`` are ways to recompute, too, with the inputs of the layers on the CPU."""
    raw = table.get("gradient_checkpointing")
    ways = isinstance(raw, str) and raw in ("unsloth", "offload", "offload_disk")
    reader.say("plan.gradient_checkpointing", True if ways else raw, "gradient_checkpointing")
    offloading = table.get("activation_offloading")
    if ways or offloading is True or offloading in ("legacy", "disk", "hidden_states"):
        reader.say("plan.activation_offload", True, "gradient_checkpointing" if ways else "activation_offloading")
    reader.default("plan.gradient_checkpointing", False, _DEFAULT)
    read_checkpointing_kwargs(reader, table, "gradient_checkpointing_kwargs")


def _saving(reader: Reader, table: Table) -> None:
    """Evaluation needs rows held back and a rhythm; one checkpoint an epoch is saved by default."""
    strategy = next((key for key in ("eval_strategy", "evaluation_strategy") if table.get(key) is not None), None)
    never = strategy is not None and (table.get(strategy) is False or word(table.get(strategy)) == "no")
    rhythm = next((key for key in ("eval_steps", "evals_per_epoch") if is_yes(table.get(key))), None if never else strategy)
    held_back, sets = table.get("val_set_size"), table.get("test_datasets")
    if never and rhythm is None:
        reader.say("plan.evaluate", False, strategy or "")
    elif rhythm and (sets or (isinstance(held_back, (int, float)) and held_back > 0)):
        reader.say("plan.evaluate", True, rhythm)
    elif held_back in (0, None) and not sets:
        reader.say("plan.evaluate", False, *(("val_set_size",) if "val_set_size" in table else ()))
    save = table.get("save_strategy")
    reader.say("plan.save", None if save is None else save is not False and word(save).lower() != "no", "save_strategy")
    reader.default("plan.save", True, _DEFAULT)
    reader.say("plan.eval_batch_size", table.get("eval_batch_size"), "eval_batch_size")
    rows = reader.facts.get("plan.batch_size")
    if rows is not None:
        reader.default("plan.eval_batch_size", rows.value, _DEFAULT)


def _distribution(reader: Reader, table: Table) -> None:
    setting = table.get("deepspeed")
    if is_yes(setting):
        folder, _, name = word(setting).rpartition("/")
        shipped = _SHIPPED.get(name) if folder.rpartition("/")[2] == "deepspeed_configs" else None
        if shipped and beside(reader.path, word(setting)) is None:
            reader.say("plan.deepspeed", True, "deepspeed")
            reader.say("plan.distributed", shipped[0], "deepspeed")
            reader.say("plan.offload", shipped[1], "deepspeed")
        else:
            read_setting(reader, setting, "deepspeed")
    for name in ("tensor_parallel", "context_parallel"):
        ranks = table.get(f"{name}_size")
        if type(ranks) is int and ranks > 1:
            reader.say(f"plan.{name}", ranks, f"{name}_size")
    # The name of context_parallel_size up to release 0.11.
    degree = table.get("sequence_parallel_degree")
    if type(degree) is int and degree > 1:
        reader.say("plan.context_parallel", degree, "sequence_parallel_degree")
    fsdp, config = table.get("fsdp"), table.get("fsdp_config")
    key = "fsdp" if is_yes(fsdp) else "fsdp_config" if isinstance(config, dict) and config else None
    if key:
        reader.say("plan.distributed", "fsdp", key)
        settings = config if isinstance(config, dict) else {}
        if table.get("fsdp_version") in (1, 2):
            reader.say("plan.fsdp_version", table["fsdp_version"], "fsdp_version")
        moved = any(settings.get(name) is True for name in ("offload_params", "fsdp_offload_params", "cpu_offload"))
        reader.say("plan.offload", "both" if moved or "offload" in word(fsdp or "").lower() else "none", key)
        for name in ("activation_checkpointing", "fsdp_activation_checkpointing"):
            if settings.get(name) is True:
                reader.say("plan.gradient_checkpointing", True, "fsdp_config", name)


WRITTEN = Settings({}, SETTINGS, _ADAPTER)
AXOLOTL = Dialect("axolotl", _recognises, _read)
