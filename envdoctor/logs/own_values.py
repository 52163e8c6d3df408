"""What Python says of a value and not of a release: a key that is not there, an assertion without words, an object in place of a text, an
attribute that cannot be set. The line of code that a traceback shows tells what was asked of it.
"""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.logs.lacking_settings import judge_item
from envdoctor.logs.named_values import judge_named_value
from envdoctor.logs.nothing_there import judge_none, judge_nothing, none_in_line
from envdoctor.logs.other_states import RAISED
from envdoctor.logs.own_code import OWN, innermost_own, is_of_a_package, package_in
from envdoctor.logs.plain_objects import judge_plain
from envdoctor.logs.statements import MissingMember, Statement
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of
from envdoctor.world.import_names import package_of

_KEY = re.compile(r"^['\"](?P<name>[^'\"]{1,80})['\"]$")
# How people call what a row of data is in, and what a file of weights or of settings is in.
_ROWS = re.compile(
    r"(?:^|_)(?:sample|example|row|item|record|entry|line|data|batch|conv|conversation|turn|message|source|instance|ann)s?\d?$"
)
_WEIGHTS = re.compile(r"(?:^|_)(?:state_dict|state|ckpt|checkpoint|weights?|params?|pretrained\w{0,10}|loaded\w{0,10})s?$")
_SETTINGS = re.compile(r"(?:^|_)(?:cfg|config|configs|conf|args|opt|opts|options|hparams|settings|kwargs)$")
# Methods that a text has and hardly anything else.
_OF_TEXT = frozenset(
    ("lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "splitlines", "casefold", "isdigit", "title")
)
_ASSERT = re.compile(r"^assert\b\s{0,3}\(?(?P<that>.{3,160}?)\)?(?:\\|,\s*\(?f?['\"].*)?$")
_SETTER = re.compile(
    r"^can'?t set attribute(?: ['\"](?P<name>\w{2,60})['\"])?$|^property ['\"](?P<set>\w{2,60})['\"] of ['\"](?P<cls>\w{2,80})['\"] "
    r"object has no setter$"
)
# What projects derive their own classes from.
_BASES = {
    "pytorch-lightning": "pytorch_lightning:LightningModule",
    "transformers": "transformers.modeling_utils:PreTrainedModel",
    "torch": "torch.nn.modules.module:Module",
}
_NOTHING = re.compile(
    r"^(?:'NoneType' object is not (?:subscriptable|iterable|callable)|cannot unpack non-iterable NoneType object"
    r"|argument of type 'NoneType' is not iterable|object of type 'NoneType' has no len\(\))"
)
_HANDS_ON = frozenset(("torch", "accelerate", "transformers_modules"))
# What an assertion asks for, what it means that it does not hold, and what to do.
_CONDITIONS = (
    (
        r"isnan|isfinite|isinf|not_nan",
        "a value is no number (NaN or infinite)",
        "bfloat16 or float32 in place of float16; where weights are loaded or quantized, look whether the file itself has NaN in it",
    ),
    (
        r"cuda\.is_available|device_count|\.is_cuda\b|get_device_capability",
        "no GPU is seen, or too few, or the tensor is not on one",
        "python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available(), torch.cuda.device_count())' there",
    ),
    (
        r"path\.(?:exists|isfile|isdir)|\.(?:exists|is_file|is_dir)\(\)",
        "a file or a folder is not where it is looked for",
        "the whole path of what is there, or fetch it first",
    ),
    (
        r"^len\([\w.\[\]]{1,60}\)\s?(?:>=?|!=)\s?\d",
        "a list is empty, or shorter than that: no row or no file was found",
        "look at the step that fills it: the folder, the list of the data, a preparation that was left out or failed",
    ),
    (
        r"^['\"][\w.-]{1,60}['\"] in ",
        "what it looks for is not among what was found or loaded: its files are not there, or lie a folder too deep",
        "list the folder that it loads from, and bring the files to where it expects them",
    ),
    (
        r"\.(?:shape|size\(\))\s?==\s?\w+\.(?:shape|size\(\))",
        "a tensor has another shape than the place it is put into: weights of another model, quantized or fused otherwise, or a "
        "split over GPUs",
        "the checkpoint and the configuration that belong together; a form of quantization that this release loads for this model",
    ),
    (r"__version__|parse_version|[Vv]ersion\(", "a release is another one than the code wants", "the release that the line names"),
    (
        r"% \w|%\s*self\.|divisible",
        "one size is no multiple of another",
        "make the sizes that the line names divide each other: batch, heads, processes or lengths",
    ),
)

# Whoever makes a batch of rows, and the Trainer, whose frames or call show that it is its loop.
# What is made of rows on the way to the model.
_PREPARED = re.compile(
    r"^(?:(?:prompt|chosen|rejected|completion|query|response)_(?:input_ids|attention_mask|labels|logps|logits)"
    r"|(?:input_ids|attention_mask)_(?:chosen|rejected|[jk])|(?:reference|ref)_\w{3,12}_logps|decoder_input_ids|labels_attention_mask)$"
)
_COLLATES = re.compile(r"collat", re.IGNORECASE)
_DROPS = re.compile(r"transformers[\\/]trainer|\btrainer\.train\(|Trainer\b")


def judge_value(statement: Statement | None, failure: Failure) -> Hit | None:
    """What the line that failed says of its own values; None where it shows nothing."""
    if failure.kind == "KeyError":
        return _key(failure)
    if failure.kind == "AssertionError" and not failure.message.strip():
        return _assertion(failure)
    if failure.kind == "TypeError" and _NOTHING.match(failure.message):
        return _nothing(failure)
    if failure.kind == "AttributeError" and (told := _SETTER.match(failure.message.strip())) is not None:
        return _setter(told, failure)
    if isinstance(statement, MissingMember) and statement.name in _OF_TEXT and statement.cls not in ("str", "NoneType", "module"):
        return _no_text(statement, failure)
    if (hit := judge_named_value(statement, failure) or judge_item(failure)) is not None or not isinstance(statement, MissingMember):
        return hit
    return judge_nothing(statement, failure) if statement.cls == "NoneType" else judge_plain(statement, failure)


def _inner(failure: Failure) -> Frame | None:
    return failure.frames[-1] if failure.frames else None


def _shown_own(failure: Failure) -> Frame | None:
    """The innermost frame of the project whose line is shown."""
    return next((one for one in reversed(failure.frames) if not is_of_a_package(one) and one.text), None)


def _key(failure: Failure) -> Hit | None:
    """A key that a line of the project's own asks a dictionary for: by what the dictionary is called."""
    told, frame = _KEY.match(failure.message.strip()), innermost_own(failure)
    if told is not None and frame is None:
        return _key_of_a_configuration(told["name"], failure)
    if told is None or frame is None or not frame.text:
        return None
    name = told["name"]
    holder = re.search(rf"(?P<what>[A-Za-z_]\w*)(?:\.\w+)?(?:\[[^\]]{{1,40}}\]){{0,2}}\[['\"]{re.escape(name)}['\"]\]", frame.text)
    if holder is None:
        return None
    what = holder["what"]
    if what in ("self", "os") and (member := re.search(rf"{what}\.(\w+)\[", frame.text)) is not None:
        what = member[1]
    line, sure = f"{place_of(frame)}: `{frame.text[:120]}`", True if what != "self" else None
    if what == "environ":
        headline, advice = f"The environment has no variable {name}", f"export {name}=... before the program starts"
    elif _COLLATES.search(f"{frame.function} {frame.path}") and _DROPS.search(
        "\n".join(f"{one.path} {one.text}" for one in failure.frames)
    ):
        # https://github.com/mymusise/ChatGLM-Tuning/issues/258, https://github.com/huggingface/transformers/issues/19802
        headline = f"The rows that reach the collator have no {name}: the Trainer leaves out columns that the model's forward does not take"
        advice = f"remove_unused_columns=False in TrainingArguments; where {name} is missing in the data itself, it is added there"
    elif _WEIGHTS.search(what):
        headline = f"The file that is loaded has no {name}"
        advice = (
            f"print the keys of {what} there: it is a file of another kind (weights alone, an adapter, another training code's), or of "
            "another model"
        )
    elif _SETTINGS.search(what):
        headline = f"The settings have no {name}"
        advice = f"add {name} to them, or take the settings and the code of one state of the project"
    elif _PREPARED.search(name):
        sure = None
        headline = f"{what} has no {name}, which no file has: a tokenizer, a collator or a trainer makes it"
        advice = (
            "the release of the trainer (trl) and of the tokenizer that this code was written for: its name changes with them; else "
            "remove_unused_columns=False, and rows that were tokenized before"
        )
    elif _ROWS.search(what) or re.search(r"dataset|data_utils|collat|preprocess", frame.path):
        headline = f"A row of the data has no field {name}"
        advice = (
            f"look at the first row of the file: rename its field to {name}, or bring the rows into the form that the project describes"
        )
        if _COLLATES.search(f"{frame.function} {frame.path}"):
            advice += "; where transformers' Trainer calls that collator, remove_unused_columns=False keeps what the model does not take"
    else:
        sure = None
        headline, advice = f"{what} has no {name}", f"print its keys there: {name} is called otherwise in what it was made from, or missing"
    # What a file or a row holds is certain from the line; which of both has to change is not.
    return Hit(OWN, sure, detail=line, edge=f"key:{name}:{frame.path[-60:]}:{frame.line}"[:160], headline=headline, advice=advice)


def _key_of_a_configuration(name: str, failure: Failure) -> Hit | None:
    """A key that a package asks the configuration of a model for. https://github.com/Blaizzy/mlx-vlm/issues/213"""
    frame = _inner(failure)
    package = package_in(frame) if frame is not None else ""
    if frame is None or not package or frame.package in _HANDS_ON:
        return None
    if re.search(rf"\b(?:\w*config|cfg|hparams)(?:\.\w+)?\[['\"]{re.escape(name)}['\"]\]", frame.text) is None:
        return None
    return Hit(
        RAISED,
        None,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`; models of one family call the same thing otherwise from one "
        "generation to the next",
        packages=named(package),
        edge=f"key:{package}:{name}"[:160],
        headline=f"The configuration has no {name}, and {package} reads it there",
        advice=f"the newest {package}, where the model is newer than the one that runs; else the configuration of this kind of model",
    )


def _assertion(failure: Failure) -> Hit | None:
    """A condition that did not hold, where nobody wrote a word to it but the condition itself."""
    frame = _inner(failure)
    told = _ASSERT.match(frame.text) if frame is not None else None
    if frame is None or told is None:
        return None
    that = told["that"].partition("  #")[0].strip()
    means, advice = next(((means, advice) for words, means, advice in _CONDITIONS if re.search(words, that)), ("", ""))
    package = package_in(frame)
    owner = f"in {package}, " if package else "in the project's own code, "
    detail = f"{owner}{place_of(frame)}{f': {means}' if means else ''}"
    return Hit(
        RAISED,
        True if means else None,
        detail=detail,
        packages=named(package),
        edge=f"assert:{package}:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"A condition does not hold: {that}",
        advice=advice or f"print both sides of it there; what they are comes from the frames above {place_of(frame)}",
    )


def _nothing(failure: Failure) -> Hit | None:
    """None in a line of a package: a file that was not found, an argument that was left out, or a fault of the release.

    https://github.com/MouseLand/cellpose/issues/940
    """
    frame = _inner(failure)
    if frame is None or not frame.text or not is_of_a_package(frame) or frame.package in _HANDS_ON:
        return judge_none(failure)
    package, it = package_of(frame.package), none_in_line(failure.message, frame.text)
    own = _shown_own(failure)
    ours = f"; it was called from the project's own {place_of(own)}: `{own.text[:100]}`" if own is not None else ""
    return Hit(
        RAISED,
        None,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`{ours}",
        packages=named(package),
        edge=f"nothing:{package}:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{it} {'returned' if it.endswith('()') else 'is'} None in {package}'s {frame.function}"
        if it
        else f"{package} got nothing (None) where it works on a value",
        advice="an argument or a setting that was left out, a file that was not found or is empty, or a fault of this release: the next "
        "one, or the one before",
    )


def _no_text(one: MissingMember, failure: Failure) -> Hit | None:
    """An object where a text is wanted: a name, a path, a line of the data."""
    frame = next((one for one in reversed(failure.frames) if one.text), None)
    if frame is None:
        return None
    own = _shown_own(failure)
    passes = f"; the project's own {place_of(own)} is on the way: `{own.text[:120]}`" if own is not None and own is not frame else ""
    package = package_in(frame)
    empty = one.cls == "float"
    advice = (
        "an empty cell is read as NaN: fillna('') or leave such rows out, and astype(str)"
        if empty
        else f"pass the name, the path or the text itself, and not the {one.cls}"
    )
    return Hit(
        RAISED,
        None,
        detail=f"{place_of(frame)} calls .{one.name}() on it, as one does with a text{passes}",
        packages=named(package),
        edge=f"text:{package}:{one.cls}.{one.name}",
        headline=f"An object of class {one.cls} is given where a text is wanted",
        advice=advice,
    )


def _setter(told: re.Match[str], failure: Failure) -> Hit | None:
    """An attribute that a class above has as a property: it can be read and not set."""
    frames = [one for one in failure.frames if one.function != "__setattr__"]
    frame = frames[-1] if frames else None
    name = told["name"] or told["set"] or ""
    written = re.search(r"\b(?:self|\w+)\.(\w{2,60})\s?=(?!=)", frame.text) if frame is not None else None
    name = name or (written[1] if written is not None else "")
    if not name or frame is None:
        return None
    owners = [package for package in _BASES if _has_property(package, name)]
    package = owners[0] if len(owners) == 1 else ""
    whose = f"a class of {package}" if package else "the class that it derives from"
    advice = (
        "self.save_hyperparameters(hparams) in place of it, which fills self.hparams"
        if name == "hparams"
        else f"call it otherwise there; or the release of {package or 'that package'} that the project was written for"
    )
    where = f" ({place_of(frame)}: `{frame.text[:100]}`)" if frame.text else ""
    return Hit(
        OWN,
        None,
        detail=f"{whose} has {name} as a property without a setter, since some release, and the code assigns to it{where}",
        packages=named(package),
        edge=f"setter:{package}:{name}",
        headline=f"{name} can be read and not set",
        advice=advice,
    )


def _has_property(package: str, name: str) -> bool:
    """Whether a class of a package that most people derive from has an attribute of this name."""
    told = look_up(f"{_BASES[package]}.{name}") if open_package(package) is not None else None
    return told is not None and bool(told.there)
