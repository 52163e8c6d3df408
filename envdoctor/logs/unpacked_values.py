"""What a call gives and its caller takes apart in another number, and what a registry does not have: certain from the line alone."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of

RUN = "error-of-the-run"
_UNPACKED = re.compile(r"(?P<many>too many|not enough) values to unpack \(expected (?P<want>\d{1,2})(?:, got (?P<got>\d{1,2}))?\)")
# ``a, b = thing.call(...)``: one call, and nothing behind it. What splits a text splits rows of the data.
_CALL = re.compile(r"^[\w\s,.*()\[\]'\"]{3,160}?,[\w\s,.*()\[\]'\"]{1,160}?=\s*(?:await )?(?P<call>[A-Za-z_][\w.]{1,80})\((?P<rest>.*)$")
_OF_DATA = re.compile(r"(?:^|\.)(?:r?split|splitlines|partition|readline|strip|zip|map|tuple|list|shape|size|items|next|values)$")
_UNREGISTERED = re.compile(r"['\"]?(?P<name>[A-Za-z_][\w.-]{0,60}) is not in the (?P<registry>[\w:.-]{1,60}) registry")
_OF_OPENMMLAB = re.compile(r"^(?P<home>.*)[\\/](?P<package>mm(?:det3d|det|seg|pose|action2?|cls|pretrain|ocr|rotate|track|edit|yolo))[\\/]")


def judge_unpacked(failure: Failure) -> Hit | None:
    """A call whose result is taken apart in another number of values: https://github.com/isaac-sim/IsaacLab/issues/2862."""
    frame = failure.frames[-1] if failure.frames else None
    told, called = _UNPACKED.search(failure.message), _CALL.match(frame.text) if frame is not None else None
    if frame is None or frame.package or told is None or called is None or _OF_DATA.search(called["call"]) or ")." in called["rest"]:
        return None
    name, want = called["call"], told["want"]
    if told["many"] == "too many":
        headline = f"{name}() gives more than the {want} values that its caller takes"
        behind = "or it gives one thing of more parts (a tensor, a dictionary) where a pair was given before"
    elif told["got"] not in (None, "0"):
        headline = f"{name}() gives {told['got']} of the {want} values that its caller takes"
        behind = "or a setting leaves one out"
    else:
        return None
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)} was written for another release of what has {name}(), whose result changed; {behind}",
        edge=f"code:unpacked:{name}",
        headline=headline,
        advice=f"print what {name}() gives, and take as many values; or the release of its package that the project's requirements name",
    )


def judge_registry(failure: Failure) -> Hit | None:
    """A class that nothing which was imported registers: https://github.com/csuhan/ReDet/issues/37, where a stock mmdet came first."""
    found = _UNREGISTERED.search(failure.message)
    if found is None:
        return None
    homes = [(frame, home) for frame in failure.frames if (home := _OF_OPENMMLAB.match(frame.path)) is not None]
    name, of = found["name"], f"the {found['registry']} registry"
    if not homes:
        return None
    frame, home = homes[-1]
    package = home["package"]
    detail = f"the {package} that was imported is that of {_folder(home['home'])}, and nothing that was imported registers a {name}"
    return Hit(
        RUN,
        True,
        detail=f"{detail}; {_at(frame)}",
        edge=f"{package}:registry:{name}",
        headline=f"{name} is not in {of}: the module that registers it was not imported",
        advice=f"where the project brings a {package} of its own, that one: pip uninstall {package}, then pip install -e . in the "
        f"project's folder; else custom_imports = dict(imports=['MODULE']) with the module that has {name}, or a {package} that has it",
    )


def _folder(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] if "-packages" not in path else "site-packages"


def _at(frame: Frame) -> str:
    return f"{place_of(frame)} asks for it"
