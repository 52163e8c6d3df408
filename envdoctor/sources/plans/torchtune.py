"""torchtune's recipes' configurations: trees of ``_component_`` and its arguments.

recipes/configs and recipes/ of https://github.com/pytorch/torchtune; adapter module names as
torchtune/modules/peft/_utils.py makes them.
"""

from __future__ import annotations

from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_yes, word
from envdoctor.sources.plans.settings import Settings

_SHARED = Settings(
    {
        "batch_size": "batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "gradient_checkpointing": "enable_activation_checkpointing",
        "load_dtype": "dtype",
        "max_grad_norm": "clip_grad_norm",
        "resume": "resume_from_checkpoint",
        "compile": ">compile",
        "optimizer_in_backward": "optimizer_in_bwd",
    }
)
_LORA = Settings({"lora_r": "model.lora_rank", "lora_alpha": "model.lora_alpha"})
_OPTIMIZER = Settings({"learning_rate": "optimizer.lr", "optimizer_eps": "optimizer.eps"})
_DATA = Settings({"seq_len": "tokenizer.max_seq_len", "packing": "dataset.packed"})
SETTINGS = Settings({}, _SHARED, _LORA, _OPTIMIZER, _DATA)
# Classes that transformers' optim has a name for.
_OPTIMIZERS = {
    "torch.optim.adamw": "adamw_torch",
    "torch.optim.sgd": "sgd",
    "torch.optim.adagrad": "adagrad",
    "bitsandbytes.optim.adamw8bit": "adamw_bnb_8bit",
    "bitsandbytes.optim.pagedadamw": "paged_adamw_32bit",
    "bitsandbytes.optim.pagedadamw8bit": "paged_adamw_8bit",
}


def _component(setting: object) -> str:
    return word(setting.get("_component_") or "") if isinstance(setting, dict) else ""


def _recognises(table: Table, _: frozenset[str]) -> bool:
    return any(isinstance(value, dict) and "_component_" in value for value in table.values())


def _read(reader: Reader, table: Table) -> None:
    model = _component(table.get("model") if "model" in table else table.get("policy_model"))
    if not _component(table.get("optimizer")):
        if "max_new_tokens" in table and model:
            reader.say("plan.method", "inference", "max_new_tokens")
            reader.say("plan.load_dtype", table.get("dtype"), "dtype")
            reader.default("plan.trainer", "torchtune", reader.origin())
        else:
            reader.skip(str(reader.path), "a configuration of torchtune that neither trains nor generates")
        return
    reader.say_settings(table, _SHARED)
    _model(reader, table, model.rpartition(".")[2])
    _optimizer(reader, table)
    compiled = table.get("compile")
    reader.say("plan.compile", True if isinstance(compiled, dict) and any(compiled.values()) else compiled, "compile")
    reader.say_settings(table, _DATA)
    if table.get("fsdp_cpu_offload") is not None:
        reader.say("plan.distributed", "fsdp", "fsdp_cpu_offload")
        reader.say("plan.offload", "both" if table["fsdp_cpu_offload"] is True else "none", "fsdp_cpu_offload")
    if word(table.get("device") or "").lower() == "cpu":
        reader.say("accelerator", "cpu", "device")
    reader.default("plan.trainer", "torchtune", reader.origin())


def _model(reader: Reader, table: Table, builder: str) -> None:
    """The builder's name says what is trained, its arguments say how."""
    model = table.get("model")
    settings: Table = model if isinstance(model, dict) else {}
    quantized = builder.startswith("qlora_") or settings.get("quantize_base") is True
    at = ("model", "_component_") if model else ("policy_model", "_component_")
    loss = _component(table.get("loss")).rpartition(".")[2].lower()
    if builder.startswith(("lora_", "qlora_")):
        dora = settings.get("use_dora") is True
        reader.say("plan.method", "dora" if dora else "qlora" if quantized else "lora", *at)
        reader.say_settings(table, _LORA)
        _targets(reader, settings)
    elif builder:
        method = next((name for name, mark in (("dpo", "dpoloss"), ("ppo", "ppoloss"), ("grpo", "grpo")) if mark in loss), "full")
        reader.say("plan.method", method, *(("loss", "_component_") if method != "full" else at))
    if quantized:
        # torchtune's NF4 is torchao's; bitsandbytes is not used.
        reader.say("plan.quant", "torchao", *at)


def _targets(reader: Reader, settings: Table) -> None:
    attention = settings.get("lora_attn_modules")
    if isinstance(attention, list) and all(isinstance(name, str) for name in attention):
        more = [*(["w1", "w2", "w3"] if settings.get("apply_lora_to_mlp") is True else [])]
        more += ["output"] if settings.get("apply_lora_to_output") is True else []
        reader.say("plan.lora_targets", [*attention, *more], "model", "lora_attn_modules")


def _optimizer(reader: Reader, table: Table) -> None:
    optimizer = table.get("optimizer")
    settings: Table = optimizer if isinstance(optimizer, dict) else {}
    component = _component(optimizer)
    name = _OPTIMIZERS.get(component.lower(), component)
    fused = "_fused" if name == "adamw_torch" and is_yes(settings.get("fused")) else ""
    reader.say("plan.optimizer", name + fused, "optimizer", "_component_")
    reader.say_settings(table, _OPTIMIZER)


TORCHTUNE = Dialect("torchtune", _recognises, _read)
