"""An object that was pickled under one release of its package, and runs under another whose class has a field more."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ATTRIBUTE, Asked
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of

_WAYS = ("__getattr__", "__getattribute__")
# What reads a whole object from a file.
_LOADS = re.compile(r"\b(?:torch|joblib|pickle|dill|cloudpickle)\.loads?\(|\bunpickl|\bload_model\(|\b__setstate__\b|\.pkl\b", re.I)
_MODULE = "torch.nn.modules.module:Module"


def judge_loaded(asked: Asked, failure: Failure, facts: Facts) -> Hit | None:
    """The finding where the file of a class asks an object of that class for what its releases have from one on; None otherwise.

    https://github.com/openai/DALL-E/issues/75: the Upsample of a model that torch 1.10 pickled, under 1.11.
    """
    volume = asked.bound.volume
    module, cls, name = asked.symbol.rsplit(".", 2)
    frame = next((one for one in reversed(failure.frames) if one.function not in _WAYS), None)
    first = stretches(asked.there)[0][0] if asked.there else 0
    if frame is None or not first or not frame.path.replace("\\", "/").endswith(f"/{module.replace('.', '/')}.py"):
        return None
    if volume.name != "torch" and not _was_loaded(failure):
        return _before_its_time(asked, frame, failure)
    stated = facts.value(f"packages.{volume.name}")
    if isinstance(stated, Exact) and not holds(asked.there, places(volume, stated.text)):
        return None
    return Hit(
        asked.family,
        True,
        detail=f"{place_of(frame)} asks an object of its own class {cls} for {name}, which the class has from {volume.releases[first]} on "
        "at the latest: the object was made by an earlier release, and was loaded as a whole from a file",
        packages=(volume.name,),
        pins=((volume.name, f"<={volume.releases[first - 1]}"),),
        edge=f"{volume.name}:{asked.symbol}",
        headline=f"An object of {volume.name} was pickled under an earlier release than the one that runs",
        advice="load the weights alone into a model that is made anew (load_state_dict); or give each loaded object the field, with the "
        f"value that {cls}.__init__ has for it: for m in model.modules(): if type(m).__name__ == '{cls}': m.{name} = ...",
    )


def _was_loaded(failure: Failure) -> bool:
    """Whether the traceback shows that a whole object came from a file; modules of torch are mostly saved so."""
    texts = (failure.near, *(f"{frame.text} {frame.function}" for frame in failure.frames))
    return any(_LOADS.search(text) for text in texts)


def _before_its_time(asked: Asked, frame: Frame, failure: Failure) -> Hit:
    """The file of a class asks its own object for what the class sets later than at its beginning: no release is behind it.

    https://github.com/jxiw/MambaInLlama/issues/2: accelerate's backward, of an engine that only ``prepare`` makes.
    """
    volume = asked.bound.volume
    _, cls, name = asked.symbol.rsplit(".", 2)
    caller = next((one for one in reversed(failure.frames) if one.package != frame.package), None)
    called = f", called from {place_of(caller)}" if caller is not None else ""
    return Hit(
        asked.family,
        True,
        detail=f"{place_of(frame)} asks its own {cls} for {name}{called}: {volume.name} sets it in a step of its own, which this run "
        "left out, took on another object, or takes later",
        packages=(volume.name,),
        edge=f"{volume.name}:{asked.symbol}:unset",
        headline=f"{cls} of {volume.name} was used before {name} was set",
        advice=f"look in {volume.name} for what sets {name} (a prepare, setup or wrapping step), and why it did not run before: a setting "
        "that names another backend than the run has, or objects that were not all handed to one call of it",
    )


# What a method sets that the code has to call, of which classes, in which releases, and how it is called. The queue of gradio before 4,
# whose constructor calls it since (https://github.com/gradio-app/gradio/pull/3640).
_SET_LATER = {
    "_queue": (
        ("Blocks", "Interface", "TabbedInterface", "ChatInterface", "Series", "Parallel"),
        "gradio",
        "<4",
        "queue()",
        "demo.queue() before demo.launch() (or before the app is mounted): a progress bar, a generator and queue=True each need it; or "
        "leave out what needs it (gr.Progress, --no-gradio-queue)",
    ),
}


def judge_set_later(one: MissingMember, facts: Facts) -> Hit | None:
    """What an object gets from a method that was not called: no release is behind it."""
    classes, package, within, method, advice = _SET_LATER.get(one.name, ((), "", "", "", ""))
    stated = facts.value(f"packages.{package}") if package else None
    if one.cls not in classes or (isinstance(stated, Exact) and not admits(within, stated)):
        return None
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"{method} sets {one.name}, in {package}{within}: it was not called, or on another {one.cls} than the one that runs",
        packages=(package,),
        edge=f"{package}:{one.cls}.{one.name}:unset",
        headline=f"{method} of {package}'s {one.cls} was not called",
        advice=advice,
    )


def judge_older_module(one: MissingMember) -> Hit | None:
    """A module of torch that lacks a private name which torch's modules have in every release that was read: it is of an older torch.

    https://github.com/ultralytics/yolov5/issues/58: a checkpoint that holds the modules themselves.
    """
    bound = owner_of(_MODULE)
    if bound is None or not one.name.startswith("_") or one.name.startswith("__"):
        return None
    volume = bound.volume
    told = look_up(f"{_MODULE}.{one.name}")
    if told is None or told.there != volume.all or not volume.provides("torch.nn", one.cls).there:
        return None
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"every module of torch has {one.name} (in {volume.releases[0]} already, the oldest release that was read): the file holds "
        f"the {one.cls} itself, and was written under an older torch, or its __init__ was not run",
        packages=("torch",),
        edge=f"torch:{one.cls}.{one.name}",
        headline="A module of torch was pickled under an older torch than the one that runs",
        advice="take weights of the project's present release, or load the file under the torch that wrote it, save model.state_dict() "
        "there, and load that into a model that is made anew",
    )
