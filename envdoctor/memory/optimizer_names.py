"""Optimizers by whatever they are called: as transformers, bitsandbytes, torchao, DeepSpeed and people spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Classes and words beside the names of transformers' OptimizerNames: what each keeps is that of the other name.
_ALIASES = {
    "fusedadam": "deepspeed_adamw",
    "fusedadamw": "adamw_torch_fused",
    "deepspeedcpuadam": "deepspeed_adamw",
    "cpuadam": "deepspeed_adamw",
    "cpuadamw": "deepspeed_adamw",
    "hybridadam": "deepspeed_adamw",
    "apexfusedadam": "adamw_apex_fused",
    "tefusedadam": "adamw_torch_fused",
    "transformerenginefusedadam": "adamw_torch_fused",
    "decoupledadamw": "adamw_torch",
    "optimiadamw": "adamw_torch",
    "lionpytorch": "lion",
    "apollo": "apollo_adamw",
    "adamwschedulefree": "schedule_free_adamw",
    "schedulefreeadamw": "schedule_free_adamw",
    "camepytorch": "came",
    "prodigyopt": "prodigy",
    "nadam": "adamw_torch",
    "radam": "adamw_torch",
    "sgdmomentum": "sgd_momentum",
    "sgdwithmomentum": "sgd_momentum",
    "momentumsgd": "sgd_momentum",
}
_FAMILIES = ("adamw", "adam", "ademamix", "adafactor", "lion", "rmsprop", "sgd")
_AROUND = re.compile(
    r"paged|bitsandbytes|bnb|torchao|ao|torch|optimizer|optim|fused|foreach|hf|32bit|16bit|[48]bits?|int8|fp8|true|lowbit|accelerate|zero"
)


def listed(name: str, known: Iterable[str]) -> str | None:
    """The one of the ``known`` names that is meant; None where none is."""
    text = name.strip().lower().partition(", ")[0]
    last = text.partition("(")[0].rstrip(". ").rpartition(".")[2]
    folded, whole = _folded(last), _folded(text)
    by_fold = {_folded(one): one for one in known}
    fused = "fused" in text and "fused=false" not in text.replace(" ", "")
    for spelled in (whole, folded):
        found = by_fold.get(spelled) or _ALIASES.get(spelled)
        if found is not None:
            return "adamw_torch_fused" if fused and found in ("adamw", "adam", "adamw_torch") else found
    if "muon" in whole and not _AROUND.sub("", re.sub(r"muon|adamw?|dist|hybrid|and|of|with|nor", "", whole)):
        # Matrices have one momentum; embeddings and the output layer mostly AdamW's two.
        return "muon"
    if whole.startswith("sgd") and "momentum" in whole:
        return "sgd_momentum"
    family = next((one for one in _FAMILIES if one in whole), None)
    if family is None or _AROUND.sub("", whole.replace(family, "", 1)):
        return None
    return _composed(family, whole, fused=fused)


def _composed(family: str, text: str, *, fused: bool) -> str | None:
    eight, four = re.search(r"8bit|int8|fp8", text) is not None, "4bit" in text
    paged = "paged" in text
    if family in ("adam", "adamw"):
        if four:
            return "adamw_torch_4bit"
        if eight:
            return "paged_adamw_8bit" if paged else "adamw_8bit"
        if paged:
            return "paged_adamw_32bit"
        return "adamw_bnb_32bit" if "32bit" in text else "adamw_torch_fused" if fused else "adamw_torch"
    bits = "_8bit" if eight else "_32bit"
    if family in ("lion", "ademamix"):
        return f"paged_{family}{bits}" if paged else f"{family}_8bit" if eight else family
    if family == "rmsprop":
        return "rmsprop_bnb_8bit" if eight else "rmsprop"
    return family


def _folded(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text)
