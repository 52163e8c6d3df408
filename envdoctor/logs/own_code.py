"""Errors of a project's own code: what failed and what it asked for are both its own, and no package is accused.

Told only where the text shows it: the innermost frame is the project's, or the module that was not found has the name of its folder.
"""

from __future__ import annotations

import re

from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OFTEN, classes_named, has_function
from envdoctor.logs.statements import (
    MissingArguments,
    MissingMember,
    MissingModule,
    MissingName,
    RefusedKeyword,
    Statement,
    TooManyArguments,
    UndefinedName,
)
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of
from envdoctor.world.other_names import other_distribution
from envdoctor.world.releases import listed

OWN, MODULE_GONE, NAME_GONE = "error-of-own-code", "error-module-missing", "error-name-missing"
_OF_PYTHON = re.compile(r"[\\/]lib[\\/]python3[\w.]{0,6}[\\/](?!(?:site|dist)-packages)|<frozen |<string>|importlib|[\\/]runpy\.py$")
# What a line does to its own values. Of the members and arguments of objects nobody knows whose they are.
_OF_ITS_VALUES = frozenset(
    ("KeyError", "IndexError", "AssertionError", "ZeroDivisionError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError",
     "FileNotFoundError", "JSONDecodeError", "UnicodeDecodeError")
)  # fmt: skip
# What somebody who runs out of memory or loses a peer has on their screen is no fault of the line that was running.
_OF_THE_MACHINE = re.compile(
    r"out of memory|CUDA|cuda|NCCL|cuDNN|Connection|timed? ?out|No space left|HTTP|Client Error|certificate", re.IGNORECASE
)

# Of a class that no package gives: builtins have lower-case names.
_OWN_OBJECT = re.compile(r"'(?P<cls>(?!NoneType)[A-Z]\w{3,80})' object has no attribute '(?P<name>\w{1,80})'$")
RAISED_IN_OWN = "It was raised in the project's own code"
_NOTHING = (
    "look where that value comes from: a setting or a path that is missing or null in the configuration, a file that was not "
    "found or is of "
    "another kind, or a function that returned nothing"
)


def innermost_own(failure: Failure) -> Frame | None:
    """The innermost frame where that is the project's own; None where it is a package's, or nobody printed one."""
    frames = [frame for frame in failure.frames if not _OF_PYTHON.search(frame.path)]
    return frames[-1] if frames and not is_of_a_package(frames[-1]) else None


def is_of_a_package(frame: Frame) -> bool:
    """Whether a frame is of something that others install; a checkout that nobody knows is a project like any."""
    name = package_of(frame.package) if frame.package else ""
    return bool(name) and ("-packages" in frame.path or frame.package == "transformers_modules" or name in listed() or is_known(name))


def package_in(frame: Frame) -> str:
    """The package in whose installed code a frame is; empty for a project's own."""
    return package_of(frame.package) if frame.package and is_of_a_package(frame) else ""


def is_known(package: str) -> bool:
    """Whether the releases of a package were read."""
    return open_package(package) is not None


def _passes_packages(failure: Failure) -> bool:
    return any(is_of_a_package(frame) for frame in failure.frames)


def judge_beside_itself(one: MissingModule, failure: Failure) -> Hit | None:
    """A module with the name of a folder that the failing file lies in: a project that is not installed, started from elsewhere."""
    top = one.name.partition(".")[0]
    frame = next((one for one in reversed(failure.frames) if not _OF_PYTHON.search(one.path)), None)
    if frame is None or _is_anybodys(one) or "-packages" in frame.path:
        return None
    parts = re.split(r"[\\/]", frame.path)
    if top not in parts[:-1]:
        return None
    where = "/".join(parts[: parts.index(top)]) or f"the folder that holds {top}"
    if "." in one.name:
        return _of_sources(one, frame, where)
    # What has a compiled part does not run from its sources.
    _, how = other_distribution(top) or ("", "")
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)} imports {one.name}, and lies in that folder itself: Python does not look in {where}",
        edge=f"module:{one.name}",
        headline=f"The project's own module {top} is not found from where it was started",
        advice=how or f"pip install -e . in {where}, or start it from there",
    )


