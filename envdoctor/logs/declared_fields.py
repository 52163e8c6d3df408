"""Classes that cannot be made: a field without a default behind one that has it, a type parameter likewise.

https://github.com/unslothai/unsloth/pull/7866 (a configuration of vLLM's under transformers 5), https://github.com/ml-explore/mlx-examples/pull/450,
https://github.com/Lightning-AI/pytorch-lightning/pull/20508
"""

from __future__ import annotations

import re

from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OFTEN
from envdoctor.logs.own_code import innermost_own, package_in
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import describe, named, place_of

RUN = "error-of-the-run"
_FIELD = re.compile(r"non-default argument '(?P<name>\w{1,80})' follows default argument")
_TYPE = re.compile(r"Type parameter [+~-]?(?P<name>\w{1,60}) without a default follows type parameter with a default")
_STDLIB = re.compile(r"[\\/]dataclasses\.py$|<frozen|importlib[\\/]|[\\/]runpy\.py$|[\\/]typing\.py$|typing_extensions\.py$")
# As the atlas has it: PreTrainedConfig is decorated as a dataclass from there on, and so is what derives from it.
_CONFIGS_SINCE = "5.4.0"
_OF_CONFIGS = re.compile(r"_config$|^(?:hidden_size|vocab_size|model_type|num_hidden_layers)$")


def judge_declared(failure: Failure, facts: Facts) -> Hit | None:
    """Whose class it is, by the frame in which it is made, and why it cannot be."""
    if (field := _FIELD.search(failure.message)) is not None:
        return _of_field(field["name"], failure, facts)
    if (kind := _TYPE.search(failure.message)) is not None:
        return _of_type(kind["name"], failure)
    return None


def _made_in(failure: Failure) -> Frame | None:
    return next((one for one in reversed(failure.frames) if not _STDLIB.search(one.path) and one.package != "transformers"), None)


def _of_field(name: str, failure: Failure, facts: Facts) -> Hit | None:
    frame = _made_in(failure)
    package = package_in(frame) if frame is not None else ""
    stated = facts.value("packages.transformers")
    newer = not isinstance(stated, Exact) or admits(f">={_CONFIGS_SINCE}", stated)
    by_frames = "transformers" in failure.packages
    if newer and (by_frames or (not failure.frames and _OF_CONFIGS.search(name))):
        return Hit(
            RUN,
            True if by_frames else None,
            detail=f"{describe('transformers', facts)}: its PreTrainedConfig is a dataclass from {_CONFIGS_SINCE} on, and so is every "
            f"class that derives from it: {name} has no default and stands behind fields of the base that have one"
            + (f" ({place_of(frame)})" if frame is not None else ""),
            packages=named("transformers", package),
            pins=(("transformers", f"<{_CONFIGS_SINCE}"),),
            edge=f"transformers:dataclass:{name}",
            headline="A class of settings was written for a transformers before 5.4",
            advice=f"a later {package or 'release of the package'} whose class gives {name} a default ({name}: ... = None)",
        )
    where = f"{place_of(frame)}: " if frame is not None else ""
    own = innermost_own(failure) is not None or not package
    return Hit(
        RUN,
        True,
        detail=f"{where}in a dataclass no field without a default may stand behind one that has it, its own or one of a class that it "
        f"derives "
        f"from: {name} has none",
        packages=named(package),
        edge=f"{package or 'code'}:dataclass:{name}",
        headline=f"A dataclass {f'of {package} ' if package else ''}cannot be made, whatever is given to it",
        advice=f"put {name} before the fields with defaults, or give it one"
        if own
        else f"a later release of {package}, or the one before: its class itself is at fault",
    )


def _of_type(name: str, failure: Failure) -> Hit | None:
    frame = _made_in(failure)
    package = package_in(frame) if frame is not None else ""
    if not package:
        found = [one for one in ("pytorch-lightning", *OFTEN) if _binds(one, name)]
        package = found[0] if len(found) == 1 else ""
    return Hit(
        RUN,
        True,
        detail="Python 3.13 and typing_extensions refuse a class with type parameters in that order, which earlier ones took"
        + (f"; of the packages that most people use {package} alone has a {name}" if package and frame is None else ""),
        packages=named(package, "typing-extensions"),
        edge=f"{package or 'code'}:type-parameter:{name}",
        headline=f"A class {f'of {package} ' if package else ''}was written for earlier rules of typing",
        advice=f"a later {package or 'release of the package whose class it is'}; until then Python 3.12 and an earlier typing_extensions",
    )


def _binds(package: str, name: str) -> bool:
    """Whether a module of a package makes a name of this kind at its top."""
    bound, line = open_package(package), re.compile(rf"(?m)^n .*(?<!\w){re.escape(name)}(?!\w)")
    return bound is not None and any(line.search(text) for _, text in bound.modules(name))
