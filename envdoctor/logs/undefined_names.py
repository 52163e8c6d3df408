"""``name 'X' is not defined`` in a library: whose X is, so that it is known which import was skipped."""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.masks import stretches, write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import classes_called, functions_named, has_function
from envdoctor.logs.newest import newest_for
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.statements import UndefinedName
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import describe, place_of
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed, release_texts

UNDEFINED = "error-name-undefined"
# Packages that others use where they are there: what they give at the top is imported by name, under a test.
_OPTIONAL = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "diffusers", "evaluate", "flash-attn", "liger-kernel", "peft", "safetensors",
    "sentencepiece", "tiktoken", "transformers", "trl", "typing-extensions", "vllm", "wandb",
)  # fmt: skip
_LEAST, _LONG = 5, 14
# Where pip unpacks a package to build it.
_BUILT = re.compile(r"pip-install-\w{1,20}[\\/](?P<name>[A-Za-z][\w-]{1,60})_[0-9a-f]{32}[\\/]")
# unsloth's functions that carry another class's name, and the folder that it writes compiled modules to.
_REWRITTEN = re.compile(r"Unsloth_?(?P<cls>[A-Z]\w{5,80})")
_COMPILED_PART = re.compile(r"(?:_ext|_cuda|_kernels?|_extension|_backend|_C)$")
_COMPILED = re.compile(r"unsloth_compiled_(?:cache|module)")
_OF_TYPING = frozenset(("Unpack", "TypedDict", "Required", "NotRequired", "Self", "TypeAlias", "Literal", "Optional", "Union", "Callable"))
# Where unsloth runs the text of transformers' configurations among its own names.
_EXECUTED = re.compile(r"unsloth[\\/]models[\\/]_utils\.py$")


def judge_undefined(one: UndefinedName, failure: Failure, facts: Facts) -> Hit | None:
    """The package whose name was used without its import; None where that is nobody's, or several packages'."""
    if (compiled := _in_compiled_text(one, failure, facts)) is not None:
        return compiled
    if (unbuilt := _of_compiled_part(one, failure, facts)) is not None:
        return unbuilt
    own = innermost_own(failure)
    user = package_of(failure.raised_in) if failure.raised_in and own is None else ""
    given = [found for package in _OPTIONAL if package != user and (found := _given(package, one.name)) is not None]
    if len(given) != 1:
        return _module(one, user, facts) or _deeper(one, user, failure, facts)
    package, there, since = given[0]
    if own is not None:
        return _left_out(one, own, package, there, since, facts)
    stated = facts.value(f"packages.{package}")
    who = f"{user} uses {one.name}" if user else f"{one.name} is used"
    told = f"{who} of {package} ({there}), and its import was skipped"
    if isinstance(stated, Exact):
        bound = open_package(package)
        assert bound is not None
        answered = look_up(f"{bound.volume.tops[0]}:{one.name}")
        where = places(bound.volume, stated.text)
        if answered is not None and where and holds(answered.gone, where):
            detail = f"{told}: {package} {stated} does not have it"
        else:
            detail = f"{told}: {package} {stated} is stated, so it was installed after the program began, or elsewhere, or fails to import"
    else:
        detail = f"{told}: {package} is not installed, too old, or was installed after the program (the notebook) began"
    packages = tuple(dict.fromkeys(filter(None, (package, user))))
    # What is not there is installed in its newest release, and not in the first that has the name.
    pins = () if isinstance(stated, Exact) else newest_for(package, facts)
    return Hit(UNDEFINED, True, (), detail=detail, packages=packages, pins=pins, edge=f"{user or 'code'}:{one.name}")


def _of_compiled_part(one: UndefinedName, failure: Failure, facts: Facts) -> Hit | None:
    """A package's own compiled module, which it tried to import and went on without: https://github.com/oobabooga/textgen/issues/6573."""
    user = failure.raised_in
    package = package_of(user) if user else ""
    if not user or innermost_own(failure) is not None or not _COMPILED_PART.search(one.name):
        return None
    if package_of(one.name) in listed() and package_of(one.name) != package:
        return None
    stated = facts.value(f"packages.{package}")
    release = f"{package}=={stated}" if isinstance(stated, Exact) else package
    detail = (
        f"{describe(package, facts)} tries to import its compiled part {one.name} and goes on where that fails: it is not in this "
        f"wheel, or was "
        "built for another torch, CUDA or Python"
    )
    advice = (
        f"the wheel of {package} for this torch, CUDA and Python, or pip install --no-build-isolation --no-cache-dir "
        f"{release} with nvcc there"
    )
    return Hit(UNDEFINED, True, (), detail=detail, packages=(package,), edge=f"{package}:{one.name}", advice=advice)