def _of_sources(one: MissingModule, frame: Frame, where: str) -> Hit:
    """A part that a package has not, which was found: Python tells of the first part that is missing (``a`` of ``a.b``)."""
    above, _, last = one.name.rpartition(".")
    top = one.name.partition(".")[0]
    _, how = other_distribution(top) or ("", "")
    if last.startswith("_"):
        # Python looks first in the folder that it was started in, or that the script lies in (its sys.path).
        headline = f"{top} is imported from its sources, which have no compiled {last}"
        detail = f"{place_of(frame)} imports {one.name}: {above} was found in {where}, and what a build would make is not there"
        advice = (
            how
            or f"start Python in another folder than {where}, so that the installed {top} is found; or build it there (pip install -e .)"
        )
    else:
        headline = f"The {top} that was found has no {one.name}"
        detail = (
            f"{place_of(frame)} imports it: another folder or package called {top} comes first, or {last} is not among the files of this "
            "state of the project"
        )
        advice = how or f"python -c 'import {above}; print({above}.__path__)' where it failed shows which is found; take the project whole"
    return Hit(OWN, True, detail=detail, edge=f"module:{one.name}", headline=headline, advice=advice)


# Packages of which no releases are kept, by their module, and what went from them when, and what has it now.
# https://github.com/PaddlePaddle/Paddle/issues/62967, https://github.com/PaddlePaddle/PaddleNLP/issues/8029
_DISTRIBUTIONS = {"paddle": ("paddlepaddle", "paddlepaddle-gpu")}
_WENT = {
    "paddle.fluid": (
        "paddlepaddle has no paddle.fluid since 2.6.0: what is left of it is paddle.base",
        'pip install "paddlepaddle==2.5.2" (paddlepaddle-gpu likewise), or a later release of what asks for it, which does without',
    ),
}


def stated_as(top: str, facts: Facts) -> str:
    """The distribution that is stated and gives a module of that name; empty where none is."""
    names = (*_DISTRIBUTIONS.get(top, ()), canonical(top))
    return next((name for name in names if facts.value(f"packages.{name}") is not None), "")


def judge_moved(one: MissingModule, failure: Failure, facts: Facts) -> Hit | None:
    """A part of a package that is there: Python names ``a.b`` where it found ``a``, and ``a`` alone where it did not."""
    above, _, last = one.name.rpartition(".")
    top = one.name.partition(".")[0]
    if not above or _is_anybodys(one):
        return None
    stated = stated_as(top, facts)
    went = next((told for name, told in _WENT.items() if one.name == name or one.name.startswith(f"{name}.")), None)
    frame = innermost_own(failure)
    where = f"{place_of(frame)} imports it; " if frame is not None else ""
    detail, advice = went or (
        f"{where}{above} was found, and has no {last}: it moved or went in a later release, came after this one, or is of files that were "
        f"not installed; a folder of your own called {top} does the same",
        f"python -c 'import {above}; print({above}.__path__)' shows what is imported, and where {last} is now; take the "
        f"code and {top} of one "
        "state: an example of the tag that is installed, or the release that the code was written for",
    )
    release = facts.value(f"packages.{stated}") if stated else None
    there = f"{stated} {release}" if isinstance(release, Exact) and went is None else ""
    if there:
        detail = f"{where}{above} was found, and has no {last}: it went by {there}, or came after it; a folder called {top} hides it too"
        advice = f'pip install "{stated}<{release}" for code that is older than {there}, and "{stated}>{release}" for newer code; {advice}'
    return Hit(
        OWN if went is None else MODULE_GONE,
        True if went is not None or stated else None,
        detail=detail,
        packages=(stated,) if stated else _DISTRIBUTIONS.get(top, ())[:1],
        edge=f"module:{one.name}",
        headline=f"{there or f'The {top} that is there'} has no module {one.name}",
        advice=advice,
    )


def judge_own_module(one: MissingModule, failure: Failure) -> Hit | None:
    """A module that no package that anybody knows gives, asked for by the project."""
    frame = innermost_own(failure)
    if _is_anybodys(one) or (frame is None and (failure.frames or one.name.startswith("_"))):
        return None  # what begins so is a private part of a package, which a saved object or a compiled file asks for
    top = one.name.partition(".")[0]
    if frame is not None and frame is failure.frames[-1] and top == one.name:
        return _not_found(top, frame)
    where = f"{place_of(frame)} imports it; " if frame is not None else ""
    return Hit(
        OWN,
        None,
        detail=f"{where}it is a project's own, of a package that nobody tracks here, or mistyped",
        edge=f"module:{one.name}",
        headline=f"No package that is known here gives a module {top}",
        advice="pip install -e . in the project's folder, or start it from there; else pip install what its page names",
    )


