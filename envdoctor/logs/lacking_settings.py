"""What a line reads that is not there: a key of the settings, an item of a list, an argument of the command line, a method that another
package puts on its own models.

https://github.com/ali-vilab/ACE_plus/issues/17, https://github.com/XueJiang16/NegLabel/issues/2 (settings),
https://github.com/thtang/CheXNet-with-localization/issues/23, https://github.com/IDKiro/action-recognition/issues/3 (lists),
https://github.com/unslothai/unsloth/issues/1877, https://github.com/zjysteven/lmms-finetune/issues/59 (models)
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import OWN, is_of_a_package, package_in
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of

ATTRIBUTE = "error-attribute-missing"
# What libraries of settings call their objects: mmcv and mmengine, easydict, yacs, omegaconf, ml_collections, addict, munch.
_SETTINGS = frozenset(
    ("Config", "ConfigDict", "EasyDict", "AttrDict", "DictConfig", "CfgNode", "CN", "Munch", "DotDict", "Dotdict", "dotdict",
     "SimpleNamespace", "HParams", "Dict", "Struct", "Cfg", "edict", "Configuration", "configuration",
     "config", "Opt", "Args", "FrozenDict")
)  # fmt: skip
_GETTERS = frozenset(("__getattr__", "__getattribute__", "__getitem__", "_get_impl", "_format_and_raise"))
_INDEX = re.compile(r"(?<![\w.)\]])(?P<what>[A-Za-z_][\w.]{0,60})\[(?P<at>-?\d{1,3})\]")
_ARGUMENT = re.compile(r"\bsys\.argv\[(?P<at>\d{1,2})\]")
# unsloth/models/llama.py, vision.py and save.py put these on the models that FastLanguageModel makes.
_OF_UNSLOTH = frozenset(
    ("load_lora", "save_lora", "fast_generate", "for_inference", "for_training", "save_pretrained_merged", "save_pretrained_gguf",
     "push_to_hub_merged", "push_to_hub_gguf")
)  # fmt: skip


def judge_lacking(one: MissingMember, failure: Failure) -> Hit | None:
    """The settings that lack a key, or the model that was not made by the package which gives it the method."""
    if one.name in _OF_UNSLOTH:
        return _of_unsloth(one)
    if one.cls == "ModulesToSaveWrapper":
        return _of_saved(one)
    if one.cls not in _SETTINGS:
        return None
    frames = [frame for frame in failure.frames if frame.text and frame.function not in _GETTERS]
    frame = frames[-1] if frames else None
    if frame is not None and is_of_a_package(frame):
        return None
    asked = re.search(rf"(?P<path>[A-Za-z_][\w.]{{0,80}})\.{re.escape(one.name)}\b", frame.text) if frame is not None else None
    what = asked["path"] if asked is not None else "the settings"
    where = f"{place_of(frame)}: `{frame.text[:120]}`; " if frame is not None else ""
    return Hit(
        OWN,
        True if frame is not None else None,
        detail=f"{where}the file of settings that was loaded has no such key there: it is for another job or of another state of the "
        f"project, "
        "was not given on the command line, or was not found and left empty",
        edge=f"settings:{one.cls}.{one.name}",
        headline=f"{what} has no {one.name}" if asked is not None else f"The settings have no {one.name}",
        advice=f"start it with the configuration that the project's page names for this script (--config, --cfg), and look for "
        f"{one.name} in it",
    )


def _of_unsloth(one: MissingMember) -> Hit:
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"unsloth puts {one.name} on the models that it makes (FastLanguageModel.from_pretrained, "
        f"FastLanguageModel.get_peft_model), and "
        f"this {one.cls} was made by another package, or before unsloth was imported; load_lora, save_lora and fast_generate are there "
        f"with "
        "fast_inference=True alone",
        packages=("unsloth",),
        edge=f"unsloth:{one.cls}.{one.name}",
        headline=f"The model has no {one.name}: it was not made by unsloth",
        advice="import unsloth first and make the model with FastLanguageModel (fast_inference=True for load_lora); a saved adapter is "
        "loaded by "
        "FastLanguageModel.from_pretrained(FOLDER)",
    )


def _of_saved(one: MissingMember) -> Hit:
    return Hit(
        ATTRIBUTE,
        True,
        detail="peft puts a wrapper around each module that modules_to_save names, and the wrapper hands on little more than its "
        "forward: here "
        f"it is one that the model itself asks for {one.name} (the whole language model or tower)",
        packages=("peft",),
        edge=f"peft:{one.cls}.{one.name}",
        headline=f"A module in modules_to_save is asked for {one.name}, which its wrapper does not have",
        advice="name single layers in modules_to_save (lm_head, embed_tokens, a projector), and no module that holds the model; for the "
        "whole of "
        "it set requires_grad on its weights; or a later peft",
    )


def judge_item(failure: Failure) -> Hit | None:
    """The list that has no item at the place that a line of the project's own asks for."""
    if failure.kind != "IndexError" or "list index out of range" not in failure.message or not failure.frames:
        return None
    frame = failure.frames[-1]
    if package_in(frame):
        return None
    if (argument := _ARGUMENT.search(frame.text)) is not None:
        return _of_command(argument["at"], frame)
    found = {(one["what"], one["at"]) for one in _INDEX.finditer(frame.text)}
    if len(found) != 1:
        return None
    ((what, at),) = found
    few = "is empty" if at in ("0", "-1") else f"has no more than {at} items"
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`; mostly what fills it found nothing or less than it counts on: a folder without "
        f"files, a "
        "line with fewer fields, a step of preparation that was left out, or a device that was not seen",
        edge=f"item:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{what} {few}, and its item {at} is read",
        advice=f"print {what} before that line, and look at the line that fills it: the folder and the pattern, the separator of the "
        f"list's fields",
        packages=named(),
    )


def _of_command(at: str, frame: Frame) -> Hit:
    name = re.match(r"\s*(?P<name>\w{2,60})\s?=", frame.text)
    which = f" ({name['name']})" if name is not None else ""
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`",
        edge=f"argument:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"The script was started without its argument {at}{which}",
        advice=f"python {frame.path.replace(chr(92), '/').rpartition('/')[2]} followed by {at} argument{'s' if at != '1' else ''}, as "
        f"its first "
        "lines or the project's page say",
    )
