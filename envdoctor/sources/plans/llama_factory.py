"""LLaMA-Factory's flat settings, which are TrainingArguments and its own."""

from __future__ import annotations

from envdoctor.facts.fact import Fact, Origin
from envdoctor.sources.plans import training_arguments
from envdoctor.sources.plans.arguments import read_arguments, say_refused
from envdoctor.sources.plans.peft import lora_facts, lora_kind
from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_open, is_yes, word
from envdoctor.sources.plans.settings import Settings

_DEFAULT = Origin("default of LLaMA-Factory")
# With finetuning_type full: a block of the model at a time, or all but the language model.
_PARTLY = ("use_badam", "freeze_language_model")
_OBJECTIVES = {"dpo": "dpo", "kto": "kto", "ppo": "ppo", "rm": "reward"}
# Commands of llamafactory-cli that load what trains, and whether all they do is to answer: src/llamafactory/cli.py, launcher.py.
_COMMANDS = {"train": False, "webui": False, "export": False, "eval": True, "chat": True, "webchat": True, "api": True}
_FLASH = {"fa2": "flash_attention_2", "fa3": "flash_attention_3", "sdpa": "sdpa", "disabled": "eager", "off": "eager"}

_OWN = Settings(
    {
        "seq_len": "cutoff_len",
        "packing": "packing >neat_packing?",
        "liger": "enable_liger_kernel",
        "double_quant": "<double_quantization",
        "trust_remote_code": "trust_remote_code",
        "stream": "streaming",
        "use_reentrant": ">use_reentrant_gc",
        "attn": ">flash_attn",
        "quant": ">quantization_bit",
        "gradient_checkpointing": ">disable_gradient_checkpointing",
        "method": ">finetuning_type",
        "lora_r": ">lora_rank",
        "lora_alpha": ">lora_alpha",
        "lora_targets": ">lora_target",
        "modules_to_save": ">additional_target",
    }
)
SETTINGS = Settings({}, training_arguments.SETTINGS, _OWN)


def _recognises(_: Table, keys: frozenset[str]) -> bool:
    beside = keys >= {"model_name_or_path", "template"} and not keys.isdisjoint(("export_dir", "infer_backend"))
    return beside or "finetuning_type" in keys or ("stage" in keys and bool(keys & {"model_name_or_path", "template", "dataset"}))


def _beside_training(table: Table) -> str | None:
    """The setting that tells a file for ``export``, ``eval``, ``chat`` and ``api``, or one that predicts, from one that trains."""
    if table.get("do_train") or is_open(table.get("do_train")):
        return None
    if is_yes(table.get("do_predict")):
        return "do_predict"
    names = ("export_dir", "task", "n_shot", "infer_backend", "adapter_name_or_path")
    return None if "dataset" in table else next((name for name in names if table.get(name) is not None), None)


