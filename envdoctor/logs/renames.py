"""What is written in place of a name, a module or a keyword that a release does not have: where it went, and what it is called."""

from __future__ import annotations

from difflib import SequenceMatcher

from envdoctor.atlas.answers import answer, new_keyword, new_places, owner_of
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.missing import split
from envdoctor.logs.asked import ARGUMENT, ATTRIBUTE, MODULE, NAME, Asked
from envdoctor.logs.through_subclasses import taken_by_method
from envdoctor.world.successors import successor

# A name with fewer letters stands in modules that have nothing to do with each other.
_OWN_NAME = 5
# So alike are two spellings of one name: LLaMATokenizer, AutoModelForCasualLM.
_ONE_NAME, _LONG, _OTHER_WORD = 0.93, 10, 2


def change_of_code(asked: Asked, place: int, asker: str, where: str, *, everybodys: bool) -> tuple[str, str]:
    """The line that is written otherwise: what is said before the pins, and what after them.

    ``asker`` is the package whose file asks for it, which its user changes only where no release of it does. Of what ``everybodys``
    packages (numpy, torch) give up, the line is changed first, as nobody takes an older torch for one argument.
    """
    written = successor(asked.symbol)
    if asker:
        return "", f"{written}, in {where}" if written and where else ""
    if not written and not asked.told and asked.there and place < (asked.there & -asked.there).bit_length() - 1:
        # A release that is too old for the code is raised; where it kept the name is the other way.
        return "", rename(asked, place)
    written = written or asked.advice or rename(asked, place) or respelled(asked.symbol) or taken_by_method(asked.symbol, place)
    if written:
        return written, ""
    left = left_out(asked, place)
    if not left or everybodys:
        return left, ""
    return "", f"{left}; or the release that the code was written for, which its requirements file or the date of its last change tells"


def left_out(asked: Asked, place: int) -> str:
    """That an argument which a release no longer takes is left out, where older ones take it and no other has come for it."""
    function, _, keyword = asked.symbol.rstrip(")").partition("(")
    went = asked.there and asked.there.bit_length() <= place and asked.gone >> place == (asked.bound.volume.all >> place)
    if asked.family != ARGUMENT or not keyword or not went or asked.told or asked.maybe or asked.unsure:
        return ""
    return f"leave out {keyword}= where {function.rpartition('.')[2]}() is called, or pass what the notes of that release have in its place"


def respelled(symbol: str) -> str:
    """The one name of the same module that differs from a name that no release has in a letter or in capitals: LLaMATokenizer."""
    bound = owner_of(symbol)
    if bound is None:
        return ""
    module, last, rest = split(bound.volume, symbol)
    chunk = bound.volume.chunk(module)
    if chunk is None or rest or len(last) < _OWN_NAME:
        return ""
    names = {*chunk.names, *chunk.functions, *chunk.classes, *chunk.links}
    found = [one for one in names if one.lower() == last.lower()] or [one for one in names if _is_almost(one, last)]
    if len(found) == 1 and found[0] != last:
        return f"{found[0]} in place of {last}: {module} has it by that spelling"
    longer = sorted((one for one in names if one.startswith(last)), key=lambda one: (len(one), one)) if len(last) > _LONG else []
    return f"{' or '.join(longer[:5])} in place of {last}: {module} has these, and none by that name alone" if longer and not found else ""


def is_of_no_release(symbol: str) -> bool:
    """Whether a package whose releases were read has a name (``module:name``) in none of them."""
    told = answer(symbol)
    bound = owner_of(symbol)
    return told is not None and bound is not None and not told.there and told.gone == bound.volume.all


def _is_almost(one: str, last: str) -> bool:
    if len(last) > _LONG and sorted(one) == sorted(last):
        return True  # two letters changed places
    return len(last) > _LONG and abs(len(one) - len(last)) < _OTHER_WORD and SequenceMatcher(None, one, last).ratio() >= _ONE_NAME


def instead(asked: Asked, place: int) -> str:
    """Where it went, in the release without it."""
    new, module = _new_name(asked, place)
    if new:
        return f"; it is called {new} there"
    return f"; it is in {module} there" if module else ""


def rename(asked: Asked, place: int) -> str:
    """The change of the code that asks for it, where it has gone nowhere else than to another name or another module."""
    parent, _, called = asked.symbol.rpartition(".")
    nowhere = asked.family == ATTRIBUTE and not asked.there and parent.rpartition(".")[2].islower()
    if asked.told or asked.maybe or asked.unsure or not (asked.there or asked.family == NAME or nowhere):
        return ""
    new, module = _new_name(asked, place)
    keyword = asked.symbol.rstrip(")").partition("(")[2]
    if new:
        return f"pass {new} in place of {keyword}"
    if module and nowhere:
        return f"{module}.{called} in place of {asked.symbol}"
    return f"from {module} import {called}" if module and asked.family == NAME else ""


def _new_name(asked: Asked, place: int) -> tuple[str, str]:
    """The keyword, or the module, by which the release without it gives the same."""
    name, _, keyword = asked.symbol.rstrip(")").partition("(")
    if keyword:
        return new_keyword(asked.bound.volume, name, keyword, place) or "", ""
    last = name.rpartition(".")[2]
    if asked.family == MODULE or (last.islower() and len(last) < _OWN_NAME):
        return "", ""
    found = [one for one in new_places(asked.bound, last, place) if one != name.rpartition(".")[0] and _gives(asked.bound, one, last)]
    # A module that comes with it is of some releases alone (lightning_lite, lightning_fabric): its own top has it in all of them.
    return "", min(found, key=lambda one: one.partition(".")[0] != name.partition(".")[0], default="")


def _gives(bound: Bound, module: str, name: str) -> bool:
    """Whether people take a name from a module: its own, or one of a package's that collects it; what a file imports for its own use is
    not meant (``torch.distributed.tensor.parallel.fsdp`` for ``Replicate``)."""
    chunk = bound.volume.chunk(module)
    if chunk is None or name in chunk.classes or name in chunk.functions:
        return True
    inside = any(f"{target.partition(':')[0]}.".startswith(f"{module}.") for target in chunk.links.get(name, {}))
    return inside or any(bound.modules(f"module {module}.", keep=False))
