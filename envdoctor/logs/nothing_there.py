"""None where an object was expected: which name of the line it is, and what gives None in such a place.

https://github.com/Facico/Chinese-Vicuna/issues/144, https://github.com/open-edge-platform/anomalib/issues/219
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import OWN, is_of_a_package
from envdoctor.logs.plain_kinds import OF_DICT, OF_MODEL, OF_TENSOR, OF_TEXT, OF_TOKENIZER
from envdoctor.logs.plain_objects import asked_of, shown_line
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of

OF_INPUT = "error-of-what-was-given"
_IMAGE = frozenset(("shape", "copy", "astype", "resize", "convert", "ndim", "crop", "width", "height"))
_MATCH = frozenset(("group", "groups", "start", "span", "groupdict"))
_SETTINGS = re.compile(r"(?:^|[._])(?:cfg|config|configs|conf|args|opt|opts|options|hparams|settings|params|hyp)(?:\.|$|\[)")
_DOTTED = r"(?<![\w.)\]])([A-Za-z_][\w.]{0,60})"
_PART = r"(?<![\w.)\]])([A-Za-z_][\w.]{0,60}(?:\[[\w'\"-]{1,40}\])?)"
_LISTED = rf"\bin (?:enumerate\(|zip\(|tqdm\()?{_DOTTED}(?=\s*(?:$|:|\)|\]|,))"
_USES = (
    ("not subscriptable", rf"{_DOTTED}\["),
    ("'NoneType' object is not callable", rf"{_DOTTED}\("),
    ("argument of type 'NoneType' is not iterable", rf"\bin {_PART}(?=\s*(?:$|:|\)|\]|and\b|or\b|else\b))"),
    ("object of type 'NoneType' has no len()", rf"\blen\({_PART}\)"),
    ("'NoneType' object is not iterable", _LISTED),
)
_CALLED = re.compile(r"(?:^[\w.,\[\] ]+,[\w.,\[\] ]+= ?|\bfor [\w., ()]+ in )(?P<what>[A-Za-z_][\w.]{0,60})\(")
# The code that comes with a model's files.
_OF_MODELS = "transformers_modules"
_READER = re.compile(r"(?:^|[._])(?P<what>tokenizer|processor|image_processor|feature_extractor)$")
# transformers/tokenization_utils_base.py and processing_utils.py; Trainer._save (4.57.6) writes them where it has a processing_class.
_FILES = {
    "AutoTokenizer": "tokenizer.json and no tokenizer.model or vocab files",
    "AutoProcessor": "preprocessor_config.json or processor_config.json",
}
_UNPACK = re.compile(r"cannot unpack non-iterable NoneType")
_WORDS = frozenset(
    ("print", "len", "range", "enumerate", "zip", "tqdm", "isinstance", "str", "int", "list", "dict", "super", "if", "for", "in", "map")
)
_LOSS = re.compile(r"(?:^|[._])loss(?:es)?$")
_COMMAND = re.compile(r"(?:^|[._])(?:args|opt|opts|options)\.")
_GRADIENT = re.compile(r"\.grad$")


def judge_none(failure: Failure) -> Hit | None:
    """What a line of the project's own does with None that is no attribute of it: an index, a loop, a call, two names for what came back.

    https://github.com/hiyouga/ChatGLM-Efficient-Tuning/issues/147
    """
    frame = failure.frames[-1] if failure.frames else None
    if frame is None:
        return _unpacked_bare() if _UNPACK.search(failure.message) else None
    it = none_in_line(failure.message, frame.text)
    if not it or (is_of_a_package(frame) and frame.package != _OF_MODELS):
        return None
    returned = it.endswith("()")
    behind, advice = _where_from(it, "") or (
        (
            "the function has no return, or a branch of it ends without one",
            "look how {it} ends: every branch has to return what is taken here",
        )
        if returned
        else ("it was not given, not found, or its maker returned nothing", "follow {it} back to where it is made, and print it there")
    )
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`; {behind}",
        edge=f"nothing:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{it} returned None" if returned else f"{it} is None",
        advice=advice.format_map({"it": it}),
    )


def none_in_line(message: str, text: str) -> str:
    """The one name in a line of code that is None by the message; with () where it is what a function returned; else empty."""
    used = next((use for says, use in _USES if says in message), "")
    found = dict.fromkeys(one for one in re.findall(used, text) if one not in _WORDS) if used else {}
    if len(found) == 1:
        return str(next(iter(found)))
    called = _CALLED.search(text) if not found and "iterable" in message and "argument of" not in message else None
    return f"{called['what']}()" if called is not None and called["what"] not in _WORDS else ""


def _unpacked_bare() -> Hit:
    return Hit(
        OF_INPUT,
        None,
        detail="a function that gives several values returned None: a branch of it ends without return, or it failed and said so above",
        edge="code:None:unpacked",
        headline="There is None where several values are taken apart",
        advice="read the lines above the traceback (a file that was not found, an exception that was caught), "
        "and look how that function ends",
    )


def judge_nothing(one: MissingMember, failure: Failure) -> Hit | None:
    """The name in the project's own line that is None, or what a bare message shows of it; None for a line of a package."""
    frame = shown_line(failure)
    if frame is None:
        return _bare(one.name) if not failure.frames else None
    if is_of_a_package(frame) and frame.package != _OF_MODELS:
        return None
    it = asked_of(one.name, frame)
    told = _where_from(it, one.name)
    if not it or told is None:
        return None
    behind, advice = told
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)} asks it for {one.name}: `{frame.text[:120]}`; {behind}",
        edge=f"nothing:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{it} returned None" if it.endswith("()") else f"{it} is None",
        advice=advice.format_map({"it": it}),
    )


