"""Methods of a package's classes that a class of the project overrides with the parameters of another release.

A package calls them as its own are written: the releases whose call fits the override, and those whose does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.atlas.answers import owner_of
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.callables import lineage
from envdoctor.atlas.masks import stretches, write
from envdoctor.atlas.missing import signature_at
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read
from envdoctor.checks.hit import Hit
from envdoctor.logs.callables_named import OF_MODELS, OFTEN, TOOK_OVER, classes_called
from envdoctor.logs.fitting import ARGUMENT, Fitting
from envdoctor.logs.statements import MissingArguments, RefusedKeyword, TooManyArguments
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

# Methods that so many classes have that the name says nothing.
_ANY = frozenset(
    ("__call__", "__getitem__", "__init__", "__len__", "__new__", "call", "fit", "forward", "generate", "get", "load", "main", "predict",
     "run", "save", "step", "to", "train", "update", "wrapper")
)  # fmt: skip
# A class that ends in so few letters ends so by chance.
_ENDS = 7
# A line that calls whatever it was given with whatever it was given.
_HANDS_ON = re.compile(r"\b(?:fn|func|function|f|wrapped|method|hook|forward_call)\(\*args, \*\*kwargs\)")
_DECORATES = frozenset(("torch", "accelerate"))
# A method with a shorter name is anybody's where no line calls it by its name.
_TELLING_HOOK = 12
# With more names at its top a package is no frame that projects derive from.
_FEW = 200


def calls_itself(statement: RefusedKeyword | MissingArguments | TooManyArguments, failure: Failure, package: str) -> bool:
    """Whether a package's own line calls a method of the object that it is in: it calls its own methods as they are written, so that what
    refuses the call is an override, of a class that may bear the same name (https://github.com/urchade/GLiNER/issues/208)."""
    method = statement.function.rpartition(".")[2]
    inner = failure.frames[-1] if failure.frames else None
    return inner is not None and bool(inner.package) and package_of(inner.package) == package and f"self.{method}(" in inner.text


def called_from_outside(symbols: Iterable[str], statement: RefusedKeyword, failure: Failure) -> Iterator[str]:
    """The functions that may have refused a keyword: not a package's own method where that package calls it."""
    return (one for one in symbols if not calls_itself(statement, failure, package_of(one.partition(":")[0].partition(".")[0])))


def fit_override(statement: RefusedKeyword | MissingArguments | TooManyArguments, failure: Failure) -> Fitting | None:
    """A class that no package has, whose method a package calls: what the method of that name is called with there."""
    owner, _, method = statement.function.replace(".<locals>", "").rpartition(".")
    # Before Python 3.10 no class is told: the line that called it shows that it is a method.
    inner = _caller_of(method, failure)
    if not (owner or inner) or method in _ANY or (method.startswith("__") and method.endswith("__")):
        return None
    taken = [one for one in classes_called(owner.rpartition(".")[2], failure) if defines(one, method)] if owner else []
    if any(bound is None or not calls_itself(statement, failure, bound.volume.name) for bound in map(owner_of, taken)):
        return None
    if inner is None and failure.frames:
        return None
    of_models = OF_MODELS.fullmatch(owner.rpartition(".")[2]) is not None
    packages = [package_of(inner.package)] if inner is not None else [one for one in OFTEN if not (of_models and one in TOOK_OVER)]
    known = {package: list(_classes_with(bound, method)) for package in packages if (bound := open_package(package)) is not None}
    # OurTrainer is a Trainer.
    own = owner.rpartition(".")[2]
    named = {package: [one for one in classes if len(one[1]) >= _ENDS and own.endswith(one[1])] for package, classes in known.items()}
    found: list[Fitting] = []
    if not own:
        known = {package: _given_out(bound, known[package], inner) for package in known if (bound := open_package(package)) is not None}
    for package, classes in (named if any(named.values()) else known).items():
        bound = open_package(package)
        assert bound is not None
        there = gone = 0
        where = ""
        for module, name in classes:
            good, bad = _by_base(statement, bound, module, name, method)
            if good and bad:
                there, gone, where = there | good, gone | bad, where or f"{module}:{name}"
        if where and not there & gone:
            words = f"{statement.function}() overrides {where.rpartition(':')[2]}.{method} of {package}, which {_calls(statement)}"
            told = f"{words} in the releases {write(gone, bound.volume.releases)}"
            found.append(Fitting(f"{where}.{method}", bound, there, gone, told))
    return found[0] if len(found) == 1 else None


def judge_override(statement: RefusedKeyword | MissingArguments, failure: Failure) -> Hit | None:
    """A method of the project's that a package calls, in every release that was read, otherwise than the project wrote it."""
    method = statement.function.replace(".<locals>", "").rpartition(".")[2]
    inner = _caller_of(method, failure) if method not in _ANY and not method.startswith("__") else None
    bound = open_package(package_of(inner.package)) if inner is not None else None
    own = statement.function.rpartition(".")[0].rpartition(".")[2]
    if inner is None or bound is None or (own and any(classes_called(own, failure))):
        return None
    bad = 0
    for module, name in _given_out(bound, list(_classes_with(bound, method)), inner):
        fits, refuses = _by_base(statement, bound, module, name, method)
        if fits:
            return None
        bad |= refuses
    if bad != bound.volume.all:
        return None
    if isinstance(statement, MissingArguments):
        return _of_older(statement, method, bound, inner)
    return _of_other_name(statement, method, bound, inner) if f"{statement.keyword}=" in inner.text else None


def _of_other_name(statement: RefusedKeyword, method: str, bound: Bound, inner: Frame) -> Hit:
    """https://github.com/Lightning-AI/pytorch-lightning/issues/7561: ``setup(self, mode)``."""
    package = bound.volume.name
    return Hit(
        ARGUMENT,
        True,
        detail=f"{package} passes {statement.keyword} by name to {method}() ({place_of(inner)}), in every release that was read, and the "
        f"{method}() of the object there, which is the project's, does not take it",
        packages=(package,),
        edge=f"{package}:{method}({statement.keyword})",
        headline=f"A class of the project has a {method}() that {package} cannot call",
        advice=f"def {method}(self, {statement.keyword}=None) there: the parameter by this name, in place of another one",
    )


def _of_older(statement: MissingArguments, method: str, bound: Bound, inner: Frame) -> Hit:
    """https://github.com/MPI-Lab/TPD/issues/17: ``on_train_batch_start(self, batch, batch_idx, dataloader_idx)``."""
    package, first, needs = bound.volume.name, bound.volume.releases[0], ", ".join(statement.names)
    return Hit(
        ARGUMENT,
        True,
        detail=f"the {method}() of the project's class needs {needs}, and {package} calls it without ({place_of(inner)}) in every release "
        f"that was read, from {first} on: the class was written for an earlier one",
        packages=(package,),
        edge=f"{package}:{method}({needs})",
        headline=f"The project's {method}() was written for an earlier {package}",
        advice=f"leave {needs} out of its parameters, or give it a default; or the {package} before {first} that the project names",
    )


def _caller_of(method: str, failure: Failure) -> Frame | None:
    """The package's line that calls a method: behind what only hands a call on (a decorator of torch, a hook's caller), the innermost.

    https://github.com/MPI-Lab/TPD/issues/17: Lightning calls a hook through torch's ``no_grad``.
    """
    for frame in reversed(failure.frames):
        if not frame.text and not frame.package:
            continue
        if not frame.package or not frame.text or f".{method}(" in frame.text:
            return frame if frame.package else None
        if not _HANDS_ON.search(frame.text):
            return None
        if frame.package not in _DECORATES and len(method) >= _TELLING_HOOK and "_" in method:
            return frame
    return None


def defines(symbol: str, method: str) -> bool:
    """Whether a class has a method of its own: where it takes another one's, a class of the user's has its name."""
    bound = owner_of(symbol)
    module, _, name = symbol.partition(":")
    chunk = None if bound is None else bound.volume.chunk(module)
    sheet = None if chunk is None else chunk.classes.get(name)
    return sheet is None or method in sheet.methods


def _calls(statement: RefusedKeyword | MissingArguments | TooManyArguments) -> str:
    if isinstance(statement, RefusedKeyword):
        return f"is called with {statement.keyword}"
    if isinstance(statement, MissingArguments):
        return f"is called without {', '.join(statement.names)}"
    return f"is called with {statement.given} arguments by position"


def _by_base(
    statement: RefusedKeyword | MissingArguments | TooManyArguments, bound: Bound, module: str, name: str, method: str
) -> tuple[int, int]:
    """The releases whose own method is called as the override wants it, and those whose is not."""
    good = bad = 0
    for start, end in stretches(bound.volume.provides(module, name).there):
        for place in range(start, end + 1):
            told = read(signature_at(bound.volume, module, name, (method,), place))
            if told is None:
                continue
            if isinstance(statement, RefusedKeyword):
                fits = statement.keyword not in (*told.positional, *told.keywords)
            elif isinstance(statement, MissingArguments):
                fits = set(statement.names) <= {*told.positional, *told.keywords}
            else:
                fits = len(told.positional) <= statement.takes - 1
            good, bad = (good | 1 << place, bad) if fits else (good, bad | 1 << place)
    return good, bad


def _classes_with(bound: Bound, method: str) -> Iterator[tuple[str, str]]:
    for module, _ in bound.modules(f" m {method} "):
        if (chunk := bound.volume.chunk(module)) is not None:
            yield from ((module, name) for name, sheet in chunk.classes.items() if method in sheet.methods)


def _given_out(bound: Bound, classes: Sequence[tuple[str, str]], inner: Frame | None) -> list[tuple[str, str]]:
    """Of the classes that have a method those from which projects derive: what the package that calls it gives at its top, and what that is
    made of."""
    volume = bound.volume
    newest = len(volume.releases) - 1
    tops = [top for top in volume.tops if inner is not None and top == inner.package] or list(volume.tops)
    given = {(top, name) for top in tops if (chunk := volume.chunk(top)) for name in (*chunk.links, *chunk.classes)}
    if not given or len(given) > _FEW:
        return list(classes)
    made: set[int] = set()
    for top, name in given:
        if name[:1].isupper() and (found := volume.follow(top, name, newest)) is not None:
            made |= {id(sheet) for sheet in lineage(volume, *found, newest, dynamic=True)[0]}
    kept = [one for one in classes if (chunk := volume.chunk(one[0])) is not None and id(chunk.classes[one[1]]) in made]
    return kept or list(classes)
