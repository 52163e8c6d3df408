"""Stated values, as people write them, turned into the values that rules compare."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from envdoctor.facts.fact import FactValue, NotUnderstood
from envdoctor.facts.names import canonical
from envdoctor.facts.old_spellings import now_used
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import ABSENT, Exact, exact, parse_package
from envdoctor.facts.vocabulary import Term, term

# Longer texts are no value of any fact.
_LONGEST = 4096
_LARGEST = 10**18

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0", "none", "null"}

_DTYPES = {
    "fp32": "float32", "float": "float32", "f32": "float32", "full": "float32",
    "fp16": "float16", "half": "float16", "halfprecision": "float16", "f16": "float16",
    "bf16": "bfloat16",
    "fp64": "float64", "double": "float64", "f64": "float64",
    "fp8": "float8", "f8_e4m3": "float8", "f8_e5m2": "float8", "float8_e4m3fn": "float8", "float8_e5m2": "float8",
    "i8": "int8", "u8": "uint8",
    # The precision of Lightning and LitGPT: "mixed" is autocast beside float32 weights.
    "bf16true": "bfloat16", "16true": "float16", "32true": "float32", "bf16mixed": "float32", "16mixed": "float32", "tf32": "float32",
}  # fmt: skip

_OPTIMIZERS = {"adamw": "adamw_torch", "torch_adamw": "adamw_torch", "torch.optim.adamw": "adamw_torch", "fused_adamw": "adamw_torch_fused"}

_TRAINERS = {
    "llamafactory": "llamafactory", "axolotl": "axolotl", "unsloth": "unsloth", "torchtune": "torchtune", "litgpt": "litgpt",
    "msswift": "ms-swift", "swift": "ms-swift", "trl": "trl", "sfttrainer": "trl", "transformers": "transformers",
    "transformerstrainer": "transformers", "hftrainer": "transformers", "huggingfacetrainer": "transformers", "trainer": "transformers",
    "trlsfttrainer": "trl", "dpotrainer": "trl", "trldpotrainer": "trl", "grpotrainer": "trl", "trlgrpotrainer": "trl",
    "torchtitan": "torchtitan", "own": "own", "ownloop": "own", "custom": "own", "customloop": "own",
    "nemo": "nemo", "megatron": "megatron", "megatronlm": "megatron", "megatroncore": "megatron",
    "trl.sfttrainer": "trl", "trl.dpotrainer": "trl", "trl.grpotrainer": "trl", "ppotrainer": "trl", "ktotrainer": "trl",
    "orpotrainer": "trl", "rewardtrainer": "trl", "transformers.trainer": "transformers",
    "unsloth+trl": "unsloth", "trl+unsloth": "unsloth",
    "modelscopeswift": "ms-swift", "lightning": "lightning", "pytorchlightning": "lightning", "lightningfabric": "lightning",
    "fabric": "lightning", "deepspeed": "deepspeed", "deepspeedengine": "deepspeed", "accelerate": "accelerate",
    "accelerateloop": "accelerate", "hfaccelerate": "accelerate", "pytorch": "own", "plainpytorch": "own", "purepytorch": "own",
    "rawpytorch": "own", "pytorchloop": "own", "customtrainingloop": "own", "owntrainingloop": "own",
}  # fmt: skip

# Spellings after lower-casing and with spaces, dashes and underscores taken out.
_SPELLINGS: dict[str, dict[str, str]] = {
    "plan.quant": {
        "none": "none", "no": "none", "false": "none", "": "none",
        "4bit": "4bit", "int4": "4bit", "nf4": "4bit", "fp4": "4bit", "4": "4bit", "bnb4bit": "4bit", "bitsandbytes4bit": "4bit",
        "bnbnf4": "4bit", "loadin4bit": "4bit",
        "8bit": "8bit", "int8": "8bit", "8": "8bit", "bnb8bit": "8bit", "bitsandbytes8bit": "8bit", "llmint8": "8bit",
        "llm.int8": "8bit", "llm.int8()": "8bit", "loadin8bit": "8bit",
        "gptqint4": "gptq", "gptq4bit": "gptq", "awqint4": "awq",
        "nf4dq": "4bit", "fp4dq": "4bit", "bnb.nf4": "4bit", "bnb.fp4": "4bit", "bnb.nf4dq": "4bit", "bnb.fp4dq": "4bit",
        "bnb.int8": "8bit", "float8": "fp8",
    },
    "plan.attn": {
        "flashattention": "flash_attention_2", "flashattention2": "flash_attention_2", "flashattn": "flash_attention_2",
        "flashattn2": "flash_attention_2", "flashattentionv2": "flash_attention_2", "flashattnv2": "flash_attention_2",
        "fa2": "flash_attention_2", "fa": "flash_attention_2", "fa3": "flash_attention_3", "flashattentionv3": "flash_attention_3",
        "flashattnv3": "flash_attention_3", "flashattn3": "flash_attention_3", "flashattention3": "flash_attention_3",
        "flexattention": "flex_attention", "flex": "flex_attention",
        "memoryefficient": "sdpa", "memefficient": "sdpa", "cudnn": "sdpa", "efficient": "sdpa",
        "torchsdpa": "sdpa", "math": "sdpa", "scaleddotproductattention": "sdpa", "vanilla": "eager", "manual": "eager",
    },
    "plan.distributed": {
        "no": "none", "false": "none", "single": "none", "singlegpu": "none", "1gpu": "none",
        "fullshard": "fsdp", "fullyshard": "fsdp", "hybridshard": "fsdp", "hsdp": "fsdp", "shardgradop": "fsdp",
        "noshard": "ddp",
        "distributeddataparallel": "ddp", "dataparallel": "dp", "devicemap=auto": "device_map", "devicemapauto": "device_map",
    },
    "plan.method": {
        "fullfinetuning": "full", "fullfinetune": "full", "fullft": "full", "fullsft": "full",
        "fullparameter": "full", "fullparameters": "full", "fullparameterfinetuning": "full",
        "fft": "full", "galore": "full", "apollo": "full", "lomo": "full", "badam": "full", "qgalore": "full",
        "qdora": "dora", "pissa": "lora", "olora": "lora", "loftq": "lora", "lora+": "lora", "loraplus": "lora", "lorafa": "lora",
        "(ia)3": "ia3", "(ia)^3": "ia3", "ia^3": "ia3", "ia³": "ia3", "(ia)³": "ia3",
        "sftlora": "lora", "lorasft": "lora", "sftqlora": "qlora",
        "ptuning": "p-tuning", "ptuningv2": "prefix-tuning", "prefix": "prefix-tuning", "prompt": "prompt-tuning",
        "pretraining": "pretrain", "pt": "pretrain", "cpt": "pretrain", "continuedpretraining": "pretrain",
        "continualpretraining": "pretrain", "continuepretraining": "pretrain",
        "generate": "inference", "infer": "inference", "serving": "inference", "chat": "inference",
        "eval": "inference", "evaluation": "inference",
        # A calibration only runs the model: nothing is trained.
        "quantize": "inference", "quantise": "inference", "quantization": "inference", "quantisation": "inference", "ptq": "inference",
    },
    "plan.padding_side": {}, "plan.offload": {
        "cpu": "both", "no": "none", "false": "none", "true": "both", "yes": "both", "all": "both", "nvme": "both", "cpuoffload": "both",
        "optimizer+parameters": "both", "optimizerandparameters": "both", "optimizer+param": "both", "optimizer+params": "both",
        "optimizerandparams": "both", "optim": "optimizer", "optimizerstates": "optimizer", "optimizerstate": "optimizer",
        "param": "parameters", "params": "parameters", "parameter": "parameters", "weights": "parameters",
    },
    "plan.fused_loss": {
        "no": "none", "false": "none", "liger": "linear_cross_entropy", "cce": "linear_cross_entropy",
        "cutcrossentropy": "linear_cross_entropy", "fusedlinearcrossentropy": "linear_cross_entropy",
        "linear": "linear_cross_entropy", "unsloth": "cross_entropy", "cewithchunkedoutputloss": "chunked_cross_entropy",
        "chunkedcrossentropy": "chunked_cross_entropy", "chunkedce": "chunked_cross_entropy",
        "chunked": "chunked_cross_entropy", "fastce": "cross_entropy", "triton": "cross_entropy",
    },
    "os": {"win": "windows", "win32": "windows", "darwin": "macos", "osx": "macos", "mac": "macos", "wsl": "linux", "wsl2": "linux"},
    "machine": {"amd64": "x86_64", "x64": "x86_64"},
    "accelerator": {"gpu": "cuda", "nvidia": "cuda", "none": "cpu", "hip": "rocm", "metal": "mps", "ascend": "npu"},
}  # fmt: skip

_OS_WORDS = (
    (
        "linux",
        (
            "linux",
            "ubuntu",
            "debian",
            "centos",
            "red hat",
            "rhel",
            "rocky",
            "fedora",
            "suse",
            "amazon",
            "kylin",
            "endeavouros",
            "manjaro",
            "cachyos",
            "pop!_os",
            "pop os",
            "nixos",
            "gentoo",
            "alma",
            "alpine",
            "openeuler",
            "raspbian",
            "steamos",
            "colab",
            "kaggle",
            "el7",
            "el8",
            "wsl",
        ),
    ),
    ("windows", ("windows", "win10", "win11")),
    ("macos", ("macos", "mac os", "os x", "darwin", "macbook")),
)


def parse_value(name: str, raw: object) -> FactValue:
    """The value of the named fact, or NotUnderstood where the text has no meaning for it.

    The name must be one of the vocabulary. ``packages.x = false`` is an absent package.
    """
    known = term(name)
    if known is None:
        raise KeyError(name)
    try:
        said = str(raw)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return NotUnderstood("a number of too many digits")
    if len(said) > _LONGEST and known.kind != "list":
        return NotUnderstood(f"{said[:80]}... ({len(said)} characters)")
    if name.startswith("packages."):
        return _package(raw)
    return _PARSERS[known.kind](known, raw)


def flatten(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The statements of a nested table by their dotted names, in order; package names normalised (PEP 503)."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{name}.")
        elif prefix == "packages.":
            yield f"packages.{canonical(key)}", value
        else:
            yield name, value


def _package(raw: object) -> FactValue:
    if raw is False:
        return ABSENT
    if isinstance(raw, float):
        return _unquoted(raw)
    text = str(raw).strip()
    if text.lower() in ("none", "not installed", "absent", "n/a", "false"):
        return ABSENT
    try:
        return parse_package(text)
    except ValueError:
        return NotUnderstood(text)


def _unquoted(raw: float) -> NotUnderstood:
    """A number has lost the zero that tells 0.10 from 0.1."""
    return NotUnderstood(f"{raw} (a number; a version needs quotes)")


def _bool(_: Term, raw: object) -> FactValue:
    if isinstance(raw, bool):
        return raw
    text = str(raw).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else NotUnderstood(str(raw))


def _int(_: Term, raw: object) -> FactValue:
    if isinstance(raw, int) and not isinstance(raw, bool) and abs(raw) < _LARGEST:
        return raw
    if isinstance(raw, float) and raw.is_integer() and abs(raw) < _LARGEST:
        return int(raw)
    text = str(raw).strip().replace("_", "")
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else NotUnderstood(str(raw))


def _float(known: Term, raw: object) -> FactValue:
    if isinstance(raw, bool):
        return NotUnderstood(str(raw))
    text = str(raw).strip()
    if len(text) > 400:
        return NotUnderstood(text)
    if known.unit == "GiB":
        text = re.sub(r"\s*(gib|gb|g)$", "", text, flags=re.IGNORECASE)
    try:
        number = float(text)
    except ValueError:
        return NotUnderstood(str(raw))
    return number if math.isfinite(number) else NotUnderstood(str(raw))


OF_AMD = re.compile(r"\s*(?:rocm|hip)(?![a-z])", re.IGNORECASE)
"""What people state as the CUDA of an AMD card: ``ROCm 7.12``, which is no release of CUDA."""


def _version(known: Term, raw: object) -> FactValue:
    if isinstance(raw, float) and known.name not in ("cuda", "gpu.compute_capability"):
        return _unquoted(raw)
    if known.name == "cuda" and OF_AMD.match(str(raw)):
        return NotUnderstood(str(raw).strip())
    text = re.sub(r"^(python|cuda|v)\s*", "", str(raw).strip(), flags=re.IGNORECASE)
    if text[:1] in ("=", "<", ">", "!", "~"):
        try:
            return parse_package(text)
        except ValueError:
            return NotUnderstood(text)
    label = re.fullmatch(r"cu([0-9]{2})([0-9])" if known.name == "cuda" else r"sm_?([0-9]{1,2})([0-9])", text, flags=re.IGNORECASE)
    if label and known.name in ("cuda", "gpu.compute_capability"):
        return exact(f"{label[1]}.{label[2]}")
    try:
        return exact(text)
    except ValueError:
        return _told(str(raw).strip())


def _told(text: str) -> FactValue:
    """The version in a sentence with one dotted number outside brackets: ``Python 3.10.12 (main, Nov 20 2023) [GCC 11.4.0]``."""
    if re.search(r"[<>~!^\u2264\u2265]|[0-9]\s*\+|\bnot\b|\b(above|below|least|later|newer|older)\b", text, flags=re.IGNORECASE):
        return NotUnderstood(text)
    outside = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " ", text)
    found = re.findall(r"(?<![0-9.])[0-9]+(?:\.[0-9]+)+", outside)
    return exact(found[0]) if len(found) == 1 else NotUnderstood(text)


def _text(known: Term, raw: object) -> FactValue:
    text = str(raw).strip()
    if known.name == "plan.optimizer":
        text = re.sub(r"[\s\-]+", "_", text.lower())
        text = _OPTIMIZERS.get(text, text)
    if known.name == "plan.trainer":
        # What stands in brackets behind a name says more of it: "trl (through a library of ours)".
        text = _TRAINERS.get(_folded(text.partition("(")[0]), text)
    return text or NotUnderstood(text)


def _list(known: Term, raw: object) -> FactValue:
    if raw is False:
        return ()
    if known.name == CODE_USES:
        return _uses(raw)
    if isinstance(raw, str):
        parts = tuple(part for part in re.split(r"[\s,\[\]\"']+", raw) if part)
        return () if len(parts) == 1 and parts[0].lower() in ("none", "null", "no", "false") else parts
    if isinstance(raw, Iterable):
        return tuple(str(item) for item in raw)
    return (str(raw),)


def _uses(raw: object) -> FactValue:
    """Uses of libraries; in one line they are separated by commas outside parentheses."""
    if isinstance(raw, str):
        raw = [part for item in re.split(r",(?![^()]*\))", raw) if (part := item.strip(" \t[]\"'"))]
    return tuple(now_used(str(item)) for item in (raw if isinstance(raw, Iterable) else (raw,)))


def _dtype(known: Term, raw: object) -> FactValue:
    text = re.sub(r"[\s\-]+", "", str(raw).lower()).removeprefix("torch.")
    text = _DTYPES.get(text, text)
    return text if text in known.choices else NotUnderstood(str(raw))


def _choice(known: Term, raw: object) -> FactValue:
    text = ("true" if raw else "false") if isinstance(raw, bool) else str(raw).strip()
    folded = _folded(text)
    by_fold = {_folded(choice): choice for choice in known.choices}
    if folded in by_fold:
        return by_fold[folded]
    spelled = _SPELLINGS.get(known.name, {}).get(folded)
    if spelled is not None:
        return spelled
    special = _SPECIAL.get(known.name)
    found = special(text) if special else None
    return found if found is not None else NotUnderstood(text)


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", text.lower())


def _os(text: str) -> str | None:
    lowered = text.lower().replace("arch linux", "linux")
    return next((name for name, words in _OS_WORDS if any(word in lowered for word in words)), None)


def _distributed(text: str) -> str | None:
    lowered = text.lower()
    stages = set(re.findall(r"(?:zero|stage|ds_z|\bz)[\s_\-]*([0-3])(?![0-9])", lowered))
    ways = {"ddp" if stage == "0" else f"zero{stage}" for stage in stages}
    if "fsdp" in lowered or "fully sharded" in lowered:
        ways.add("fsdp")
    if not ways and "deepspeed" not in lowered and re.search(r"\bddp\b|torchrun", lowered):
        ways.add("ddp")
    return _only(ways, lowered)


def _attn(text: str) -> str | None:
    """A kernel by the name of its repository: ``kernels-community/flash-attn3``."""
    lowered = _folded(text)
    if "flashattn" not in lowered and "flashattention" not in lowered:
        return None
    return "flash_attention_3" if re.search(r"(attn|attention)v?[34]", lowered) else "flash_attention_2"


def _method(text: str) -> str | None:
    lowered = text.lower()
    words = {word for word in ("qlora", "dora", "rslora", "lora", "full") if re.search(rf"\b{word}\b", lowered)}
    if len(words) == 2 and "full" not in words:
        words.discard("lora")  # "LoRA (QLoRA, 4-bit)": the special kind
    return _only(words, lowered)


def _quant(text: str) -> str | None:
    lowered = text.lower()
    ways = {word for word in ("gptq", "awq", "hqq", "aqlm", "mxfp4", "torchao") if word in lowered}
    return _only(ways or {f"{bits}bit" for bits in re.findall(r"\b([48])[\s\-]?bits?\b", lowered)}, lowered)


def _only(found: set[str], lowered: str) -> str | None:
    """What a sentence says when it says one thing, and does not deny it."""
    return found.pop() if len(found) == 1 and not re.search(r"\b(no|not|non|without)\b", lowered) else None


_SPECIAL = {"os": _os, "plan.attn": _attn, "plan.distributed": _distributed, "plan.method": _method, "plan.quant": _quant}
_PARSERS = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "version": _version,
    "text": _text,
    "list": _list,
    "dtype": _dtype,
    "choice": _choice,
}


def shown(value: FactValue) -> str:
    """A value as a report shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, Exact):
        return value.text
    return str(value)
