"""The ``fsdp`` field of TrainingArguments, and the configuration beside it: a mapping, its JSON text, or the path of one."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.fact import Origin
from envdoctor.facts.vocabulary import UNCLEAR
from envdoctor.files.json_file import JsonError, UnreadableError, parse_json, read_bounded
from envdoctor.sources.plans.deepspeed import beside
from envdoctor.sources.plans.reader import Reader, Table, is_yes, word

_OF_ACCELERATE = Origin("default of accelerate")
VERSIONS = ("version", "fsdp_version")
LAYERS = "fsdp_transformer_layer_cls_to_wrap"


def read_fsdp(reader: Reader, table: Table, *above: str) -> None:
    """The ``fsdp`` field, in words, and what its configuration adds."""
    fsdp = table.get("fsdp")
    if not is_yes(fsdp):
        return
    reader.say("plan.distributed", "fsdp", *above, "fsdp")
    reader.say("plan.offload", "both" if "offload" in word(fsdp).lower() else "none", *above, "fsdp")
    config = table.get("fsdp_config")
    settings: Table | None = {}
    if isinstance(config, dict):
        settings = config
    elif isinstance(config, str):
        settings = fsdp_configuration(reader.path, config)
    if config is None:
        reader.default("plan.fsdp_state_dict", "full", _OF_ACCELERATE)
    if settings is None:
        reader.say(UNCLEAR, ["plan.fsdp_version"], *above, "fsdp_config")
        return
    if config is None or settings:
        wrap = wrap_of(word(fsdp).lower(), {**table, **settings})
        reader.say("plan.fsdp_wrap", wrap, *above, "fsdp")
        reader.say("plan.fsdp_layers", layers_of({**table, **settings}) if wrap == "named" else None, *above, "fsdp")
    for name in VERSIONS:
        if settings.get(name) in (1, 2):
            reader.say("plan.fsdp_version", settings[name], *above, "fsdp_config", name)
    if settings.get("activation_checkpointing") is True:
        reader.say("plan.gradient_checkpointing", True, *above, "fsdp_config", "activation_checkpointing")


def fsdp_configuration(path: Path, named: str) -> Table | None:
    """The configuration that a plan or script at a path names or writes out; None where it is not there or no mapping."""
    try:
        found = None if named.lstrip().startswith("{") else beside(path, named)
        data = named.encode("utf-8", "replace") if found is None else read_bounded(found)
        value = parse_json(data).value
    except (JsonError, UnreadableError):
        return None
    return value if isinstance(value, dict) else None


def layers_of(settings: Table) -> list[str] | None:
    """The classes of layers that a configuration names, in a list or divided by commas."""
    given = next((settings[name] for name in (LAYERS, LAYERS.removeprefix("fsdp_")) if is_yes(settings.get(name))), None)
    names = given if isinstance(given, list) else word(given).split(",") if given is not None else []
    return [name.strip() for name in map(str, names) if name.strip()] or None


def wrap_of(words: str, settings: Table) -> str:
    """Which layers are shared out by themselves: ``auto_wrap``, and what the configuration beside it names."""
    if "auto_wrap" not in words:
        return "none"
    if any(is_yes(settings.get(f"{prefix}min_num_params")) for prefix in ("", "fsdp_")):
        return "size"
    return "named" if any(is_yes(settings.get(f"{prefix}transformer_layer_cls_to_wrap")) for prefix in ("", "fsdp_")) else "own"
