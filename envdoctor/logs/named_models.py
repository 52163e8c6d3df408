"""Classes and types of models that the installed transformers does not have, and GPUs that torch has no code for: which releases do."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import neighbours, places
from envdoctor.checks.hardware import torch_for_gpu
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.statements import UnknownModelType, parse_model_type
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.architectures import Spans, lacks, span_of, tokenizer_spans

TOKENIZER, MODEL_TYPE, GPU = (
    "tokenizer-class-unknown-to-transformers",
    "model-type-unknown-to-transformers",
    "torch-wheel-lacks-gpu-kernels",
)

# Where an engine has a module for each type of models.
_ENGINES = {"vllm": "vllm.model_executor.models", "sglang": "sglang.srt.models"}
# A class that a release or two lack for another reason is no fast one alone.
_SOME = 5
_TOKENIZER = re.compile(r"Tokenizer class (?P<name>[A-Za-z]\w{2,80}) does not exist or is not currently imported")
_GPU = re.compile(r"(?P<gpu>[\w .()-]{3,80}?) with CUDA capability sm_(?P<sm>\d{2,3}) is not compatible with the current PyTorch")


def judge_model(failure: Failure, facts: Facts) -> Hit | None:
    """The releases of transformers that know a tokenizer's class or a model's type."""
    found = _TOKENIZER.search(failure.message)
    if found is not None:
        name = found["name"]
        return _known(TOKENIZER, f"the tokenizer class {name}", name, tokenizer_spans(name), facts)
    kind = parse_model_type(failure)
    if isinstance(kind, UnknownModelType):
        if (engine := _of_engine(kind.name, facts)) is not None:
            return engine
        return _known(MODEL_TYPE, f"the model type {kind.name}", kind.name, span_of(kind.name), facts)
    return None


def _known(rule: str, what: str, name: str, spans: Spans | None, facts: Facts) -> Hit | None:
    stated = facts.value("packages.transformers")
    if not spans:
        if rule != TOKENIZER:
            return _of_no_release(rule, name)
        detail = f"no release of transformers has {what}: it is code that comes with the model: trust_remote_code=True, with its .py files"
        advice = (
            "AutoTokenizer.from_pretrained(MODEL, trust_remote_code=True), with the model's own .py files beside its tokenizer_config.json"
        )
        return Hit(rule, True, (), detail=detail, packages=("transformers",), edge=name, advice=advice)
    if rule == TOKENIZER and _is_fast_alone(name, stated):
        detail = (
            f"releases of transformers have {name}Fast and no {name}: the slow one was asked for, by use_fast=False or by a class that does"
        )
        advice = f"AutoTokenizer.from_pretrained(MODEL, use_fast=True), or {name}Fast; in a web UI or a script the option that turns it on"
        return Hit(rule, True, (), detail=detail, packages=("transformers",), edge=f"{name}:fast", advice=advice)
    ranges = [span.specifier() for span in spans]
    known = " or ".join(ranges)
    if not isinstance(stated, Exact):
        detail = f"transformers knows {what} in {known}: an older release ran"
        return Hit(
            rule, True, (), detail=detail, packages=("transformers",), pins=tuple(("transformers", one) for one in ranges), edge=name
        )
    if lacks(spans, stated) is False:
        detail = f"transformers {stated} is stated, and knows {what} ({known}): an older one ran, in another environment or not restarted"
        advice = (
            f"start Python (a notebook's kernel) anew where transformers {stated} is installed; transformers.__version__ says which runs"
        )
        return Hit(rule, True, (), detail=detail, packages=("transformers",), edge=f"{name}:elsewhere", advice=advice)
    return None


def _is_fast_alone(name: str, stated: object) -> bool:
    """Whether releases have a tokenizer by its fast class alone: the stated one, where one is."""
    slow, fast, bound = look_up(f"transformers:{name}"), look_up(f"transformers:{name}Fast"), open_package("transformers")
    if fast is None or bound is None:
        return False
    alone = fast.there & ~(slow.there if slow is not None else 0)
    if isinstance(stated, Exact):
        where = places(bound.volume, stated.text) or neighbours(bound.volume, stated.text)
        return any(alone >> place & 1 for place in where)
    return bin(alone).count("1") > _SOME


def _of_engine(name: str, facts: Facts) -> Hit | None:
    """A stated engine that has models of its own and none of this type until a later release: to move transformers alone cures nothing."""
    for engine, folder in _ENGINES.items():
        stated, told, bound = facts.value(f"packages.{engine}"), look_up(f"{folder}.{name}"), open_package(engine)
        if not isinstance(stated, Exact) or told is None or bound is None or not told.there:
            continue
        first = stretches(told.there)[0][0]
        where = places(bound.volume, stated.text) or neighbours(bound.volume, stated.text)
        if not where or max(where) >= first or not told.gone >> max(where) & 1:
            continue
        since = bound.volume.releases[first]
        detail = (
            f"{engine} {stated.text} has no {name} either ({folder}.{name} is there in {since}): another transformers alone is no cure; "
            f"{engine} requires a transformers for its models"
        )
        over = (f"transformers-lacks-{name.replace('_', '-')}",)
        return Hit(
            MODEL_TYPE, True, (), detail=detail, packages=(engine,), pins=((engine, f">={since}"),), edge=f"{engine}:{name}",
            headline=f"{engine} {stated.text} and its transformers are older than the model type {name}", over=over,
        )  # fmt: skip
    return None


def _of_no_release(rule: str, name: str) -> Hit:
    headline = f"No release of transformers that was read knows the model type {name}"
    detail = (
        "it comes with the model's own files or with the project that trains it, is newer than these releases, or config.json is mistyped"
    )
    advice = "trust_remote_code=True where the model has .py files, else import the package that registers it before the model is loaded"
    return Hit(rule, True, (), detail=detail, packages=("transformers",), edge=name, headline=headline, advice=advice)


def judge_gpu(line: str, facts: Facts) -> Hit | None:
    """The releases of torch with code for a GPU that the installed one has none for; where torch is stated, the check tells it."""
    found = _GPU.search(line)
    if found is None or isinstance(facts.value("packages.torch"), Exact):
        return None
    pins = torch_for_gpu(facts)
    capability = f"{found['sm'][:-1]}.{found['sm'][-1]}"
    detail = f"the torch that ran has no code for {found['gpu'].strip()} (compute capability {capability})"
    return Hit(GPU, True, (), detail=detail, packages=("torch",), pins=pins, edge=capability)
