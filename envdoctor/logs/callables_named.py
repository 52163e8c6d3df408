"""Which classes and functions of packages a traceback means by a bare name: those of the packages in its frames."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.answers import chunks
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.shelf import open_package
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

_MOST = 8
# Whose classes and functions people call most, where neither frames nor the lines of code name a package.
_OFTEN = (
    "transformers", "peft", "trl", "accelerate", "datasets", "diffusers", "sentence-transformers", "open-clip-torch", "liger-kernel",
    "gradio", "timm",
)  # fmt: skip


def classes_called(name: str, failure: Failure) -> Iterator[str]:
    """The classes of this name as ``module:Class``."""
    for bound in _packages(failure, often=True):
        yield from _defined(bound, "c", name)


def functions_called(function: str, failure: Failure) -> Iterator[str]:
    """The functions of this name as ``module:function``; a method with its class."""
    owner, _, last = function.replace(".<locals>", "").rpartition(".")
    if owner:
        for one in classes_called(owner.rpartition(".")[2], failure):
            yield one if last == "__init__" else f"{one}.{last}"
        return
    if last == "__init__":
        # Before Python 3.10 the class is not told; the line that called it is.
        called = [word for frame in failure.frames[-2:] for word in re.findall(r"\b([A-Z]\w{2,80})\(", frame.text)]
        for word in dict.fromkeys(reversed(called)):
            found = list(classes_called(word, failure))
            if found:
                yield from found
                return
        return
    # A function that a script calls by its bare name is most likely the script's own.
    for bound in _packages(failure, often=not failure.frames):
        yield from _defined(bound, "f", last)


def _packages(failure: Failure, *, often: bool) -> Iterator[Bound]:
    """The packages in the frames, and those that the lines of code import or name; with ``often``, without any, those of most people."""
    names = [package_of(one) for one in failure.packages]
    for frame in failure.frames:
        names += [package_of(word) for word in re.findall(r"\b([a-z_]{3,30})\.", frame.text)]
    # ``self`` and ``np`` stand before a point as well.
    named = [bound for one in dict.fromkeys(names) if (bound := open_package(one)) is not None]
    yield from named or (bound for one in _OFTEN if often and (bound := open_package(one)) is not None)


def _defined(bound: Bound, letter: str, name: str) -> Iterator[str]:
    pattern = re.compile(rf"(?m)^{letter} {re.escape(name)}(?:[ \t]|$)")
    found = [module for module, text in chunks(bound) if name in text and pattern.search(text)]
    if len(found) <= _MOST:
        yield from (f"{module}:{name}" for module in found)
