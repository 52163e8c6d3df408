"""Facts of a run that is about to start, from its TrainingArguments, its model, its optimizer and its tokenizer.

What the objects themselves tell goes before what was asked for: the dtype of the weights, the optimizer with its epsilon, the
attention implementation that was chosen. What cannot be told is left out.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

_DTYPES = ("float32", "float16", "bfloat16", "float64")
_METHODS = {"LORA": "lora", "PROMPT_TUNING": "prompt-tuning", "PREFIX_TUNING": "prefix-tuning", "P_TUNING": "p-tuning", "IA3": "ia3"}
_QUANTS = ("gptq", "awq", "fp8", "hqq", "aqlm", "mxfp4", "torchao")


def plan_facts(args: Any, model: Any = None, optimizer: Any = None, tokenizer: Any = None, resumed: bool = False) -> dict[str, Any]:
    """Facts by their names in envdoctor's vocabulary; values are texts, numbers, booleans and lists of texts."""
    facts = _of_arguments(args)
    facts["plan.trainer"] = "transformers"
    facts["plan.resume"] = resumed
    if model is not None:
        facts.update(_of_model(model))
        facts.update(_of_adapter(model))
    if optimizer is not None:
        facts.update(_of_optimizer(optimizer))
    side = getattr(tokenizer, "padding_side", None)
    if side in ("left", "right"):
        facts["plan.padding_side"] = side
    return {name: value for name, value in facts.items() if value is not None}


def _of_arguments(args: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "plan.fp16": _flag(args, "fp16"),
        "plan.bf16": _flag(args, "bf16"),
        "plan.batch_size": _whole(args, "per_device_train_batch_size"),
        "plan.eval_batch_size": _whole(args, "per_device_eval_batch_size"),
        "plan.gradient_accumulation": _whole(args, "gradient_accumulation_steps"),
        "plan.gradient_checkpointing": _flag(args, "gradient_checkpointing"),
        "plan.optimizer": _text(getattr(args, "optim", None)),
        "plan.optimizer_eps": _real(args, "adam_epsilon"),
        "plan.learning_rate": _real(args, "learning_rate"),
        "plan.max_grad_norm": _real(args, "max_grad_norm"),
        "plan.predict_with_generate": _flag(args, "predict_with_generate"),
        "plan.compile": _flag(args, "torch_compile"),
        "plan.packing": _flag(args, "packing"),
        "plan.remove_unused_columns": _flag(args, "remove_unused_columns"),
        "plan.liger": _flag(args, "use_liger_kernel"),
        "plan.neftune": _given(args, "neftune_noise_alpha"),
        "plan.deepspeed": _given(args, "deepspeed"),
    }
    if hasattr(args, "gradient_checkpointing_kwargs"):
        kwargs = args.gradient_checkpointing_kwargs
        told["plan.gradient_checkpointing_kwargs"] = kwargs is not None
        if isinstance(kwargs, Mapping) and isinstance(kwargs.get("use_reentrant"), bool):
            told["plan.use_reentrant"] = kwargs["use_reentrant"]
    for fact, names in (("plan.evaluate", ("eval_strategy", "evaluation_strategy")), ("plan.save", ("save_strategy",))):
        strategy = next((_text(getattr(args, name)) for name in names if hasattr(args, name)), None)
        told[fact] = None if strategy is None else strategy != "no"
    told["plan.distributed"] = _distributed(args)
    told["accelerator"] = _accelerator(args)
    return told


def _distributed(args: Any) -> str | None:
    plugin = getattr(args, "deepspeed_plugin", None)
    stage = getattr(plugin, "zero_stage", None)
    if stage in (1, 2, 3):
        return f"zero{stage}"
    if getattr(args, "fsdp", None):
        return "fsdp"
    mode = _text(getattr(args, "parallel_mode", None))
    return {"not_parallel": "none", "not_distributed": "dp", "distributed": "ddp"}.get(mode or "")


def _accelerator(args: Any) -> str | None:
    kind = getattr(getattr(args, "device", None), "type", None)
    if kind == "cuda" and getattr(getattr(sys.modules.get("torch"), "version", None), "hip", None):
        return "rocm"
    return kind if kind in ("cuda", "cpu", "mps", "npu", "xpu") else None


def _of_model(model: Any) -> dict[str, Any]:
    config = getattr(model, "config", None)
    # A model with an adapter answers for the model below it; of a plain dictionary nothing is read.
    told: dict[str, Any] = {"model.type": _text(getattr(config, "model_type", None))}
    name = _text(getattr(config, "_name_or_path", None)) or ""
    if os.path.isdir(name):
        told["model.path"] = os.path.abspath(name)
    elif re.match(r"[\w.-]+/[\w.-]+$", name):
        told["model.id"] = name
    told["plan.attn"] = _text(getattr(config, "_attn_implementation", None))
    use_cache = getattr(config, "use_cache", None)
    told["plan.use_cache"] = use_cache if isinstance(use_cache, bool) else None
    told["plan.quant"] = _quantization(model, config)
    base = [one for one in _parameters(model) if not one.requires_grad] if _adapters(model) else list(_parameters(model))
    told["plan.load_dtype"] = _most(base)
    places = {str(place) for place in (getattr(model, "hf_device_map", None) or {}).values()}
    if len(places) > 1:
        told["plan.distributed"] = "device_map"
    return told


