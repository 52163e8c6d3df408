"""Who asked for what a release does not have: the package of the frame, and which of its releases do not ask for it."""

from __future__ import annotations

import re

from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.guards import UNKNOWN
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import places
from envdoctor.atlas.volume import Volume
from envdoctor.atlas.words import good_specifiers
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of

Pins = tuple[tuple[str, str], ...]
# A wrapper that hands on whatever it is given (huggingface_hub/utils/_deprecation.py, torch/utils/_contextlib.py) has asked for nothing.
_HANDS_ON = re.compile(r"\((?:self, ?)?\*args, ?\*\*kw(?:arg)?s\)\)?$")
# The same where a notebook shows no line of it; and an object that looks for its own attribute asks for nobody else.
_WRAPPERS = re.compile(r"(?:utils/_?(?:validators|deprecation|contextlib)|functools|contextlib|decorator)\.py$")
_LOOKS_UP = re.compile(r"__getattr(?:ibute)?__")


@dataclass(frozen=True, slots=True)
class Caller:
    """The package whose code asked, and where; empty for the user's own code, or where no frame was printed."""

    package: str
    where: str

    def words(self, facts: Facts, provider: str, verb: str) -> str:
        """Who asked, in words."""
        if not self.package:
            return f"the code that runs {verb} it"
        if self.package == provider:
            return f"its own file {self.where} {verb} it: files of two releases are mixed"
        stated = facts.value(f"packages.{self.package}")
        release = f" {stated.text}" if isinstance(stated, Exact) else ""
        return f"{self.package}{release} {verb} it ({self.where})"


def hands_on(frame: Frame) -> bool:
    """Whether a frame only passes on what it was given, or looks for an attribute of its own object."""
    if _LOOKS_UP.fullmatch(frame.function):
        return not frame.text.startswith(("from ", "import "))
    return _HANDS_ON.search(frame.text) is not None or (not frame.text and _WRAPPERS.search(frame.path.replace("\\", "/")) is not None)


def asker_of(failure: Failure) -> Frame | None:
    """The innermost frame that hands nothing on: where the attribute was asked for, or the call was made."""
    return next((frame for frame in reversed(failure.frames) if not hands_on(frame)), None)


def caller_of(failure: Failure, provider: str) -> Caller:
    """Who asked for something of a provider: the innermost frame of another package; the user's own code where it is nearer."""
    inner = True
    for frame in reversed(failure.frames):
        package = package_of(frame.package) if frame.package else ""
        if package == provider and inner:
            # A provider's own machinery, which imports on request, is not who asked.
            continue
        if package and hands_on(frame):
            continue
        inner = False
        if package:
            where = frame.path.replace("\\", "/").rpartition("-packages/")[2] or frame.path
            return Caller("" if package == "transformers-modules" else package, f"{where}:{frame.line}" if frame.line else where)
        if "importlib" not in frame.path and "/lib/python3" not in frame.path.replace("\\", "/"):
            return Caller("", "")
    return Caller("", "")


def takers(symbol: str, caller: Caller, provider: Volume, gone: int, place: int, facts: Facts) -> tuple[str, Pins]:
    """Which releases of the caller ask for it, in words, and the nearest that do not, as pins."""
    found = takes_of(caller.package) if caller.package and caller.package != provider.name else None
    if found is None:
        return "", ()
    bound, takes = found
    wanted, parenthesis, _ = symbol.partition("(")
    if parenthesis:
        return "", ()
    volume = bound.volume
    asking = 0
    for number in (one for numbers in takes.by_module().values() for one in numbers):
        take = takes.take(number)
        # What stands under a try that catches its absence is not what failed.
        if take.name.replace(":", ".") == wanted and UNKNOWN not in take.guard.split(" & "):
            for at in range(len(volume.releases)):
                if takes.line_of(take, at):
                    asking |= 1 << at
    stated = facts.value(f"packages.{caller.package}")
    where = places(volume, stated.text) if isinstance(stated, Exact) else ()
    if not asking or (where and not any(asking >> one & 1 for one in where)):
        return "", ()
    at = where[-1] if where else asking.bit_length() - 1
    ways = good_specifiers(volume, asking, at)
    # To before it asked at all is the longer way.
    pins = tuple((caller.package, one) for one in ([way for way in ways if way.startswith(">=")] or ways))
    told = "" if where and asking.bit_count() == 1 else f"; {caller.package} {write(asking, volume.releases)} all do"
    return told, pins


def not_asking(symbol: str, package: str, where: str, provider: str, facts: Facts) -> tuple[str, Pins]:
    """The same of a symbol whose releases nobody knows: what is left is a release of the caller that does without."""
    bound = open_package(provider)
    if bound is None or package in ("", provider):
        return "", ()
    return takers(symbol.replace(":", "."), Caller(package, where), bound.volume, 0, 0, facts)