def _not_found(top: str, frame: Frame) -> Hit:
    """A module at the top that a file of the project imports, and this Python has nowhere: https://github.com/ostris/ai-toolkit/issues/103."""
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)} imports it; it was installed for another Python, or not at all, or is the project's own",
        edge=f"module:{top}",
        headline=f"The Python that runs this finds no module {top}",
        advice=f"what the project's requirements or its page name for {top}, installed with the very Python that runs this (python -m "
        f"pip); where it is the project's own, pip install -e . in the project's folder, or start it from the folder that has {top}",
    )


def _is_anybodys(one: MissingModule) -> bool:
    """Whether a module is of a package that is known, or of a name that stands before a file of the user's."""
    package = package_of(one.name)
    return bool(one.shadowed) or package in listed() or is_known(package)


def judge_stated_name(one: MissingName, facts: Facts) -> Hit | None:
    """A name that a stated package does not have of which no releases are kept."""
    top = one.module.partition(".")[0]
    stated = stated_as(top, facts) if top else ""
    if not stated or is_known(package_of(top)) or package_of(top) in listed() or one.circular:
        return None
    release = facts.value(f"packages.{stated}")
    detail = f"{stated} {release} is stated, and its {one.module} has no {one.name}: it came with a later release, or went with this one"
    advice = (
        f"the {stated} that what asks for {one.name} was written for: newer where that is newer than {stated} {release}, and older "
        "where it is older"
    )
    return Hit(
        NAME_GONE, True, detail=detail, packages=(stated,), edge=f"{stated}:{one.module}.{one.name}", advice=advice,
        headline=f"{stated} {release} has no {one.name}",
    )  # fmt: skip


def judge_own_name(one: MissingName, failure: Failure) -> Hit | None:
    """A name that the project's own module does not have."""
    top = one.module.partition(".")[0]
    frame = innermost_own(failure)
    if not one.module or frame is None or package_of(one.module) in listed() or "-packages" in one.path or one.circular:
        return None
    if is_known(package_of(one.module)):
        return None
    return Hit(
        OWN,
        # A module whose file nobody printed may be of a package that nobody knows here.
        True if one.path or top in re.split(r"[\\/]", frame.path) else None,
        detail=f"{place_of(frame)} imports it",
        edge=f"name:{one.module}.{one.name}",
        headline=f"{one.module}, a module of the project's own, has no {one.name}",
        advice="take the newest state of the project, whole: files of two states lie side by side, or one has the name of another",
    )


def judge_own_option(one: MissingMember, failure: Failure) -> Hit | None:
    """An option that a script asks its own command line for and that its parser does not have."""
    frame = innermost_own(failure)
    if one.cls != "Namespace" or (frame is None and failure.frames):
        return None
    where = f"{place_of(frame)}: " if frame is not None else ""
    return Hit(
        OWN,
        True if frame is not None else None,
        detail=f"{where}the values of a command line have no {one.name}: no option of that name was added to the parser, or it was renamed",
        edge=f"option:{one.name}",
        headline=f"The script asks its command line for {one.name}, which its parser does not have",
        advice=f"add the option --{one.name}, or take the script and what it calls at one state of the project",
    )


def judge_own_call(statement: Statement | None, failure: Failure) -> Hit | None:
    """A name that a file of the project never defines, or a function of the project that it calls otherwise than it is written."""
    frame = innermost_own(failure)
    if frame is None:
        return None
    if isinstance(statement, UndefinedName):
        return Hit(
            OWN,
            True,
            detail=f"{place_of(frame)}: an import, a line or a notebook's cell was left out or did not run, or the name is misspelt",
            edge=f"undefined:{statement.name}",
            headline=f"The project's own code uses the name {statement.name}, and nothing before that defines it",
            advice=f"define or import {statement.name} there, or run the cell that does",
        )
    if not isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments)) or _passes_packages(failure):
        return None
    function = statement.function
    if function == "__init__":
        return _of_some_class(statement, frame)
    if not function or "." in function or any(has_function(package, function) for package in OFTEN):
        return None
    how = say_how(statement)
    if f".{function}(" in frame.text:
        return _of_some_object(function, how, frame)
    return Hit(
        OWN,
        True,
        detail=f"{place_of(frame)} calls it: one of the project's own, whose files are of two states, or of a package that nobody tracks",
        edge=f"call:{function}",
        headline=f"{function}() {how}, and the project calls it otherwise",
        advice="take the newest state of the project, whole; or correct the call",
    )


