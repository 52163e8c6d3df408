"""Stated values, as people write them, turned into the values that rules compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from packaging.specifiers import InvalidSpecifier
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from envdoctor.facts import FactValue, NotUnderstood
from envdoctor.versions import ABSENT, Exact, exact, parse_package
from envdoctor.vocabulary import Term, term

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0", "none", "null"}

_DTYPES = {
    "fp32": "float32", "float": "float32", "f32": "float32", "full": "float32",
    "fp16": "float16", "half": "float16", "f16": "float16",
    "bf16": "bfloat16",
    "fp64": "float64", "double": "float64", "f64": "float64",
    "fp8": "float8", "f8_e4m3": "float8", "f8_e5m2": "float8", "float8_e4m3fn": "float8", "float8_e5m2": "float8",
    "i8": "int8", "u8": "uint8",
}  # fmt: skip

# Spellings after lower-casing and with spaces, dashes and underscores taken out.
_SPELLINGS: dict[str, dict[str, str]] = {
    "plan.quant": {
        "none": "none", "no": "none", "false": "none", "": "none",
        "4bit": "4bit", "int4": "4bit", "nf4": "4bit", "fp4": "4bit", "4": "4bit", "bnb4bit": "4bit", "bitsandbytes4bit": "4bit",
        "bnbnf4": "4bit", "loadin4bit": "4bit",
        "8bit": "8bit", "int8": "8bit", "8": "8bit", "bnb8bit": "8bit", "bitsandbytes8bit": "8bit", "llmint8": "8bit", "loadin8bit": "8bit",
        "gptqint4": "gptq", "gptq4bit": "gptq", "awqint4": "awq",
    },
    "plan.attn": {
        "flashattention": "flash_attention_2", "flashattention2": "flash_attention_2", "flashattn": "flash_attention_2",
        "flashattn2": "flash_attention_2", "fa2": "flash_attention_2", "fa": "flash_attention_2",
        "fa3": "flash_attention_3", "flashattn3": "flash_attention_3", "flashattention3": "flash_attention_3",
        "flexattention": "flex_attention", "flex": "flex_attention",
        "torchsdpa": "sdpa", "math": "sdpa", "scaleddotproductattention": "sdpa", "vanilla": "eager", "manual": "eager",
    },
    "plan.distributed": {
        "no": "none", "false": "none", "single": "none", "singlegpu": "none",
        "multigpu": "ddp", "distributeddataparallel": "ddp", "dataparallel": "dp",
        "zero": "zero1",
    },
    "plan.method": {
        "sft": "full", "fullfinetuning": "full", "fullft": "full", "finetuning": "full", "fullparameter": "full", "fullsft": "full",
        "sftlora": "lora", "lorasft": "lora", "sftqlora": "qlora",
        "ptuning": "p-tuning", "ptuningv2": "prefix-tuning", "prefix": "prefix-tuning", "prompt": "prompt-tuning",
        "pretraining": "pretrain", "pt": "pretrain",
        "generate": "inference", "infer": "inference", "serving": "inference", "chat": "inference", "eval": "inference", "evaluation": "inference",
    },
    "plan.padding_side": {}, "plan.offload": {"cpu": "both", "no": "none", "false": "none"},
    "os": {"win": "windows", "win32": "windows", "darwin": "macos", "osx": "macos", "mac": "macos", "wsl": "linux", "wsl2": "linux"},
    "machine": {"amd64": "x86_64", "x64": "x86_64"},
    "accelerator": {"gpu": "cuda", "nvidia": "cuda", "none": "cpu", "hip": "rocm", "metal": "mps", "ascend": "npu"},
}  # fmt: skip

_OS_WORDS = (
    ("linux", ("linux", "ubuntu", "debian", "centos", "red hat", "rhel", "rocky", "fedora", "arch", "suse", "amazon", "kylin", "colab", "kaggle", "el7", "el8")),
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
            yield f"packages.{canonicalize_name(key)}", value
        else:
            yield name, value


def _package(raw: object) -> FactValue:
    if raw is False:
        return ABSENT
    text = str(raw).strip()
    if text.lower() in ("none", "not installed", "absent", "n/a", "false"):
        return ABSENT
    try:
        return parse_package(text)
    except (InvalidVersion, InvalidSpecifier):
        return NotUnderstood(text)


def _bool(_: Term, raw: object) -> FactValue:
    if isinstance(raw, bool):
        return raw
    text = str(raw).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else NotUnderstood(str(raw))


def _int(_: Term, raw: object) -> FactValue:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, float) and raw.is_integer():
        return int(raw)
    text = str(raw).strip().replace("_", "")
    return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else NotUnderstood(str(raw))


def _float(_: Term, raw: object) -> FactValue:
    if isinstance(raw, bool):
        return NotUnderstood(str(raw))
    if isinstance(raw, (int, float)):
        return float(raw)
    text = re.sub(r"\s*(gib|gb|g)\s*$", "", str(raw).strip(), flags=re.IGNORECASE)
    try:
        return float(text)
    except ValueError:
        return NotUnderstood(str(raw))


def _version(_: Term, raw: object) -> FactValue:
    text = str(raw).strip()
    try:
        return exact(re.sub(r"^(python|cuda|v)\s*", "", text, flags=re.IGNORECASE))
    except InvalidVersion:
        found = re.search(r"\d+(?:\.\d+)+", text)
        # A sentence with one dotted number in it ("Python 3.10.12 (main, ...)") still tells the version.
        return exact(found[0]) if found and len(re.findall(r"\d+(?:\.\d+)+", text)) == 1 else NotUnderstood(text)


def _text(_: Term, raw: object) -> FactValue:
    return str(raw).strip()


def _list(_: Term, raw: object) -> FactValue:
    if isinstance(raw, str):
        return tuple(part for part in re.split(r"[\s,]+", raw.strip()) if part)
    if isinstance(raw, Iterable):
        return tuple(str(item) for item in raw)
    return (str(raw),)


def _dtype(known: Term, raw: object) -> FactValue:
    text = str(raw).strip().lower().removeprefix("torch.")
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


def _folded(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", text.lower())


def _os(text: str) -> str | None:
    lowered = text.lower()
    return next((name for name, words in _OS_WORDS if any(word in lowered for word in words)), None)


def _distributed(text: str) -> str | None:
    lowered = text.lower()
    stage = re.search(r"(?:zero|stage|ds_z|\bz)[\s_\-]*([0123])(?!\d)", lowered)
    if stage:
        return "ddp" if stage[1] == "0" else f"zero{stage[1]}"
    if "fsdp" in lowered or "fully sharded" in lowered:
        return "fsdp"
    return "ddp" if re.search(r"\bddp\b|torchrun", lowered) else None


def _method(text: str) -> str | None:
    lowered = text.lower()
    for word in ("qlora", "dora", "rslora", "lora"):
        if re.search(rf"\b{word}\b", lowered):
            return word
    return None


def _attn(text: str) -> str | None:
    # "auto" asks the library to choose: no fact, the library's default decides.
    return None if text.lower() == "auto" else None


_SPECIAL = {"os": _os, "plan.distributed": _distributed, "plan.method": _method, "plan.attn": _attn}
_PARSERS = {"bool": _bool, "int": _int, "float": _float, "version": _version, "text": _text, "list": _list, "dtype": _dtype, "choice": _choice}


def shown(value: FactValue) -> str:
    """A value as a report shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, Exact):
        return value.text
    return str(value)