def _quantization(model: Any, config: Any) -> str | None:
    if getattr(model, "is_loaded_in_4bit", False) is True:
        return "4bit"
    if getattr(model, "is_loaded_in_8bit", False) is True:
        return "8bit"
    stated = getattr(config, "quantization_config", None)
    if stated is None:
        return "none"
    method = stated.get("quant_method") if isinstance(stated, Mapping) else getattr(stated, "quant_method", None)
    return _text(method) if _text(method) in _QUANTS else None


def _of_adapter(model: Any) -> dict[str, Any]:
    adapters = _adapters(model)
    trained = [one.requires_grad for one in _parameters(model)]
    if not adapters:
        return {"plan.method": None if not any(trained) else "full" if all(trained) else "freeze"}
    active = getattr(model, "active_adapter", None)
    adapter = adapters.get(active) if isinstance(active, str) else None
    adapter = next(iter(adapters.values())) if adapter is None else adapter
    method = _METHODS.get(_text(getattr(adapter, "peft_type", None)) or "")
    told: dict[str, Any] = {"plan.method": method}
    if method == "ia3":
        told["plan.lora_targets"] = _names(getattr(adapter, "target_modules", None))
        told["plan.modules_to_save"] = _names(getattr(adapter, "modules_to_save", None)) or []
    if method != "lora":
        return told
    if getattr(adapter, "use_dora", False) is True:
        told["plan.method"] = "dora"
    elif getattr(adapter, "use_rslora", False) is True:
        told["plan.method"] = "rslora"
    elif _quantization(model, getattr(model, "config", None)) == "4bit":
        told["plan.method"] = "qlora"
    told["plan.lora_r"] = _whole(adapter, "r")
    told["plan.lora_alpha"] = _real(adapter, "lora_alpha")
    told["plan.lora_targets"] = _names(getattr(adapter, "target_modules", None))
    told["plan.modules_to_save"] = _names(getattr(adapter, "modules_to_save", None)) or []
    told["plan.autocast_adapter_dtype"] = _autocast(model)
    return told


def _autocast(model: Any) -> bool | None:
    """False where peft would have made the adapter float32, and it is not."""
    peft = sys.modules.get("peft")
    make = getattr(peft, "get_peft_model", None)
    if make is None or "autocast_adapter_dtype" not in inspect.signature(make).parameters:
        return None
    named = getattr(model, "named_parameters", None)
    dtypes = {_dtype(one) for name, one in (named() if callable(named) else ()) if "lora_" in name}
    return False if dtypes & {"float16", "bfloat16"} else None


def _of_optimizer(optimizer: Any) -> dict[str, Any]:
    """Of the optimizer below what accelerate wraps around it."""
    inner = getattr(optimizer, "optimizer", optimizer)
    groups = getattr(inner, "param_groups", None)
    group = groups[0] if isinstance(groups, list) and groups and isinstance(groups[0], Mapping) else {}
    told: dict[str, Any] = {}
    if isinstance(group.get("eps"), float):
        told["plan.optimizer_eps"] = group["eps"]
    kind = type(inner)
    if kind.__module__.startswith("torch.optim"):
        name = {"AdamW": "adamw_torch", "SGD": "sgd", "Adagrad": "adagrad", "RMSprop": "rmsprop"}.get(kind.__name__)
        told["plan.optimizer"] = "adamw_torch_fused" if name == "adamw_torch" and group.get("fused") is True else name
    return {fact: value for fact, value in told.items() if value is not None}


def _adapters(model: Any) -> Mapping[str, Any]:
    adapters = getattr(model, "peft_config", None)
    return adapters if isinstance(adapters, Mapping) else {}


def _parameters(model: Any) -> Iterable[Any]:
    parameters = getattr(model, "parameters", None)
    return parameters() if callable(parameters) else ()


def _dtype(parameter: Any) -> str:
    return str(parameter.dtype).replace("torch.", "")


def _most(parameters: Iterable[Any]) -> str | None:
    """The floating dtype that most of them have, by elements. One more for each: sharded parameters may be empty here."""
    elements: dict[str, int] = {}
    for one in parameters:
        elements[_dtype(one)] = elements.get(_dtype(one), 0) + one.numel() + 1
    floating = {name: count for name, count in elements.items() if name in _DTYPES}
    return max(floating, key=lambda name: floating[name]) if floating else None


def _names(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    return sorted(str(name) for name in value) if isinstance(value, (list, tuple, set, frozenset)) else None


def _text(value: Any) -> str | None:
    value = getattr(value, "value", value)
    return value if isinstance(value, str) and value else None


def _flag(owner: Any, name: str) -> bool | None:
    value = getattr(owner, name, None)
    return value if isinstance(value, bool) else None


def _whole(owner: Any, name: str) -> int | None:
    value = getattr(owner, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _real(owner: Any, name: str) -> float | None:
    value = getattr(owner, name, None)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _given(owner: Any, name: str) -> bool | None:
    return getattr(owner, name) is not None if hasattr(owner, name) else None