def _read(reader: Reader, table: Table) -> None:
    """It recomputes activations unless told otherwise, and trains LoRA of rank 8 by default.

    src/llamafactory/hparams of https://github.com/hiyouga/LLaMA-Factory
    """
    reader.say_model(table, "model_name_or_path")
    other = _beside_training(table)
    if other:
        reader.say_keys(table, "llamafactory")
        if other == "export_dir":
            reader.skip(str(reader.path), "an export of LLaMA-Factory: nothing is trained")
        else:
            reader.say("plan.method", "inference", other)
        reader.say("plan.trust_remote_code", table.get("trust_remote_code"), "trust_remote_code")
        if word(table.get("infer_backend") or "").lower() == "vllm":
            reader.say("plan.vllm", True, "infer_backend")
        reader.default("plan.trainer", "llamafactory", reader.origin())
        return
    read_arguments(reader, table)
    say_refused(reader, table)
    reader.say_keys(table, "llamafactory")
    kind = word(table.get("finetuning_type", "lora"))
    pretrains = table.get("stage") == "pt" and kind == "full"
    reader.say("plan.method", "pretrain" if pretrains else lora_kind(table, kind), "finetuning_type")
    partly = next((key for key in _PARTLY if kind == "full" and is_yes(table.get(key))), None)
    if partly is not None:
        reader.say("plan.method", "freeze", partly)
    _objective(reader, table)
    if is_yes(table.get("pure_bf16")):
        reader.say("plan.load_dtype", "bfloat16", "pure_bf16")
        reader.say("plan.bf16", False, "pure_bf16")
    layers = table.get("freeze_trainable_layers")
    if kind == "freeze" and type(layers) is int and layers:
        reader.say("plan.trained_layers", abs(layers), "freeze_trainable_layers")
    if kind == "lora":
        lora_facts(reader, table, SETTINGS)
        if is_yes(table.get("resize_vocab")) and table.get("additional_target") is None:
            # Embeddings of another size are trained in full: src/llamafactory/model/adapter.py.
            reader.say("plan.modules_to_save", ["embed_tokens", "lm_head"], "resize_vocab")
        reader.default("plan.lora_r", 8, _DEFAULT)
        reader.default("plan.lora_dropout", 0.0, _DEFAULT)
    bits, method = table.get("quantization_bit"), word(table.get("quantization_method") or "bnb").lower()
    if bits is not None:
        reader.say("plan.quant", f"{word(bits)}bit" if method in ("bnb", "bitsandbytes") else method, "quantization_bit")
        reader.say("plan.quantization_config", True, "quantization_bit")
    flash = table.get("flash_attn")
    if flash is not None and word(flash).lower() != "auto":
        # A switch up to release 0.7.
        said = "off" if flash is False else "fa2" if flash is True else word(flash).lower()
        reader.say("plan.attn", _FLASH.get(said, word(flash)), "flash_attn")
    if is_yes(table.get("use_unsloth")):
        # Its loader imports unsloth before the model: src/llamafactory/model/model_utils/unsloth.py.
        reader.say("plan.code_uses", ["unsloth"], "use_unsloth")
    reader.say_settings(table, _OWN)
    if table.get("neat_packing") is not False:
        reader.say("plan.packing", table.get("neat_packing"), "neat_packing")
    if table.get("stage") != "pt" and not is_open(table.get("stage")):
        # Where nothing is asked for, rows are packed in pretraining alone: src/llamafactory/hparams/parser.py.
        reader.default("plan.packing", False, _DEFAULT)
    _own_optimizer(reader, table)
    disabled = table.get("disable_gradient_checkpointing") is True
    origin = reader.origin("disable_gradient_checkpointing") if disabled else _DEFAULT
    reader.facts["plan.gradient_checkpointing"] = Fact("plan.gradient_checkpointing", not disabled, origin)
    reader.say("plan.use_reentrant", table.get("use_reentrant_gc"), "use_reentrant_gc")
    reader.default("plan.trainer", "llamafactory", reader.origin())


def read_command(reader: Reader, table: Table, command: str) -> None:
    """What a command of llamafactory-cli says: its flags where it trains, and what runs it whatever they are."""
    if table and command in ("train", ""):
        _read(reader, table)
    if command in _COMMANDS:
        if _COMMANDS[command]:
            reader.say("plan.method", "inference")
        reader.default("plan.trainer", "llamafactory", reader.origin())


def _objective(reader: Reader, table: Table) -> None:
    """What the loss is of: ``stage``, and for stage dpo ``pref_loss`` (src/llamafactory/hparams/finetuning_args.py)."""
    objective = _OBJECTIVES.get(word(table.get("stage") or ""))
    if objective == "dpo" and word(table.get("pref_loss") or "").lower() == "orpo":
        objective = "orpo"
    reader.say("plan.objective", objective, "stage")


def _own_optimizer(reader: Reader, table: Table) -> None:
    """Switches that put another optimizer in the place of ``optim``: src/llamafactory/train/trainer_utils.py."""
    for name in ("galore", "apollo", "adam_mini", "muon"):
        if is_yes(table.get(f"use_{name}")):
            layerwise = "_layerwise" if is_yes(table.get(f"{name}_layerwise")) else ""
            known = f"{name}_adamw{layerwise}" if name in ("galore", "apollo") else name
            reader.say("plan.optimizer", known, f"use_{name}")
            return


LLAMA_FACTORY = Dialect("LLaMA-Factory", _recognises, _read)
