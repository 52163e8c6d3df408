"""DeepSpeed: a configuration by itself, and the ``deepspeed`` field of other plans."""

from __future__ import annotations

import re
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, NotUnderstood, Origin
from envdoctor.files.json_file import JsonError, parse_json
from envdoctor.files.paths import is_file
from envdoctor.files.text import plain
from envdoctor.sources.plans.deepspeed_auto import UNFILLED, unfilled
from envdoctor.sources.plans.plan_file import read_plan
from envdoctor.sources.plans.reader import Dialect, Reader, Table, is_open, word
from envdoctor.sources.plans.settings import Settings

SETTINGS = Settings(
    {
        "batch_size": "train_micro_batch_size_per_gpu",
        "gradient_accumulation": "gradient_accumulation_steps",
        "max_grad_norm": "gradient_clipping",
        "learning_rate": "optimizer.params.lr?",
        "optimizer_eps": "optimizer.params.eps?",
        "fp16": ">fp16.enabled",
        "bf16": ">bf16.enabled",
        "distributed": ">zero_optimization.stage",
    }
)
_STAGE = re.compile(r"(?<![a-z0-9])(?:deepspeed_?|ds_?)?(?:zero|z|stage)[-_]?(?:stage[-_]?)?([123])(?![0-9])")


def read_setting(reader: Reader, setting: object, *keys: str) -> None:
    """The ``deepspeed`` field: a configuration, its JSON text, or the path of one."""
    reader.say("plan.deepspeed", True, *keys)
    if isinstance(setting, str) and setting.lstrip().startswith("{"):
        written = setting
        try:
            setting = parse_json(written.encode("utf-8", "replace")).value
        except JsonError as error:
            reader.skip(written, f"the DeepSpeed configuration is no JSON: {error.found}")
            return
    if isinstance(setting, dict):
        read_stage(reader, setting, reader.origin(*keys))
        _say_unfilled(reader, setting, reader.origin(*keys))
        return
    named = word(setting)
    if is_open(setting):
        reader.skip(named, "the path of the DeepSpeed configuration is set when the run starts")
        return
    found = beside(reader.path, named)
    if found is None:
        stage = stage_of_name(named)
        if stage is not None:
            reader.say("plan.distributed", stage, *keys)
        reader.skip(named, "the DeepSpeed configuration that the plan names was not found beside it")
        return
    try:
        other = read_plan(found)
    except EnvdoctorError as error:
        reader.skip(named, str(error))
        return
    if isinstance(other.value, dict):
        own = Reader(found, other)
        read_stage(reader, other.value, own.origin("zero_optimization", "stage"))
        _say_unfilled(reader, other.value, own)
    else:
        reader.skip(named, "no mapping of settings: not a DeepSpeed configuration")


def configuration_of(reader: Reader, setting: object) -> Table | None:
    """The configuration that the ``deepspeed`` field is or names; None where it is not there to be read."""
    if isinstance(setting, dict) or not isinstance(setting, str) or is_open(setting) or setting.lstrip().startswith("{"):
        return setting if isinstance(setting, dict) else None
    found = beside(reader.path, setting)
    try:
        value = read_plan(found).value if found is not None else None
    except EnvdoctorError:
        return None
    return value if isinstance(value, dict) else None


def stage_of_name(named: str) -> str | None:
    """The ZeRO stage that the name of a DeepSpeed configuration says, as those of most projects do: ``ds_z3_config.json``."""
    last = named.replace("\\", "/").rpartition("/")[2].lower()
    stages = {found[1] for found in _STAGE.finditer(last)}
    return f"zero{stages.pop()}" if len(stages) == 1 else None


def beside(plan: Path, named: str) -> Path | None:
    """The file that a path in a plan means: runs are started from the plan's folder or from one a few levels above."""
    if "\0" in named or not 0 < len(named) <= 1024:
        return None
    folders = [plan.parent, *(plan.parent / "/".join([".."] * up) for up in range(1, 7))]
    try:
        return next((path for folder in folders if is_file(path := folder / named)), None)
    except OSError:
        return None


