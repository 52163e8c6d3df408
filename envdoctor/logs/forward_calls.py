"""Calls of ``forward``, which every module has: what the models of transformers say of an argument that one of them does not take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import shorten

from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read
from envdoctor.checks.hit import Hit
from envdoctor.logs.fitting import ARGUMENT, Fitting
from envdoctor.logs.statements import MissingArguments, RefusedKeyword
from envdoctor.logs.tracebacks import Failure

# An argument with a shorter name is anybody's.
_TELLING_ARGUMENT = 5
_TRAINER = ("transformers.trainer", "Trainer")
# The models whose attention and embeddings people replace most, where no frame names another one.
_PATCHED = tuple(f"transformers.models.{name}.modeling_{name}" for name in ("llama", "mistral", "qwen2"))


def fit_forward(statement: RefusedKeyword | MissingArguments, failure: Failure) -> Fitting | None:
    """A ``forward`` that transformers calls, or that a copy of its code calls: what most classes of the module say of the argument."""
    if statement.function.rpartition(".")[2] != "forward" or (failure.packages and "transformers" not in failure.packages):
        return None
    bound = open_package("transformers")
    if bound is None:
        return None
    names = [frame.module for frame in failure.frames if frame.module.startswith("transformers.models.")] or _PATCHED
    votes: dict[tuple[int, int], list[str]] = {}
    for module in dict.fromkeys(names):
        chunk = bound.volume.chunk(module)
        for name, sheet in () if chunk is None else chunk.classes.items():
            good, bad = _of_forward(statement, sheet.methods.get("forward", {}))
            if good and bad:
                votes.setdefault((good, bad), []).append(f"{module}:{name}")
    owner = statement.function.rpartition(".")[0].rpartition(".")[2]
    asked = (statement.keyword,) if isinstance(statement, RefusedKeyword) else statement.names
    if names is _PATCHED and not owner and not any("_" in one for one in asked):
        votes = {}  # any module of anybody's has an x
    if owner and names is _PATCHED and not any(owner.endswith(_kind(one)) for found in votes.values() for one in found):
        votes = {}  # a class by its name that is of another kind than theirs: a Block is no LlamaAttention
    if not votes:
        return _handed_on(statement, bound) if isinstance(statement, RefusedKeyword) else None
    (good, bad), classes = max(votes.items(), key=lambda item: (len(item[1]), item[0][1].bit_length()))
    which = classes[0].rpartition(":")[2]
    passes = "takes" if isinstance(statement, RefusedKeyword) else "needs"
    words = statement.keyword if isinstance(statement, RefusedKeyword) else ", ".join(statement.names)
    written = "a patch, a copy or a model's own code was written for the others"
    told = f"forward() of {which} {passes} {words} in transformers {write(bad, bound.volume.releases)}: {written}"
    return Fitting(f"{classes[0]}.forward", bound, good, bad, told)


def _kind(symbol: str) -> str:
    """What kind of module a class is, by its last word: ``Attention`` of ``LlamaAttention``."""
    return re.split(r"(?<=[a-z0-9])(?=[A-Z])", symbol.rpartition(":")[2])[-1]


def _handed_on(statement: RefusedKeyword, bound: Bound) -> Fitting | None:
    """A keyword that transformers' Trainer took for itself in no release before some, and hands on to the model since."""
    module, cls = _TRAINER
    chunk = bound.volume.chunk(module)
    sheet = None if chunk is None else chunk.classes.get(cls)
    passed = 0
    for signatures in () if sheet is None or len(statement.keyword) < _TELLING_ARGUMENT else sheet.methods.values():
        for text, mask in signatures.items():
            told = read(text)
            passed |= mask if told is not None and statement.keyword in (*told.positional, *told.keywords) else 0
    rest = bound.volume.all & ~passed
    if not passed or not rest or rest > passed:
        return None
    told_in = write(passed, bound.volume.releases)
    words = (
        f"forward() of this model does not take {statement.keyword}, which the Trainer of transformers {told_in} hands on to models: the "
        "model's code is older, or wraps one that takes it (give its forward **kwargs, or that argument)"
    )
    return Fitting(f"{module}:{cls}.forward", bound, rest, passed, words)


def judge_forward(statement: RefusedKeyword | MissingArguments, failure: Failure) -> Hit | None:
    """An argument that models of transformers take in their ``forward``, and that the model which ran does not, or needs."""
    words = (statement.keyword,) if isinstance(statement, RefusedKeyword) else statement.names
    bound = open_package("transformers")
    elsewhere = bool(failure.packages) and "transformers" not in failure.packages
    if bound is None or statement.function.rpartition(".")[2] != "forward" or elsewhere:
        return None
    pattern = re.compile(rf"(?m)^ m forward (?:\S*,)?{re.escape(words[0])}=?(?:[,\t]|$)")
    known = [module for module, text in bound.modules(words[0]) if module.startswith("transformers.models.") and pattern.search(text)]
    if not known or len(words[0]) < _TELLING_ARGUMENT:
        return None
    some = ", ".join(dict.fromkeys(module.split(".")[2] for module in known[:40]))
    refuses = isinstance(statement, RefusedKeyword)
    ran, whose = ("does not take it", "who calls it") if refuses else ("was called without it", "it")
    detail = (
        f"{words[0]} is an argument of models of transformers ({shorten(some, 60, placeholder='...')}), and the forward() that ran {ran}: "
        f"{whose} was written for another release of transformers, or for another model"
    )
    return Hit(ARGUMENT, None, (), detail=detail, packages=("transformers",), edge=f"code:forward({words[0]})")


def _of_forward(statement: RefusedKeyword | MissingArguments, signatures: Mapping[str, int]) -> tuple[int, int]:
    good = bad = 0
    for text, mask in signatures.items():
        told = read(text)
        if told is None:
            continue
        if isinstance(statement, RefusedKeyword):
            fits = statement.keyword not in (*told.positional, *told.keywords)
        else:
            fits = not set(statement.names) <= told.required
        good, bad = (good | mask, bad) if fits else (good, bad | mask)
    return good, bad