def _in_compiled_text(one: UndefinedName, failure: Failure, facts: Facts) -> Hit | None:
    """A name that is missing in the text of another package's code, which unsloth takes, changes and compiles anew."""
    last = failure.frames[-1] if failure.frames else None
    if last is None:
        return _told_in_words(one, failure)
    there = isinstance(facts.value("packages.unsloth"), Exact) or "unsloth" in failure.packages
    rewritten = _REWRITTEN.fullmatch(last.function)
    executed = last.function == "__init__" and _EXECUTED.search(last.path) is not None
    # Names of typing that stand in the signatures of transformers' functions: unsloth's own files import theirs.
    executed = executed or (one.name in _OF_TYPING and package_of(failure.raised_in or "") in ("unsloth", "unsloth-zoo"))
    if not (rewritten or executed or _COMPILED.search(last.path) or (last.path == "<string>" and there)):
        return None
    classes = classes_called(rewritten["cls"], failure, passed=True) if rewritten else ()
    owners = {bound.volume.name for cls in classes if (bound := owner_of(cls)) is not None}
    before = [package_of(frame.package) for frame in reversed(failure.frames[:-1]) if frame.package]
    outer = failure.frames[-2].text if len(failure.frames) > 1 else ""
    named = "accelerate" if "accelerator." in outer else "transformers" if executed else ""
    whose = (
        owners.pop()
        if len(owners) == 1
        else named or next((name for name in before if name not in ("unsloth", "unsloth-zoo", "torch")), "")
    )
    release = stated.text if whose and isinstance(stated := facts.value(f"packages.{whose}"), Exact) else ""
    code = f"{whose} {release}".strip() or "another package"
    detail = (
        f"unsloth compiles the code of {code} anew from its text, which uses {one.name}, and does not import that name: the text is of a "
        "release that it does not know"
    )
    packages = tuple(filter(None, ("unsloth", whose)))
    advice = f"a later unsloth and unsloth-zoo, together; or an earlier {whose or 'release of the package whose code it is'}"
    return Hit(UNDEFINED, True, (), detail=detail, packages=packages, edge=f"unsloth:{one.name}", advice=advice)


def _told_in_words(one: UndefinedName, failure: Failure) -> Hit | None:
    """The same where nobody pasted a frame: the lines around tell of unsloth's compiled files, or the name is unsloth's alone."""
    around = _COMPILED.search(f"{failure.near} {failure.message}") is not None
    owners = [name for name in ("unsloth", "unsloth-zoo") if len(one.name) >= _LONG and has_function(name, one.name)]
    own = bool(owners)
    if not around and not own:
        return None
    detail = (
        f"{one.name} is unsloth's own ({', '.join(owners)}), and the code that ran uses it without its import"
        if own
        else f"a file that unsloth compiled uses {one.name} and does not define it: a fault of that release, or of a file of an earlier one"
    )
    advice = "a later unsloth and unsloth-zoo, together, and the folder unsloth_compiled_cache removed"
    return Hit(UNDEFINED, True, (), detail=detail, packages=("unsloth", "unsloth-zoo"), edge=f"unsloth:{one.name}", advice=advice)


def _left_out(one: UndefinedName, own: Frame, package: str, there: str, since: str, facts: Facts) -> Hit:
    """A name of a package in a file of the project that does not import it, or tries to and goes on without it."""
    stated = facts.value(f"packages.{package}")
    why = f"{package} {stated} is stated" if isinstance(stated, Exact) else f"{package} is not there, or of a release without it"
    detail = (
        f"{place_of(own)} uses {one.name}, which {package} gives ({there}), without its import: it is missing in the file, or stands in a "
        f"try, or under a test, and failed ({why})"
    )
    pins = () if isinstance(stated, Exact) or since in release_texts(package)[:1] else ((package, f">={since}"),)
    return Hit(UNDEFINED, True, (), detail=detail, packages=(package,), pins=pins, edge=f"code:{one.name}")


def _deeper(one: UndefinedName, user: str, failure: Failure, facts: Facts) -> Hit | None:
    """A name of several words that one package alone has in one of its modules, used by a file that imports it where it can.

    https://github.com/deepspeedai/DeepSpeed/pull/7544: a decorator of torch's optimizers that came with torch 2.5.
    """
    if len(one.name) < _LONG or "_" not in one.name.strip("_"):
        return None
    owners: dict[str, int] = {}
    for symbol in functions_named(one.name):
        bound, told = owner_of(symbol), look_up(symbol)
        if bound is not None and told is not None and told.there:
            owners[bound.volume.name] = owners.get(bound.volume.name, 0) | told.there
    path = failure.frames[-1].path if failure.frames else ""
    built = _BUILT.search(path)
    user = user or (package_of(built["name"].lower()) if built is not None else "")
    owners.pop(user, None)
    if len(owners) != 1 or (not user and not failure.frames):
        return None
    ((package, there),) = owners.items()
    bound = open_package(package)
    assert bound is not None
    first = stretches(there)[0][0]
    who = f"{user} uses {one.name}" if user else f"{place_of(failure.frames[-1])} uses {one.name}"
    detail = (
        f"{who}, which {package} has in {write(there, bound.volume.releases)}, and goes on without it where its import fails: "
        f"{describe(package, facts)} is one without it"
    )
    pins = ((package, f">={bound.volume.releases[first]}"),) if first else ()
    other = f"a release of {user} that does without it" if user else ""
    return Hit(UNDEFINED, True, (), detail=detail, packages=tuple(filter(None, (package, user))), pins=pins,
               edge=f"{user or 'code'}:{one.name}", advice="" if pins else other, by_hand=other if pins else "")  # fmt: skip


def _given(package: str, name: str) -> tuple[str, str, str] | None:
    """A package that gives a name at its top: itself, the releases that do in words, and the first of them."""
    bound = open_package(package)
    if bound is None or len(name) < _LEAST:
        return None
    for top in bound.volume.tops:
        told = look_up(f"{top}:{name}")
        if told is not None and told.there:
            first = bound.volume.releases[stretches(told.there)[0][0]]
            return package, write(told.there, bound.volume.releases), first
    return None


def _module(one: UndefinedName, user: str, facts: Facts) -> Hit | None:
    """A name that is a package's own, such as ``deepspeed``."""
    package = package_of(one.name)
    if not user or package == user or package not in listed() or len(one.name) < _LEAST:
        return None
    there = f", and {package} {stated} is stated" if isinstance(stated := facts.value(f"packages.{package}"), Exact) else ""
    detail = f"{user} uses {one.name} and did not import it: it is not installed where this ran, or its import failed{there}"
    return Hit(UNDEFINED, True, (), detail=detail, packages=(package, user), edge=f"{user}:{one.name}")
