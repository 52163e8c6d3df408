"""What the printed line of a package's code names: the argument that is None, the text that is split, the gradient that is none.

https://github.com/huggingface/accelerate/pull/1297, https://github.com/instructlab/instructlab/pull/2369,
https://github.com/deepspeedai/DeepSpeed/pull/5477
"""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.volume import DamagedAtlasError
from envdoctor.checks.hit import Hit
from envdoctor.logs.nothing_there import passed_by
from envdoctor.logs.other_states import RAISED
from envdoctor.logs.own_code import package_in
from envdoctor.logs.statements import MissingMember, Statement
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of

RUN = "error-of-the-run"
_HANDS_ON = frozenset(("torch", "transformers_modules"))
_SPLIT = re.compile(r"^[\w\s,.]{1,80}?,[\w\s,.]{1,80}?=\s*(?P<what>[A-Za-z_][\w.]{1,60})\.split\(\s*(?P<by>['\"].{1,5}['\"])\s*\)$")
# Of more names in a line nobody knows which was meant.
_MOST_NAMES = 2
_COUNT = re.compile(r"(?P<many>too many|not enough) values to unpack \(expected (?P<want>\d{1,2})")
_COMPARED = re.compile(r"'[<>]=?' not supported between instances of '(?P<a>\w{1,40})' and '(?P<b>\w{1,40})'")
_OF_RELEASES = re.compile(r"__version__|[vV]ersion\(|version\.parse|distutils[\\/]version|LooseVersion")
_NO_TENSOR = re.compile(r"Expected parameter `?\w{1,40}`? (?:of type torch\.Tensor|to be of type torch\.Tensor)")
_REDUCED = re.compile(r"\b(?:all_reduce|reduce|reduce_scatter\w*|broadcast|all_gather\w*)\((?:tensor=)?(?P<what>\w*grad\w*)\b")


def judge_named_value(statement: Statement | None, failure: Failure) -> Hit | None:
    """What is wrong with the value that the line names; None where the line names none, or several."""
    if _NO_TENSOR.search(failure.message):
        return _no_gradient(failure)
    frame = failure.frames[-1] if failure.frames else None
    if frame is None or not frame.text or frame.package in _HANDS_ON or not package_in(frame):
        return None
    if isinstance(statement, MissingMember) and statement.cls == "NoneType":
        return _nothing_asked(statement.name, frame, passed_by(failure, frame))
    if (compared := _COMPARED.search(failure.message)) is not None:
        return _compared_releases(compared, frame)
    if (count := _COUNT.search(failure.message)) is not None and (split := _SPLIT.match(frame.text)) is not None:
        return _split_text(count, split, frame)
    return None


def _nothing_asked(member: str, frame: Frame, caller: Frame | None) -> Hit | None:
    """An attribute of None: whose it is, where the line asks one name for it. What a function was called with is certain."""
    names = list(dict.fromkeys(re.findall(rf"(?<![\w.)\]])([A-Za-z_][\w.]{{0,80}})\.{re.escape(member)}\b", frame.text)))
    if not 0 < len(names) <= _MOST_NAMES or "self" in names:
        return None
    name, package = " or ".join(names), package_in(frame)
    given = _is_argument(frame, name)
    uses = "uses it as if it were given" if given else f"asks it for {member}"
    advice = f"a setting that leaves {name} empty, a file that was not found, or a fault of this release: the next one, or the one before"
    if given:
        advice = f"pass {name} there, or take a release of {package} whose {frame.function} does without it"
    called = f"; the project's own {place_of(caller)} calls it: `{caller.text[:100]}`" if given and caller is not None else ""
    if given and caller is not None and (passed := re.search(rf"{frame.function}\(\s*([A-Za-z_][\w.]{{0,60}})\s*\)", caller.text)):
        advice = f"look why {passed[1]} is None in {place_of(caller)}: a branch that makes it was not taken, or another name holds it"
    return Hit(
        RAISED,
        True if given else None,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`{called}",
        packages=named(package),
        edge=f"nothing:{package}:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{name} is None in {package}'s {frame.function}, which {uses}",
        advice=advice,
    )


def _is_argument(frame: Frame, name: str) -> bool:
    """Whether a function of a package takes an argument of this name in all releases that were read and have the function."""
    if not name.isidentifier() or not frame.module or not frame.function.isidentifier():
        return False
    try:
        told = look_up(f"{frame.module}:{frame.function}({name})")
    except DamagedAtlasError:
        return False
    return told is not None and bool(told.there)


def _compared_releases(told: re.Match[str], frame: Frame) -> Hit | None:
    """Releases that a package compares in two forms: https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1679."""
    package = package_in(frame)
    if "Version" not in (told["a"], told["b"]) and not _OF_RELEASES.search(f"{frame.path} {frame.text}"):
        return None
    return Hit(
        RAISED,
        True,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`: the two have to be of one form (Version with Version); nothing that it was given "
        "has a part in it",
        packages=named(package),
        edge=f"{package}:compared:{frame.path[-60:]}:{frame.line}"[:160],
        headline=f"{package} compares releases in two forms ({told['a']} and {told['b']}), which is a fault of its own",
        advice=f"another release of {package}: the next one, or the one before; in its own file, version.parse(...) on both sides",
    )


def _split_text(count: re.Match[str], split: re.Match[str], frame: Frame) -> Hit:
    package, more = package_in(frame), count["many"] == "too many"
    what, by = split["what"], split["by"]
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)} takes {count['want']} parts of it (`{frame.text[:100]}`), and a name or a path may have "
        f"{'more' if more else 'fewer'}",
        packages=named(package),
        edge=f"{package}:split:{what}"[:160],
        headline=f"{what} has {'more' if more else 'fewer'} {by} in it than {package} reckons with",
        advice=f"another name or folder for {what}, with {int(count['want']) - 1} {by} in the whole of it; or a release of {package} "
        "that splits it otherwise",
    )


def _no_gradient(failure: Failure) -> Hit | None:
    frame = next((one for one in failure.frames if _REDUCED.search(one.text)), None)
    shown = _REDUCED.search(frame.text) if frame is not None else None
    if frame is None or shown is None:
        return None
    package = package_in(frame)
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)}: `{frame.text[:100]}`; a weight that is frozen (all but the adapter, with LoRA) or took no part in the "
        "loss has no gradient, and its grad is None",
        packages=named(package),
        edge=f"{package or 'code'}:no-gradient:{frame.path[-60:]}"[:160],
        headline=f"{shown['what']} is no tensor: a weight without a gradient is to be reduced over the processes",
        advice="leave such weights out there"
        + (f" (a release of {package} that does)" if package else "")
        + "; else make them trainable, or do without tied layers and pipeline stages that are frozen as a whole",
    )
