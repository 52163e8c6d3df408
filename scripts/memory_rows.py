"""A published measurement of GPU memory as a user would state it: a config.json and a facts table.

`situation(row)` gives both; `case(row)` with what was measured, and what of the row no fact can say. Nothing is added but what the
published configuration of the model says, and the training scripts of the source (`_scripts`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memory_cases import Case
from memory_configs import configuration

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stated:
    """What is written for one row. ``not_stated`` are words of the row that no fact has; ``reason`` says why there is no config."""

    config: dict[str, Any]
    facts: dict[str, dict[str, Any]]
    not_stated: tuple[str, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class _Said:
    plan: dict[str, Any] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def situation(row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
    """The config.json and the facts table (TOML's tables as dictionaries) of one row; an empty config where the row has no architecture."""
    stated = state(row)
    return stated.config, stated.facts


def state(row: Row) -> Stated:
    """The same, with what was left out."""
    config = configuration(row, _load_dtype(row))
    said = _plan(row)
    facts: dict[str, dict[str, Any]] = {}
    packages = _packages(str(row.get("versions") or ""))
    if packages:
        facts["packages"] = packages
    gpu = _gpu(row)
    if gpu:
        facts["gpu"] = gpu
    facts["plan"] = said.plan
    reason = "" if config else "the row does not give the sizes of the model"
    return Stated(config, facts, tuple(said.left), reason)


def case(row: Row) -> Case:
    """A row with its situation."""
    stated = state(row)
    figure, left = row.get("measured_gib"), row.get("torch_alloc_after_bytes")
    outcome = str(row.get("outcome") or "")
    return Case(
        number=int(row["id"]),
        model=str(row.get("model") or ""),
        method=str(row.get("method") or ""),
        config=stated.config,
        facts=stated.facts,
        metric=metric(row),
        measured=None if figure is None else float(figure),
        after=float(left) if left else None,
        ended="oom" if outcome.startswith("OOM") or "OOM-like" in outcome else ("ok" if outcome == "ok" else ""),
        quality=str(row.get("quality") or ""),
        source=str(row.get("source") or ""),
        not_stated=stated.not_stated,
        reason=stated.reason,
        kernels=str(row.get("liger_or_fused_ce") or "").replace("none", ""),
        context=_context(row),
    )


def _context(row: Row) -> float | None:
    """GiB of the CUDA context, where the source says how much of its figure that is."""
    found = re.search(r"incl\. (\d+) MiB CUDA context", str(row.get("metric") or ""))
    return None if found is None else int(found[1]) / 1024


def metric(row: Row) -> str:
    """What a row's figure is: ``allocated`` or ``reserved`` by torch, or ``used``: of nvidia-smi, or not said."""
    words = str(row.get("metric") or "").lower()
    if "reserved" in words:
        return "reserved"
    return "allocated" if "alloc" in words or "active" in words else "used"


_SHORT = {"bnb": "bitsandbytes", "fa": "flash-attn"}
# The requirements files of the benchmark that its rows point to (fms-acceleration, commit 876e2ed).
_FILES = {
    "refs/requirements_granite.txt": "torch2.4.1 transformers4.45.2 peft0.12.0 accelerate0.34.2 bnb0.43.3 fa2.6.3",
    "refs_orca/requirements_pf.txt": "torch2.4.0 transformers4.44.2 peft0.12.0 trl0.10.1 accelerate0.33.0 bnb0.43.3 fa2.6.3",
    "refs/requirements_moe.txt": "torch2.6.0 transformers4.52.4 peft0.14.0 trl0.17.0 accelerate1.6.0 bnb0.45.1 fa2.7.4.post1",
}


def _packages(text: str) -> dict[str, str]:
    for file, versions in _FILES.items():
        text = text.replace(f"see {file}", versions)
    found = re.findall(r"\b(torch|transformers|peft|trl|accelerate|bnb|bitsandbytes|fa|deepspeed)[ =]*(\d+\.\d[\w.+]*)", text)
    return {_SHORT.get(name, name): version if version.count(".") > 1 else f"{version}.0" for name, version in found}


_GPUS = (
    (r"A100.*40 ?GB", "NVIDIA A100-SXM4-40GB"),
    (r"A100.*80 ?GB", "NVIDIA A100-SXM4-80GB"),
    (r"3090/4090", "NVIDIA GeForce RTX 3090"),
    (r"V100.*16 ?GB", "Tesla V100-SXM2-16GB"),
    (r"RTX ?4090", "NVIDIA GeForce RTX 4090"),
    (r"RTX ?4080", "NVIDIA GeForce RTX 4080"),
    (r"H100.*96", "NVIDIA GH200 96GB"),
    (r"H100", "NVIDIA H100 80GB HBM3"),
    (r"A10G", "NVIDIA A10G"),
)


def _gpu(row: Row) -> dict[str, Any]:
    """Name and number. An ``A100`` that may have 40 or 80 GB has no name."""
    said = str(row.get("gpu") or "")
    found: dict[str, Any] = {}
    for pattern, name in _GPUS:
        if re.search(pattern, said):
            found["name"] = name
            break
    if row.get("gpus"):
        found["count"] = int(row["gpus"])
    return found


_OPTIMIZERS = (
    (r"galore.*8bit.*layer", "galore_adamw_8bit_layerwise"),
    (r"galore.*8bit", "galore_adamw_8bit"),
    (r"galore.*layer", "galore_adamw_layerwise"),
    (r"galore", "galore_adamw"),
    (r"paged.*8", "paged_adamw_8bit"),
    (r"paged", "paged_adamw_32bit"),
    (r"8-?bit", "adamw_bnb_8bit"),
    (r"adafactor", "adafactor"),
    (r"adam", "adamw_torch"),
    (r"sgd", "sgd"),
)
# Kinds of PEFT that put trained matrices of low rank beside linear layers, or are near to that, and what says their size.
_PEFT = {"lora": "lora", "prompt_tuning": "prompt-tuning", "prefix_tuning": "prefix-tuning", "p_tuning": "p-tuning"}


def _plan(row: Row) -> _Said:
    said = _Said()
    _method(row, said)
    dtype = str(row.get("dtype") or "")
    load = _load_dtype(row)
    if load:
        said.plan["load_dtype"] = load
        said.plan["fp16"] = "fp16 autocast" in dtype
        said.plan["bf16"] = "bf16 autocast" in dtype or dtype == "bf16" or (load == "float32" and "bf16" in dtype)
    if "bf16-true" in dtype:
        said.plan["autocast_adapter_dtype"] = False
    _quantization(row, said)
    for field_, fact in (("micro_batch", "batch_size"), ("grad_accum", "gradient_accumulation"), ("seq", "seq_len")):
        if row.get(field_) is not None:
            said.plan[fact] = int(row[field_])
        elif field_ != "grad_accum":
            said.left.append(f"{fact}: the source does not tell")
    for field_, fact in (("ckpt", "gradient_checkpointing"), ("compile", "compile")):
        if row.get(field_) is not None:
            said.plan[fact] = bool(row[field_])
    _attention(row, said)
    _loss(row, said)
    _optimizer(row, said)
    _sharding(row, said)
    _scripts(row, said)
    if row.get("seq_is_exact") is False and row.get("seq"):
        said.left.append("the longest batch may be shorter than seq_len")
    return said


def _load_dtype(row: Row) -> str:
    dtype = str(row.get("dtype") or "")
    for word, name in (("bfloat16", "bfloat16"), ("bf16", "bfloat16"), ("float16", "float16"), ("float32", "float32"), ("fp32", "float32")):
        if dtype.startswith(word):
            return name
    return ""


def _method(row: Row, said: _Said) -> None:
    method = str(row.get("method") or "")
    lora = row.get("lora") or {}
    kind = method.partition(":")[2]
    if method.startswith("peft:"):
        said.plan["method"] = _PEFT.get(kind, "lora")
        if kind not in _PEFT:
            said.left.append(f"{kind} is no method of the vocabulary: stated as LoRA")
        if "dora" in str(row.get("experiment") or "") or lora.get("use_dora"):
            said.plan["method"] = "dora"
    elif method.startswith("p-tuning"):
        said.plan["method"] = "p-tuning"
    elif method.startswith("full"):
        said.plan["method"] = "full"
    else:
        said.plan["method"] = "qlora" if method.startswith("qlora") else method.split("+")[0].strip().split(" ")[0]
    if said.plan["method"] in ("full", "p-tuning", "prompt-tuning", "prefix-tuning"):
        return
    if lora.get("r"):
        said.plan["lora_r"] = int(lora["r"])
    targets = lora.get("targets") or lora.get("target_modules")
    if targets:
        said.plan["lora_targets"] = _targets(targets, str(row.get("model") or ""))
    if lora.get("dropout") is not None:
        said.plan["lora_dropout"] = float(lora["dropout"])
    if "emb" in method:
        said.plan["modules_to_save"] = ["wte", "lm_head"] if "qwen" in str(row.get("model")).lower() else ["embed_tokens", "lm_head"]


_WORDS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj", "query": "q_proj", "key": "k_proj", "value": "v_proj"}
# Models whose queries, keys and values come out of one linear layer.
_FUSED = r"stablelm-(base|tuned)-alpha|pythia|redpajama|dolly|neox|falcon|bloom"


def _targets(targets: object, model: str) -> list[str]:
    if isinstance(targets, str):
        if targets.startswith("all linear") or targets == "all-linear":
            return ["all-linear"]
        targets = re.split(r"[ ,]+", targets)
    assert isinstance(targets, list)
    if re.search(_FUSED, model.lower()) and not {"query", "key", "value"}.isdisjoint(targets):
        return ["query_key_value"]
    return [_WORDS.get(str(target), str(target)) for target in targets]


def _quantization(row: Row, said: _Said) -> None:
    quant = str(row.get("quant") or "")
    if not quant:
        said.plan["quant"] = "none"
    elif quant.startswith("gptq"):
        said.plan["quant"] = "gptq"
    elif "8" in quant and "int8" in quant:
        said.plan["quant"] = "8bit"
    else:
        said.plan["quant"] = "4bit"
        if quant.startswith("bnb-nf4") and "hqq" not in quant:
            said.plan["double_quant"] = "dq" in quant
        if "torchao" in quant:
            said.left.append("NF4 of torchao, stated as 4bit")


def _attention(row: Row, said: _Said) -> None:
    said_as = str(row.get("attn") or "")
    for word, name in (("flash_attention_2", "flash_attention_2"), ("sdpa", "sdpa"), ("eager", "eager"), ("flash", "flash_attention_2")):
        if word in said_as:
            said.plan["attn"] = name
            return


def _loss(row: Row, said: _Said) -> None:
    loss = str(row.get("liger_or_fused_ce") or "")
    if "liger" in loss:
        said.plan["liger"] = True
    elif "chunked" in loss:
        said.plan["fused_loss"] = "linear_cross_entropy"
    elif "fast CE" in loss:
        said.plan["fused_loss"] = "cross_entropy"
    elif loss and loss != "none":
        said.left.append(loss)
    framework = str(row.get("framework") or "")
    if "foak" in framework:
        said.left.append("fused norms and rotary embeddings")
    if "padding-free" in framework:
        said.left.append("padding-free batches")


def _optimizer(row: Row, said: _Said) -> None:
    words = str(row.get("optimizer") or "")
    for pattern, name in _OPTIMIZERS:
        if re.search(pattern, words, re.IGNORECASE):
            said.plan["optimizer"] = name
            break
    if "backward" in words:
        said.left.append("optimizer step inside backward")
    if row.get("offload") == "activations":
        said.left.append("activations offloaded")


_SHARDING = (
    (r"ddp", "ddp"), (r"fsdp|hsdp", "fsdp"), (r"zero-?1", "zero1"), (r"zero-?2", "zero2"), (r"zero-?3", "zero3"), (r"zero", "zero3"),
)  # fmt: skip


def _sharding(row: Row, said: _Said) -> None:
    shard = str(row.get("shard") or "")
    method = str(row.get("method") or "")
    words = shard or (method if "ZeRO" in method else "")
    for pattern, name in _SHARDING:
        if re.search(pattern, words, re.IGNORECASE):
            said.plan["distributed"] = name
            if pattern == r"zero":
                said.left.append("the stage of ZeRO")
            break
    else:
        if shard:
            said.left.append(shard)
        elif int(row.get("gpus") or 1) > 1:
            said.plan["distributed"] = "ddp"
    if "CPU offload" in words:
        said.plan["offload"] = "both"
    if re.search(r"\b(CP|TP|PP)\b", shard):
        said.left.append("tensor, context or pipeline parallelism")


def _scripts(row: Row, said: _Said) -> None:
    """What the published training scripts of a source say of all its runs, and its table does not.

    Qwen's finetune_*.sh pass ``--bf16 True``, and those for GPTQ ``--fp16 True``; fsdp_qlora's train.py targets all linear layers but the
    attention's output, in plain bfloat16, with a dropout of 0.1; transformers' performance guide of 2022 leaves the Trainer's default of
    its day; fms-acceleration's plugin for bitsandbytes quantizes doubly and prepares nothing, which trl does where the plugin leaves it
    to it. Frameworks with model code of their own prepare nothing either. MiniCPM-V's finetune.py trains the embeddings beside LoRA of rank
    64 on the attention; torchtune's recipes step with torch's fused AdamW, keep adapters in bfloat16, and cut the
    output layer together with the loss (LinearCrossEntropyLoss).
    """
    source = str(row.get("source") or "")
    framework = str(row.get("framework") or "")
    if said.plan.get("quant") == "4bit":
        if "peft-bnb" in framework:
            said.plan["double_quant"] = True
            said.plan["kbit_preparation"] = framework.startswith("baseline") and row.get("gpus") == 1
        elif any(name in source for name in ("/litgpt/", "/torchtune/", "/fsdp_qlora/")):
            said.plan["kbit_preparation"] = False
    if "/QwenLM/Qwen/" in source and said.plan.get("load_dtype") in ("float16", "bfloat16"):
        half = said.plan["load_dtype"] == "float16"
        said.plan["fp16"], said.plan["bf16"] = half, not half
    elif "/AnswerDotAI/fsdp_qlora/" in source and "lora_r" in said.plan:
        said.plan["lora_targets"] = ["k_proj", "q_proj", "v_proj", "up_proj", "down_proj", "gate_proj"]
        said.plan["lora_dropout"] = 0.1
        said.plan["autocast_adapter_dtype"] = False
    elif "/torchtune/" in source:
        if said.plan.get("optimizer") == "adamw_torch":
            said.plan["optimizer"] = "adamw_torch_fused"
        if said.plan["method"] != "full":
            said.plan["autocast_adapter_dtype"] = False
            if "README" in source and "lora_r" not in said.plan:
                said.plan |= {"lora_r": 64, "lora_targets": ["q_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]}
    elif "/OpenBMB/MiniCPM-V/" in source:
        said.plan["optimizer"] = "adamw_torch"
        said.left.append("images, up to ten tiles a sample")
        if said.plan["method"] == "lora":
            said.plan |= {"lora_r": 64, "lora_targets": ["q_proj", "k_proj", "v_proj", "o_proj"], "lora_dropout": 0.05}
            said.plan["modules_to_save"] = ["embed_tokens"]
    elif source.endswith("perf_train_gpu_one.mdx") and row.get("optimizer") == "AdamW":
        said.plan["optimizer"] = "adamw_hf"
