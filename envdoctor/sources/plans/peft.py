"""A PEFT configuration inside a plan, and the LoRA settings that every dialect names in its own way."""

from __future__ import annotations

from envdoctor.facts.fact import Origin
from envdoctor.sources.plans.reader import Reader, Table, is_open, word
from envdoctor.sources.plans.settings import Settings

_TYPES = {"LORA": "lora", "PREFIX_TUNING": "prefix-tuning", "P_TUNING": "p-tuning", "PROMPT_TUNING": "prompt-tuning", "IA3": "ia3"}


SETTINGS = Settings({"lora_r": ">r", "lora_alpha": ">lora_alpha", "lora_targets": ">target_modules", "modules_to_save": ">modules_to_save"})


def read_peft(reader: Reader, peft: Table) -> None:
    """The fields of a PEFT configuration under ``peft_config``."""
    kind = word(peft.get("peft_type", "")).upper()
    method = _TYPES.get(kind, kind.lower())
    if method:
        reader.say("plan.method", lora_kind(peft, method), "peft_config", "peft_type")
    if method == "lora":
        lora_facts(reader, peft, SETTINGS, "peft_config")
        reader.default("plan.lora_dropout", 0.0, Origin("default of LoraConfig"))
    elif method == "ia3":
        say_targets(reader, peft, "target_modules", "peft_config")
        reader.say("plan.modules_to_save", peft.get("modules_to_save"), "peft_config", "modules_to_save")


def lora_kind(table: Table, method: str) -> str:
    """LoRA or, by the switches of PEFT's own names, DoRA or rank-stabilised LoRA."""
    if method == "lora" and table.get("use_dora") is True:
        return "dora"
    return "rslora" if method == "lora" and table.get("use_rslora") is True else method


def lora_facts(reader: Reader, table: Table, settings: Settings, *above: str) -> None:
    """Rank, scale, targets and saved modules, each under the dialect's own name."""
    for fact in ("lora_r", "lora_alpha", "modules_to_save"):
        reader.say(f"plan.{fact}", table.get(settings.name(fact)), *above, settings.name(fact))
    reader.say("plan.lora_dropout", table.get("lora_dropout"), *above, "lora_dropout")
    say_targets(reader, table, settings.name("lora_targets"), *above)


def say_targets(reader: Reader, table: Table, key: str, *above: str) -> None:
    """Target modules: a list, names with commas between them, or one regular expression."""
    raw = table.get(key)
    expression = isinstance(raw, str) and any(mark in raw for mark in "\\*+()|^$?[") and not is_open(raw) and not raw.startswith("[")
    reader.say("plan.lora_targets", [raw] if expression else raw, *above, key)
