"""What ``accelerate config`` writes: how ranks share the work, and the precision that the trainer may inherit.

src/accelerate/commands/config of https://github.com/huggingface/accelerate. Batches, accumulation and
clipping of its deepspeed_config are the trainer's to decide and are not stated.
"""

from __future__ import annotations

from envdoctor.facts.fact import Origin
from envdoctor.sources.plans.deepspeed import offload_word, read_setting
from envdoctor.sources.plans.fsdp import LAYERS, layers_of
from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_open, is_yes, word
from envdoctor.sources.plans.settings import Settings

_MARKS = frozenset(("compute_environment", "distributed_type", "num_machines", "machine_rank"))
_WITH_TYPE = frozenset(("mixed_precision", "num_processes", "deepspeed_config", "fsdp_config", "main_training_function"))
_ACCELERATORS = {"MULTI_CPU": "cpu", "MULTI_NPU": "npu", "MULTI_XPU": "xpu"}
_WRAPS = {"TRANSFORMER_BASED_WRAP": "own", "SIZE_BASED_WRAP": "size", "NO_WRAP": "none"}
_ON_GPUS = frozenset(("MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM"))

SETTINGS = Settings(
    {
        "fp16": ">mixed_precision",
        "bf16": ">mixed_precision",
        "distributed": ">deepspeed_config.zero_stage?",
        "gradient_checkpointing": ">fsdp_config.fsdp_activation_checkpointing?",
        "compile": ">dynamo_config.dynamo_backend? >dynamo_backend?",
    }
)


_MEGATRON = (("megatron_lm_tp_degree", "plan.tensor_parallel"), ("megatron_lm_pp_degree", "plan.pipeline_parallel"))
_SPREAD = "megatron_lm_sequence_parallelism"
_INIT = "zero3_init_flag"


def _recognises(_: Table, keys: frozenset[str]) -> bool:
    return len(keys & _MARKS) >= 2 or ("distributed_type" in keys and bool(keys & _WITH_TYPE))


def read_accelerate(reader: Reader, table: Table) -> None:
    kind = word(table.get("distributed_type") or "").upper()
    if is_open(table.get("distributed_type")):
        reader.say("plan.distributed", table["distributed_type"], "distributed_type")
    elif kind == "NO":
        reader.say("plan.distributed", "none", "distributed_type")
    elif kind == "MULTI_GPU":
        reader.say("plan.distributed", "ddp", "distributed_type")
    elif kind == "MEGATRON_LM":
        reader.say("plan.distributed", "megatron", "distributed_type")
        sizes = table.get("megatron_lm_config")
        for key, fact in _MEGATRON:
            if isinstance(sizes, dict) and type(sizes.get(key)) is int:
                reader.say(fact, sizes[key], "megatron_lm_config", key)
        if isinstance(sizes, dict) and type(sizes.get(_SPREAD)) is bool:
            reader.say("plan.sequence_parallel", sizes[_SPREAD], "megatron_lm_config", _SPREAD)
    elif kind == "FSDP":
        _fsdp(reader, table)
    elif kind == "DEEPSPEED":
        _deepspeed(reader, table)
    elif kind in _ACCELERATORS:
        reader.say("plan.distributed", "ddp", "distributed_type")
        reader.say("accelerator", _ACCELERATORS[kind], "distributed_type")
    if kind in _ON_GPUS and type(table.get("num_processes")) is int and word(table["num_processes"]) != "-1":
        reader.say("gpu.count", table["num_processes"], "num_processes")
    # `no` leaves the choice to the trainer.
    precision = word(table.get("mixed_precision") or "").lower()
    if precision in ("fp16", "bf16"):
        reader.say(f"plan.{precision}", True, "mixed_precision")
    # The launchers of these kinds never look at it: accelerate/commands/launch.py.
    if table.get("use_cpu") is True and kind not in _ON_GPUS:
        reader.say("accelerator", "cpu", "use_cpu")
    dynamo = table.get("dynamo_config")
    backend = dynamo.get("dynamo_backend") if isinstance(dynamo, dict) else table.get("dynamo_backend")
    if is_yes(backend):
        reader.say("plan.compile", True, *(("dynamo_config", "dynamo_backend") if isinstance(dynamo, dict) else ("dynamo_backend",)))


def _fsdp(reader: Reader, table: Table) -> None:
    reader.say("plan.distributed", "fsdp", "distributed_type")
    config = table.get("fsdp_config")
    if isinstance(config, dict):
        if config.get("fsdp_version") in (1, 2):
            reader.say("plan.fsdp_version", config["fsdp_version"], "fsdp_config", "fsdp_version")
        for name in ("fsdp_reshard_after_forward", "fsdp_sharding_strategy"):
            if config.get(name) in (False, "SHARD_GRAD_OP", 2):
                reader.say("plan.reshard_after_forward", False, "fsdp_config", name)
        saved = word(config.get("fsdp_state_dict_type") or "").upper().removesuffix("_STATE_DICT").lower()
        reader.say("plan.fsdp_state_dict", saved if saved in ("full", "sharded", "local") else None, "fsdp_config", "fsdp_state_dict_type")
        reader.default("plan.fsdp_state_dict", "full", Origin("default of accelerate"))
        wrap = word(config.get("fsdp_auto_wrap_policy") or "").upper()
        named = is_yes(config.get("fsdp_transformer_layer_cls_to_wrap"))
        reader.say(
            "plan.fsdp_wrap", ("named" if named else _WRAPS[wrap]) if wrap in _WRAPS else None, "fsdp_config", "fsdp_auto_wrap_policy"
        )
        reader.say("plan.fsdp_layers", layers_of(config) if wrap == "TRANSFORMER_BASED_WRAP" else None, "fsdp_config", LAYERS)
        moved = config.get("fsdp_offload_params")
        if isinstance(moved, bool):
            reader.say("plan.offload", "both" if moved else "none", "fsdp_config", "fsdp_offload_params")
        if config.get("fsdp_activation_checkpointing") is True:
            reader.say("plan.gradient_checkpointing", True, "fsdp_config", "fsdp_activation_checkpointing")


def _deepspeed(reader: Reader, table: Table) -> None:
    reader.say("plan.deepspeed", True, "distributed_type")
    config = table.get("deepspeed_config")
    if not isinstance(config, dict):
        return
    # DeepSpeedPlugin then tells transformers nothing of ZeRO-3 (accelerate/utils/dataclasses.py of 0.20.3 and later).
    if word(config.get(_INIT) if config.get(_INIT) is not None else "").lower() in ("false", "no", "0"):
        reader.say("plan.zero_init", False, "deepspeed_config", _INIT)
    named = config.get("deepspeed_config_file")
    if is_yes(named):
        read_setting(reader, named, "deepspeed_config", "deepspeed_config_file")
        return
    stage = config.get("zero_stage")
    if stage is not None:
        known = type(stage) is int and 0 <= stage <= 3
        way = ("ddp" if stage == 0 else f"zero{stage}") if known else f"ZeRO stage {word(stage)}"
        reader.say("plan.distributed", way, "deepspeed_config", "zero_stage")
    devices = [config.get(key) for key in ("offload_optimizer_device", "offload_param_device")]
    if any(device is not None for device in devices):
        optimizer, parameters = (is_yes(device) for device in devices)
        reader.say("plan.offload", offload_word(optimizer, parameters), "deepspeed_config", "offload_optimizer_device")


def _read_file(reader: Reader, table: Table) -> None:
    reader.say_keys(table, "accelerate")
    read_accelerate(reader, table)


ACCELERATE = Dialect("accelerate", _recognises, _read_file)
