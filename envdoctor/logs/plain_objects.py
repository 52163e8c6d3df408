"""An attribute that is asked of one of Python's plain objects, of a tensor, an array or the output of a model: what stands there, what the
code takes it for, and how the one is made the other.

The line above the error tells which name it is; where nobody printed it, the two kinds alone tell what happened.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import is_of_a_package, package_in
from envdoctor.logs.plain_kinds import BATCHES, MODEL_OUTPUT, OF_TENSOR, kind_of
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of

OF_INPUT = "error-of-what-was-given"
# https://github.com/ml-explore/mlx-lm/issues/661
_SPECIAL_TOKENS = Hit(
    "error-of-the-run",
    True,
    detail="extra_special_tokens of tokenizer_config.json is a list since transformers 5, and 4 wants a table",
    packages=("transformers",),
    pins=(("transformers", ">=5.0.0"),),
    edge="transformers:extra-special-tokens",
    headline="The tokenizer was saved by transformers 5, and an earlier one reads it",
    advice="transformers 5; or the extra_special_tokens taken out of tokenizer_config.json",
)
# https://github.com/huggingface/transformers/issues/44861, https://github.com/PrimeIntellect-ai/prime-rl/pull/1998
_TIED_WEIGHTS = Hit(
    "error-of-the-run",
    True,
    detail="transformers from 5.0.0 on wants a dictionary of _tied_weights_keys, and the class of the model has the list of before",
    packages=("transformers",),
    pins=(("transformers", "<5"),),
    edge="transformers:tied-weights-keys",
    headline="The model's code was written for transformers 4, and lists its tied weights",
    by_hand='{"lm_head.weight": "model.embed_tokens.weight"} in place of ["lm_head.weight"] in the model\'s class',
)
# What one data set has, and neither several splits nor a table of pandas.
_OF_ROWS = {
    "DatasetDict": ("select", "train_test_split", "features", "to_pandas", "add_column", "shard"),
    "DataFrame": (
        "column_names",
        "features",
        "train_test_split",
        "remove_columns",
        "set_format",
        "with_format",
        "num_rows",
        "select_columns",
    ),
}
_TIED = re.compile(r"tied_weights?_keys")
_GETTER = frozenset(("__getattr__", "__getattribute__", "fetch_attr", "__call__"))


def judge_plain(one: MissingMember, failure: Failure) -> Hit | None:
    """What stands in the place of what the code asks for; None for the objects of a package, and where the two kinds tell nothing."""
    told = kind_of(one.cls, one.name)
    if told is None:
        return None
    frame = shown_line(failure)
    if frame is not None and one.cls == "list" and one.name == "keys" and "special_tokens" in f"{frame.function} {frame.text}":
        return _SPECIAL_TOKENS
    if one.cls == "list" and one.name == "keys" and _TIED.search(f"{frame.function} {frame.text}" if frame is not None else failure.near):
        return _TIED_WEIGHTS
    it = asked_of(one.name, frame) if frame is not None else ""
    package = package_in(frame) if frame is not None else ""
    words = {"it": it or "x", "name": one.name, "cls": one.cls, "a": "an" if one.cls[:1] in "aeiou" else "a"}
    where = f"{place_of(frame)}: `{frame.text[:120]}`" if frame is not None else ""
    own = next((fr for fr in reversed(failure.frames) if fr.text and not is_of_a_package(fr)), None)
    if own is not None and own is not frame:
        where += f", called from the project's own {place_of(own)}: `{own.text[:100]}`"
    headline = told.means.format_map(words)
    return Hit(
        OF_INPUT,
        True if told.sure else None,
        pins=told.pins,
        detail="; ".join(filter(None, (told.behind.format_map(words), where))),
        packages=named(told.package, package),
        edge=f"{package or 'code'}:{one.cls}.{one.name}"[:160],
        headline=f"{it}: {headline}" if it else headline[0].upper() + headline[1:],
        advice=told.advice.format_map(words),
    )


def judge_output(one: MissingMember, failure: Failure) -> Hit | None:
    """The whole output of a model, a batch or a cache where one tensor of it is wanted, rows of another kind where a data set is:
    https://github.com/pytorch/ao/pull/3074, https://github.com/ByteDance-Seed/VeOmni/issues/1007."""
    if one.name in _OF_ROWS.get(one.cls, ()):
        return judge_plain(one, failure)
    if one.name in OF_TENSOR and (MODEL_OUTPUT.search(one.cls) or one.cls in BATCHES or one.cls.endswith("Cache")):
        return judge_plain(one, failure)
    return None


def shown_line(failure: Failure) -> Frame | None:
    """The frame whose line asks for the attribute: not the one in which an object says that it has none."""
    frames = [one for one in failure.frames if one.text and one.function not in _GETTER]
    return frames[-1] if frames and frames[-1] in failure.frames[-3:] else None


def asked_of(name: str, frame: Frame) -> str:
    """What the line asks for the attribute, where it is one name; with () where it is what a function returned."""
    attribute = rf"\.{re.escape(name)}\b"
    found = dict.fromkeys(re.findall(rf"(?<![\w.)\]])([A-Za-z_][\w.]{{0,60}}(?:\[[\w'\"-]{{1,40}}\])?){attribute}", frame.text))
    if not found:
        found = dict.fromkeys(
            f"{one}()" for one in re.findall(rf"(?<![\w.)\]])([A-Za-z_][\w.]{{0,60}})\([^()]{{0,100}}\){attribute}", frame.text)
        )
    return next(iter(found)) if len(found) == 1 else ""