def read_stage(reader: Reader, settings: Table, origin: Origin) -> None:
    """ZeRO stage and offload of a DeepSpeed configuration, and whether it brings an optimizer or a scheduler."""
    named = any(isinstance(settings.get(key), dict) for key in ("optimizer", "scheduler"))
    reader.facts["plan.deepspeed_optimizer"] = Fact("plan.deepspeed_optimizer", named, origin)
    fused = makes_fused_adam(settings.get("optimizer"))
    reader.facts["plan.deepspeed_fused_adam"] = Fact("plan.deepspeed_fused_adam", fused, origin)
    zero = settings.get("zero_optimization")
    zero = zero if isinstance(zero, dict) else {}
    stage = zero.get("stage", 0)
    if type(stage) is int and 0 <= stage <= 3:
        reader.facts["plan.distributed"] = Fact("plan.distributed", f"zero{stage}" if stage else "ddp", origin)
    else:
        reader.facts["plan.distributed"] = Fact("plan.distributed", NotUnderstood(plain(f"ZeRO stage {word(stage)}")), origin)
    clipping = settings.get("gradient_clipping")
    if clipping is None or (isinstance(clipping, (int, float)) and not isinstance(clipping, bool)):
        # transformers fills in max_grad_norm where "auto" stands, and adds nothing: fill_match of integrations/deepspeed.py.
        reader.facts["plan.max_grad_norm"] = Fact("plan.max_grad_norm", float(clipping or 0.0), origin)
    optimizer, parameters = (offloads(zero.get(key)) for key in ("offload_optimizer", "offload_param"))
    # Stages 1 and 2 are not given offload_param at all: deepspeed/runtime/engine.py.
    parameters = parameters and stage not in (0, 1, 2)
    reader.facts["plan.offload"] = Fact("plan.offload", offload_word(optimizer, parameters), origin)


def _say_unfilled(reader: Reader, settings: Table, place: Reader | Origin) -> None:
    """What the configuration leaves to the Trainer, which leaves it as well: each with its line where the file is one of its own."""
    left = unfilled(settings)
    if left:
        places = (place,) if isinstance(place, Origin) else tuple(place.origin(*path) for path in left)
        names = tuple(".".join(path) for path in left)
        reader.facts[UNFILLED] = Fact(UNFILLED, names, places[0], places if len(places) == len(names) else ())


_FUSED = frozenset(("adam", "adamw", "onebitadam", "zerooneadam"))


def makes_fused_adam(optimizer: object) -> bool:
    """Whether deepspeed makes its fused Adam of this setting, as it does without offload: deepspeed/runtime/engine.py.

    Other types (Lamb), torch's Adam and the legacy fusion are stepped by other code.
    """
    if not isinstance(optimizer, dict) or str(optimizer.get("type")).lower() not in _FUSED or optimizer.get("legacy_fusion"):
        return False
    inner = optimizer.get("params")
    return not (isinstance(inner, dict) and inner.get("torch_adam"))


def offload_word(optimizer: bool, parameters: bool) -> str:
    return "both" if optimizer and parameters else "optimizer" if optimizer else "parameters" if parameters else "none"


def offloads(setting: object) -> bool:
    return isinstance(setting, dict) and setting.get("device", "cpu") not in ("none", None)


def _recognises(_: Table, keys: frozenset[str]) -> bool:
    return "zero_optimization" in keys or "train_micro_batch_size_per_gpu" in keys


def _read(reader: Reader, table: Table) -> None:
    """A DeepSpeed configuration by itself; what it leaves to the trainer (``auto``) stays unknown."""
    reader.say("plan.deepspeed", True)
    read_stage(reader, table, reader.origin("zero_optimization", "stage"))
    _say_unfilled(reader, table, reader)
    for key, fact in (("fp16", "plan.fp16"), ("bf16", "plan.bf16")):
        settings = table.get(key)
        if isinstance(settings, dict) and isinstance(settings.get("enabled"), bool):
            reader.say(fact, settings["enabled"], key, "enabled")
    reader.say_settings(table, SETTINGS, but="auto")


DEEPSPEED = Dialect("DeepSpeed", _recognises, _read)

# ``--deepspeed zero2`` of ms-swift and the files of the same names that other tools bring along.
PRESETS = {
    "zero0": ("ddp", "none"),
    "zero1": ("zero1", "none"),
    "zero2": ("zero2", "none"),
    "zero3": ("zero3", "none"),
    "zero2-offload": ("zero2", "optimizer"),
    "zero3-offload": ("zero3", "both"),
    "default-zero2": ("zero2", "none"),
    "default-zero3": ("zero3", "none"),
}
