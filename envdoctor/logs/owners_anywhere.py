"""Whose function a refused call is of, among all packages that were read: where neither its class nor a frame says it, the one package
whose releases have such a function and such an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.shelf import folders, open_package, package_names, pass_packages
from envdoctor.atlas.signatures import Signature, read
from envdoctor.atlas.stack import holds, neighbours, places
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.everyday_names import is_anybodys_class, is_everyday
from envdoctor.logs.statements import MissingArguments, RefusedKeyword, TooManyArguments
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

# One project under two names.
_TWINS = frozenset(("lightning", "pytorch-lightning"))
# An argument or a function with a shorter name is anybody's, where nothing but the name speaks for a package.
_TELLING = 8
_LEAST_KEYWORD = 3
# So many classes that take an argument are one package's way of speaking.
_MOST = 60


def takers_of(statement: RefusedKeyword, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """The functions and methods of one package that take a keyword in some release, where the class and the frames do not say whose they
    are; empty where two packages have such."""
    if len(statement.keyword) < _LEAST_KEYWORD:
        return ()
    owner, _, last = statement.function.replace(".<locals>", "").rpartition(".")
    cls = owner.rpartition(".")[2]
    tries = [(cls, last)] if last else []
    # What passes the keyword on has another name than what was called.
    tries += [("", name) for name in _called_with(statement.keyword, failure) if name != last]
    for of_class, name in tries:
        found = _by_package(_taking(statement.keyword, of_class, name))
        symbols = _of_one(found, failure, facts, alone=_is_own(of_class) or _is_telling(name, statement.keyword, failure))
        if symbols:
            return symbols
    return ()


def left_by_stated(statement: RefusedKeyword, facts: Facts) -> tuple[str, ...]:
    """The functions of the one stated package of which some took a keyword, whatever they are called: where methods pass it on."""
    if len(statement.keyword) < _TELLING or "." in statement.function:
        return ()
    stated = [name.removeprefix("packages.") for name in facts if name.startswith("packages.")]
    takes = re.compile(rf"(?m)^(?:f|c) (\w+) (?:\S*[,*])?{re.escape(statement.keyword)}=?(?:[,\t]|$)")
    found: list[tuple[str, str]] = []
    for package in stated:
        bound = open_package(package)
        for module, text in () if bound is None else bound.modules(statement.keyword):
            found += [(package, symbol) for one in takes.finditer(text) if _was_there(symbol := f"{module}:{one[1]}", package, facts)]
    grouped = _by_package(found)
    return tuple(next(iter(grouped.values()))) if len(grouped) == 1 else ()


def _was_there(symbol: str, package: str, facts: Facts) -> bool:
    """Whether the stated release has a function at all: what came later did not refuse anything there."""
    bound, stated, told = open_package(package), facts.value(f"packages.{package}"), look_up(symbol)
    if bound is None or told is None or not isinstance(stated, Exact):
        return True
    where = places(bound.volume, stated.text) or neighbours(bound.volume, stated.text)
    return not where or holds(told.there, where)


def refusers_of(statement: TooManyArguments, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """The functions of one package that take as many arguments by position as Python counted and others by keyword alone, where no frame
    of a package that was read calls them (``mel`` of librosa in a project's line: https://github.com/adobe-research/MakeItTalk/issues/25)."""
    name = statement.function
    caller = failure.frames[-1].package if failure.frames else ""
    if not name or "." in name or is_everyday(name) or (caller and open_package(package_of(caller)) is not None):
        return ()
    found = _by_package(_refusing(name, statement.takes))
    return _of_one(found, failure, facts, alone=True)


def needers_of(statement: MissingArguments, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """The functions of one package that need what a call leaves out, by a name that is hardly anybody else's, where no frame of a package
    that was read calls them (https://github.com/NVIDIA-NeMo/Speech/issues/4287: ``_run_hydra`` of hydra-core).

    Copies of a function that has its package's name in its own are that package's (``flash_attn_func``), and a method is known by what it
    needs where that is nobody else's (``_sample`` without ``logits_warper``).
    """
    name = statement.function
    caller = failure.frames[-1].package if failure.frames else ""
    if "." in name or "_" not in name or (caller and open_package(package_of(caller)) is not None):
        return ()

    def needs(told: Signature) -> bool:
        return set(statement.names) <= told.required

    found = _by_package(_functions(name, needs)) if len(name) >= _TELLING and not is_everyday(name) else {}
    own = {package: symbols for package, symbols in found.items() if name.strip("_").startswith(f"{package.replace('-', '_')}_")}
    if not found and any(len(one) >= _TELLING and "_" in one and not is_everyday(one) for one in statement.names):
        found = _by_package(_methods(name, needs))
    return _of_one(own if len(own) == 1 else found, failure, facts, alone=True)


def classes_anywhere(name: str, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """The classes of a name in the one package that has such, of all that were read; empty where two have."""
    if len(name) < _TELLING or failure.packages:
        return ()
    found = _by_package(_classes(name, tuple(folders())))
    # Some have a class of that name for where the package is not there: whose it is, gives it at its top.
    at_top = {package: symbols for package, symbols in found.items() if _is_at_top(package, name)}
    return _of_one(at_top if len(at_top) == 1 else found, failure, facts, alone=len(at_top) == 1 or _is_own(name))


def methods_anywhere(function: str, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """A method that Python tells with its class, where one package alone has that class, whoever is in the frames: another package's class
    is called by what has it in its own code (https://github.com/huggingface/huggingface_hub/pull/4193: typer's, by huggingface-hub;
    https://github.com/deepspeedai/DeepSpeed/pull/4985: DeepSpeed's, by the one of torch that it derives from)."""
    owner, _, last = function.replace(".<locals>", "").rpartition(".")
    cls = owner.rpartition(".")[2]
    its_own = package_of(cls.lower()) if cls[:1].isupper() else ""
    telling = len(cls) >= _TELLING and _is_own(cls)
    if not telling and open_package(its_own) is None:
        return ()
    found = _by_package(_classes(cls, tuple(folders())))
    named = {its_own: found[its_own]} if its_own in found else found
    symbols = _of_one(named, failure, facts, alone=True) if telling or its_own in found else ()
    return tuple(one if last == "__init__" else f"{one}.{last}" for one in symbols)


def functions_anywhere(name: str) -> dict[str, list[str]]:
    """The functions of a name at the top of modules, by the package that has them."""
    return _by_package(_functions(name, lambda _: True))


def has_class(name: str) -> bool:
    """Whether any package that was read has a class of this name."""
    return bool(_classes(name, tuple(folders())))


@lru_cache(maxsize=4)
def _classes(name: str, _: tuple[Path, ...]) -> tuple[tuple[str, str], ...]:
    """Every class of a name with its package, in the atlas of these folders."""
    pattern = re.compile(rf"(?m)^c {re.escape(name)}(?:[ \t]|$)")
    return tuple(
        (package, f"{module}:{name}")
        for package, bound in pass_packages(package_names())
        for module, text in bound.modules(f"c {name}", keep=False)
        if pattern.search(text)
    )


def _is_at_top(package: str, name: str) -> bool:
    bound = open_package(package)
    return bound is not None and any(bound.volume.provides(top, name).there for top in bound.volume.tops)


def _is_own(cls: str) -> bool:
    return bool(cls) and not is_anybodys_class(cls)


def _is_telling(name: str, keyword: str, failure: Failure) -> bool:
    """Whether a function and a keyword are hardly anybody else's, and nobody printed a frame of somebody's own; with one, that it calls a
    method by that keyword (https://github.com/soulteary/docker-prompt-generator/issues/21)."""
    if len(keyword) < _TELLING:
        return False
    if failure.frames:
        last = failure.frames[-1]
        return not last.package and f".{name}(" in last.text and "_" in keyword and not is_everyday(keyword)
    return not is_everyday(keyword) if name == "__init__" else len(name) >= _TELLING and "_" in name and not is_everyday(name)


def _of_one(found: dict[str, list[str]], failure: Failure, facts: Facts, *, alone: bool) -> tuple[str, ...]:
    """The symbols of the one package that is meant: the one that is stated, in a frame or in the code near, or ``alone`` in having them."""
    named = [package for package in found if _is_named(package, failure, facts)]
    chosen = named or (list(found) if alone else [])
    if len(chosen) > 1 and set(chosen) <= _TWINS:
        chosen = ["pytorch-lightning"] if "pytorch-lightning" in chosen else chosen[:1]
    return tuple(found[chosen[0]]) if len(chosen) == 1 and len(found[chosen[0]]) <= _MOST else ()


def _is_named(package: str, failure: Failure, facts: Facts) -> bool:
    """Whether a package is stated, or has a frame, or stands as a name in the code that was pasted."""
    if facts.value(f"packages.{package}") is not None or any(package_of(name) == package for name in failure.packages):
        return True
    code = "\n".join((failure.near, *(frame.text for frame in failure.frames)))
    words = re.findall(r"\b(?:from|import) ([A-Za-z_]\w{1,40})|\b([A-Za-z_]\w{1,40})\.(?=\w)", code)
    return any(package_of(word) == package for pair in words for word in pair if word)


def _called_with(keyword: str, failure: Failure) -> Iterator[str]:
    """The methods that the code near the error calls with a keyword; what a package's own line calls so takes it in the release that ran
    (https://github.com/shuaijiang/Whisper-Finetune/issues/17: compute_loss, where the model's forward refuses)."""
    own = (frame.text for frame in failure.frames[-1:] if not frame.package)
    code = "\n".join(own) if failure.frames else failure.near
    for one in re.finditer(rf"\.(\w{{2,60}})\([^()\n]{{0,200}}?\b{re.escape(keyword)} ?=", code):
        yield one[1]


def _taking(keyword: str, cls: str, name: str) -> Iterator[tuple[str, str]]:
    """Every function, or method of a class where that is told, that takes a keyword, with its package."""
    takes = rf"(?:\S*[,*])?{re.escape(keyword)}=?(?:[,\t]|$)"
    method = re.compile(rf"(?m)^ m {re.escape(name)} {takes}")
    function = re.compile(rf"(?m)^f {re.escape(name)} {takes}")
    for package, bound in pass_packages(package_names()):
        for module, text in bound.modules(keyword, keep=False):
            if not cls and function.search(text):
                yield package, f"{module}:{name}"
            for one in method.finditer(text):
                owner = _class_at(text, one.start())
                if not cls or owner == cls:
                    yield package, f"{module}:{owner}" if name == "__init__" else f"{module}:{owner}.{name}"


def _refusing(name: str, takes: int) -> Iterator[tuple[str, str]]:
    """Every function of a name that takes so many arguments by position and some by keyword alone."""
    return _functions(name, lambda told: bool(told.keywords) and not told.any_positional and len(told.positional) == takes)


def _functions(name: str, fits: Callable[[Signature], bool]) -> Iterator[tuple[str, str]]:
    """Every function of a name that has such parameters in some release."""
    pattern = re.compile(rf"(?m)^f {re.escape(name)} (\S+)(?:\t|$)")
    for package, bound in pass_packages(package_names()):
        for module, text in bound.modules(f"f {name} ", keep=False):
            signatures = (read(one[1]) for one in pattern.finditer(text))
            if any(told is not None and fits(told) for told in signatures):
                yield package, f"{module}:{name}"


def _methods(name: str, fits: Callable[[Signature], bool]) -> Iterator[tuple[str, str]]:
    """Every method of a name that has such parameters in some release."""
    pattern = re.compile(rf"(?m)^ m {re.escape(name)} (\S+)(?:\t|$)")
    for package, bound in pass_packages(package_names()):
        for module, text in bound.modules(f"m {name} ", keep=False):
            for one in pattern.finditer(text):
                told = read(one[1])
                if told is not None and fits(told):
                    yield package, f"{module}:{_class_at(text, one.start())}.{name}"


def _class_at(text: str, place: int) -> str:
    return text[text.rfind("\nc ", 0, place) + 3 : place].split("\n")[0].partition("\t")[0]


def _by_package(found: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for package, symbol in found:
        grouped.setdefault(package, []).append(symbol)
    return {package: list(dict.fromkeys(symbols)) for package, symbols in grouped.items()}