def passed_by(failure: Failure, inner: Frame) -> Frame | None:
    """The project's own line that called the function of a frame, where it is the one before it."""
    place = max((at for at, one in enumerate(failure.frames) if one is inner), default=0)
    before = failure.frames[place - 1] if place else None
    return before if before is not None and before.text and not is_of_a_package(before) and f"{inner.function}(" in before.text else None


def _where_from(it: str, name: str) -> tuple[str, str] | None:
    """Why such a name is None, and what to do: by what it is called, then by what it is asked for."""
    if (reader := _READER.search(it)) is not None:
        loader = "AutoTokenizer" if reader["what"] == "tokenizer" else "AutoProcessor"
        return (
            f"no {reader['what']} was loaded or passed: a model that was made by another way than its own demo (an adapter, another "
            f"class), or a "
            "path whose name tells the loader that it is of another kind; loaders of before transformers gave None for a folder without "
            "vocab.txt",
            f"{{it}} = {loader}.from_pretrained(FOLDER_OF_THE_MODEL, trust_remote_code=True) before that call: it says so "
            f"where the folder has "
            f"no {_FILES[loader]} (a checkpoint has these only where the Trainer was given processing_class; else take those of "
            "the base model); or the loader and the name of the folder that the project's page has",
        )
    if _SETTINGS.search(it):
        key = it.rpartition(".")[2]
        below = f", and the code reads {name} below it" if name else ""
        how = f"--{key} on the command line, or {it} in" if _COMMAND.search(it) else f"write {it} into"
        return (
            f"the settings have nothing (null, an empty table, or no such key or option) under {key}{below}",
            f"{how} the configuration as the project's example of the same state has it",
        )
    if _GRADIENT.search(it):
        return (
            "a weight that took no part in the loss, is frozen, or was not yet trained has no gradient",
            "leave out the weights whose grad is None: for p in parameters if p.grad is not None",
        )
    if _LOSS.search(it) or name == "backward":
        return (
            "a model gives no loss where the batch has no labels",
            "put labels into the batch (a column called labels), or compute the loss from the logits",
        )
    if name in OF_TOKENIZER:
        return (
            "no tokenizer or processor was passed, or the folder has no files of one",
            "ls FOLDER shows whether it has tokenizer.json or tokenizer.model with tokenizer_config.json (a processor: "
            "preprocessor_config.json); load it (AutoTokenizer.from_pretrained, AutoProcessor for a processor) and pass it by its name",
        )
    if name in OF_MODEL:
        return (
            "no model was made: a function that changes a model where it stands returns None (set_peft_model_state_dict, eval() of one's "
            "own), "
            "or a branch of the code that makes it was not taken",
            "f(model) in place of {it} = f(model) for what returns nothing; else look at the line that makes {it}: which branch ran, and "
            "whether its function has a return",
        )
    return _by_attribute(name)


def _by_attribute(name: str) -> tuple[str, str] | None:
    if name in _IMAGE:
        return (
            "cv2.imread gives None, and no error, for a file that is not there or that it cannot read; a column of images may have empty "
            "rows",
            "print the path there and look whether it is there and whole; leave out rows without an image",
        )
    if name in _MATCH:
        return (
            "a regular expression found nothing (re.match and re.search give None then)",
            "print the text that was searched: a name, a path or an output of another form than the pattern expects",
        )
    if name in OF_TEXT:
        return "a text is missing: a setting, a variable of the environment, an empty field of a row", "fill it, or leave out such rows"
    if name in OF_DICT:
        return (
            "a table of settings, a row or an answer is missing (an empty YAML file is None too)",
            "look at the file that it comes from, and at the key it is read by",
        )
    if name in OF_TENSOR:
        return (
            "a tensor was not given or not made: an input that the model needs, an output that was not asked for, a frozen weight's grad",
            "print it at the line that makes it; inputs by their names, and outputs asked for (output_hidden_states=True and the like)",
        )
    return None


def _bare(name: str) -> Hit | None:
    told = _where_from("", name)
    if told is None:
        return None
    behind, advice = told
    return Hit(
        OF_INPUT,
        None,
        detail=f"{behind}; the line above the error, which is not here, tells whose",
        edge=f"code:None.{name}",
        headline=f"There is None where the code asks for .{name}",
        advice=advice.format_map({"it": "x"}),
    )
