"""Arguments that a class refuses and that were passed to a class made of it: ``Blocks(theme=...)`` hands what it does not know to
``BlockContext``, which Python then names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.answers import answer, owner_of
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.shelf import open_package
from envdoctor.logs.asked import ARGUMENT, Asked, symbol_of
from envdoctor.logs.callables_named import classes_called, classes_of
from envdoctor.logs.statements import RefusedKeyword
from envdoctor.logs.tracebacks import Failure
from envdoctor.records import replace
from envdoctor.world.import_names import package_of

_CALL = re.compile(r"\b([A-Z]\w{2,80})\(")
_DEEPEST = 8


def subclasses_called(statement: RefusedKeyword, failure: Failure) -> tuple[str, ...]:
    """The classes that the line of the call makes and that are made of the one which refused."""
    owner, _, last = statement.function.rpartition(".")
    base = owner.rpartition(".")[2]
    if last != "__init__" or not base:
        return ()
    texts = [failure.near, *(frame.text for frame in failure.frames)]
    words = dict.fromkeys(word for text in texts for word in _CALL.findall(text) if word != base)
    packages = {package_of(name) for name in failure.packages}
    found = [one for word in words for one in _classes(word, failure, packages) if base in _bases(one)]
    return tuple(dict.fromkeys(found))


def asked_through(statement: RefusedKeyword, failure: Failure) -> Iterator[Asked | None]:
    """What the releases say of the argument in those classes: one that no longer writes it down does not take it, by the error."""
    for symbol in subclasses_called(statement, failure):
        asked = symbol_of(f"{symbol}({statement.keyword})", ARGUMENT)
        if asked is not None and asked.there:
            yield replace(asked, gone=asked.bound.volume.all & ~asked.there, maybe=0, unsure=False)


def _classes(word: str, failure: Failure, packages: set[str]) -> Iterator[str]:
    yield from classes_called(word, failure)
    for bound in filter(None, map(open_package, sorted(packages))):
        yield from classes_of(bound, word)


def _bases(symbol: str) -> set[str]:
    """The names of the classes of its package that a class is made of, in any release."""
    bound = owner_of(symbol)
    if bound is None:
        return set()
    found: set[str] = set()
    waiting = [symbol]
    for _ in range(_DEEPEST):
        if not waiting:
            break
        module, _, name = waiting.pop(0).partition(":")
        chunk = bound.volume.chunk(module)
        sheet = chunk.classes.get(name) if chunk is not None else None
        for bases in sheet.bases if sheet is not None else ():
            for link in bases:
                last = link.rpartition(":")[2]
                if last not in found:
                    found.add(last)
                    waiting.append(link)
    return found


def taken_by_method(symbol: str, place: int) -> str:
    """A method of the same class that takes an argument in a release whose constructor does not: ``launch(theme=...)``; empty without."""
    cls, _, keyword = symbol.rstrip(")").partition("(")
    bound = owner_of(cls)
    if bound is None or not keyword:
        return ""
    module, _, name = cls.partition(":") if ":" in cls else cls.rpartition(".")
    chunk = bound.volume.chunk(module)
    sheet = chunk.classes.get(name) if chunk is not None else None
    for method in sorted(sheet.methods) if sheet is not None else ():
        if method.startswith("_"):
            continue
        told = answer(f"{module}:{name}.{method}({keyword})")
        # It came where the constructor gave it up; what a method always took is another thing of the same name.
        if told is not None and told.there and stretches(told.there)[0][0] >= place > 0:
            return f"pass {keyword}= to .{method}() of the object in place of {name}()"
    return ""