def _of_some_object(function: str, how: str, frame: Frame) -> Hit:
    """A method of an object of which no line says whose it is: https://github.com/vita-epfl/CrowdNav/issues/45."""
    return Hit(
        OWN,
        None,
        detail=f"{place_of(frame)}: `{frame.text[:120]}`; whose object that is no line says: one of a package of another release than the "
        "project was written for, or the project's own",
        edge=f"call:{function}",
        headline=f"{function}() of the object that the project calls there {how}",
        advice=f"print(type(...)) of that object before the call, and install the release of its package that the project's requirements "
        f"name; or call {function}() as that class writes it",
    )


def say_how(statement: RefusedKeyword | MissingArguments | TooManyArguments) -> str:
    """In which way a call and what is called do not go together."""
    if isinstance(statement, RefusedKeyword):
        return f"does not take {statement.keyword}"
    if isinstance(statement, MissingArguments):
        return f"needs {', '.join(statement.names)}"
    return f"takes fewer arguments than the {statement.given} it is given"


def _of_some_class(statement: RefusedKeyword | MissingArguments | TooManyArguments, frame: Frame) -> Hit:
    """A class that is made otherwise than it wants, of which Python before 3.10 tells no name: it may be anybody's."""
    how = say_how(statement)
    keyword = statement.keyword if isinstance(statement, RefusedKeyword) else ""
    made = re.search(rf"\b([A-Za-z_]\w*)\((?:[^()]*,)?\s*{re.escape(keyword)}\s*=", frame.text) if keyword else None
    ends = f"makes a {made[1]}" if made else "ends the call, whose first line names the class; Python before 3.10 does not"
    return Hit(
        OWN,
        True if made else None,
        detail=f"{place_of(frame)} {ends}: it is of a package whose release is another than the project was written for, or of the project",
        edge=f"class:{frame.path[-60:]}:{frame.line}",
        headline=f"{made[1]}(), as the project makes it there, {how}" if made else f"A class that the project makes there {how}",
        advice="look up the class at that call, and install the release of its package that the project's requirements name, or that of "
        "the project's day",
    )


def judge_own_lines(failure: Failure) -> Hit | None:
    """At last: an error that was raised in the project's own lines, with no package on the way."""
    frame = innermost_own(failure)
    if frame is None or _passes_packages(failure) or not failure.told:
        return None
    if (of_own := _OWN_OBJECT.match(failure.message)) is not None and failure.kind == "AttributeError":
        return _of_two_states(of_own, frame)
    nothing = failure.kind in ("AttributeError", "TypeError") and "'NoneType' object" in failure.message
    if failure.kind not in _OF_ITS_VALUES and not nothing and not frame.text.startswith("raise "):
        return None
    if not frame.path.endswith((".py", "<notebook>")) or _OF_THE_MACHINE.search(failure.told):
        return None
    code = f": `{frame.text[:120]}`" if frame.text else ""
    return Hit(
        OWN,
        None,
        detail=f"{place_of(frame)}{code}; no package is on the way, and none is known to be behind it",
        edge=f"lines:{frame.path[-60:]}:{frame.line}",
        headline="The project's own code got nothing (None) where it wants a value" if nothing else RAISED_IN_OWN,
        advice=_NOTHING if nothing else "look at what that line works on: an argument, a setting, a file, or a row of the data",
    )


def _of_two_states(told: re.Match[str], frame: Frame) -> Hit | None:
    """An object of a class that is none of a package's that was read, and what it lacks: parts of one project that are of two states."""
    if next(classes_named(told["cls"]), None) is not None:
        return None
    if told["cls"].endswith("Trainer"):
        # https://github.com/princeton-nlp/MeZO/issues/12: what it inherits is of the release that runs.
        return Hit(
            OWN,
            None,
            detail=f"{place_of(frame)} asks a {told['cls']} for {told['name']}, which the Trainer that it derives from (that of "
            "transformers, as a rule) gave it in the release that the project was written for",
            packages=("transformers",),
            edge=f"object:{told['cls']}.{told['name']}",
            headline=f"{told['cls']} has no {told['name']}: it inherits from a class of another release",
            advice="install the release that the project's requirements name, or that of the project's day; a newer state of the project",
        )
    return Hit(
        OWN,
        None,
        detail=(
            f"{place_of(frame)} asks a {told['cls']} for {told['name']}; no package that was read has such a class: it is of the project, "
            "or of what it brings along"
        ),
        edge=f"object:{told['cls']}.{told['name']}",
        headline=f"{told['cls']} has no {told['name']}: the parts of the project are of two states",
        advice=(
            "bring the project and what it brings (submodules, repositories, its requirements file) to one state: the newest, "
            "or that of a release"
        ),
    )
