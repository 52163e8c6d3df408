"""What a package has, and a run did not find: a file that stands before it, another release that ran, files of two releases, or a name
that is another package's.
"""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import write
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.volume import DamagedAtlasError, Volume, sum_of
from envdoctor.atlas.words import good_specifiers
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.asked import ATTRIBUTE, MODULE
from envdoctor.logs.callables_named import OFTEN
from envdoctor.logs.callers import caller_of
from envdoctor.logs.renames import is_of_no_release, respelled
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

# Distributions that bring a fork under the import name of another one: https://github.com/adapter-hub/adapters says so of the first.
FORKS = {"transformers": ("adapter-transformers",)}
# Distributions that bring one folder.
_SHARED = {
    "triton": ("triton-ascend", "triton-windows", "pytorch-triton", "pytorch-triton-rocm"),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime-directml"),
    "opencv-python": ("opencv-python-headless", "opencv-contrib-python"),
    "tensorflow": ("tensorflow-cpu", "tensorflow-intel", "tensorflow-gpu"),
    "faiss-cpu": ("faiss-gpu",),
}
# A name with fewer letters stands in packages that have nothing to do with each other.
_TELLING = 6


def tell_hidden(symbol: str, family: str, volume: Volume, failure: Failure) -> Hit:
    """What all releases have, and the run did not find: something stands before it, or it could not be imported."""
    module, _, name = symbol.partition(":")
    top = module.partition(".")[0]
    if family == ATTRIBUTE and name and _is_submodule(volume, module, name):
        return _tell_submodule(module, name, volume, failure)
    detail = (
        f"an older or a newer release, a file or folder of your own called {top} that is imported in its place, files of two releases in "
        "one folder, or something that its module imports and that is missing: the lines above this one would say so"
    )
    caller = caller_of(failure, volume.name)
    others = _SHARED.get(volume.name, ())
    headline = f"{volume.name} has {name or module} in all releases that were read, and it was not found"
    of_package = family != ATTRIBUTE or not name or module != top or bool(others)
    if not of_package:
        headline = f"What is imported as {top} is not the package {volume.name}: that has {name} in each release that was read"
        less = "an older or a newer release, files of two in one folder, or an import of its own that failed: the lines above would say so"
        detail = f"{_in_its_place(top, caller.package)}; or {less}"
    if others:
        # https://github.com/vllm-project/vllm-ascend/pull/7790
        shared = f"{', '.join((volume.name, *others))} put their files into one folder"
        detail = f"{shared}: removing or upgrading one takes files of another; or {detail}"
    return Hit(
        family,
        True,
        (),
        detail=detail,
        packages=tuple(dict.fromkeys(one for one in (volume.name, caller.package) if one)),
        edge=f"{caller.package or 'code'}:{symbol.replace(':', '.')}:hidden",
        headline=headline,
        advice=_look(top)
        if of_package
        else _look_at_path(top)
        if not others
        else f"pip uninstall -y {' '.join((volume.name, *others))} until none is left, then install the one that "
        f"this torch or device wants; {_look(top)}",
    )


def _in_its_place(top: str, caller: str) -> str:
    """What is found first in the place of a package: a folder of who asks that has its name, one of the project, or what an uninstall left.

    A folder without ``__init__.py`` is a package too, and an empty one (https://docs.python.org/3/reference/import.html#namespace-packages).
    """
    inner = caller.replace("-", "_")
    told = look_up(f"{inner}.{top}") if inner and inner != top else None
    if told is not None and told.kind == "module" and told.there:
        return (
            f"{inner} has a folder {inner}/{top} of its own, which is found first where the run starts inside {inner} or by a path "
            f"of a file in it (a debugger does so): start it as a module (python -m {inner}...) from another folder"
        )
    return (
        f"a folder {top} where the run starts (a clone, outputs, a data set) or a file {top}.py stands before it, or a folder that an "
        "uninstall left in site-packages"
    )


def _is_submodule(volume: Volume, module: str, name: str) -> bool:
    """Whether a name is that of a module alone, which no release's parent imports in the newest of them."""
    chunk, newest = volume.chunk(module), 1 << (len(volume.releases) - 1)
    if chunk is None or not volume.has_module(f"{module}.{name}") & newest:
        return False
    bound = chunk.names.get(name, 0) | sum_of(chunk.functions.get(name, {})) | sum_of(chunk.links.get(name, {}))
    inner = f"{module}.{name}"
    taken = sum_of({target: mask for target, _, mask in chunk.imports if target == inner or target.startswith(f"{inner}.")})
    return not (bound | taken) & newest and name not in chunk.classes


def _tell_submodule(module: str, name: str, volume: Volume, failure: Failure) -> Hit:
    """A submodule is an attribute of its package once somebody has imported it (https://docs.python.org/3/reference/import.html#submodules);
    https://github.com/huggingface/transformers/issues/11193."""
    caller = caller_of(failure, volume.name)
    asks = caller.words(Facts({}), volume.name, "uses")
    return Hit(
        ATTRIBUTE,
        True,
        detail=f"{module}.{name} is a module of {volume.name}, which importing {module} does not load: it is there after somebody imported "
        f"it; {asks} and relies on another import for that",
        packages=tuple(dict.fromkeys(one for one in (volume.name, caller.package) if one)),
        edge=f"{caller.package or 'code'}:{module}.{name}:unimported",
        headline=f"Nobody imported {module}.{name} before it was used",
        advice=f"import {module}.{name} at the top of the script or of that file"
        + (f"; or a release of {caller.package} that imports it itself" if caller.package else ""),
    )


def tell_another(symbol: str, family: str, volume: Volume, release: str, gone: int, failure: Failure) -> Hit:
    """What the stated release has, and the run did not find: its files are not those that ran. ``gone`` are the releases without it."""
    caller = caller_of(failure, volume.name)
    if family == ATTRIBUTE and _is_set_by_itself(symbol, volume):
        return _tell_unset(symbol, volume, release, gone, caller.package)
    forks = FORKS.get(volume.name, ())
    moved = dict.fromkeys(name for name in (volume.name, caller.package) if name)
    fork = f", or {' or '.join(forks)} was installed over it, which has the same import name" if forks else ""
    detail = (
        f"another release ran (without it: {write(gone, volume.releases)}), in another environment or by files that an upgrade left "
        f"behind{fork}; or the package does not give it there"
    )
    return Hit(
        family,
        True,
        (),
        detail=detail,
        packages=tuple(dict.fromkeys(name for name in (volume.name, caller.package, *forks) if name)),
        edge=f"{caller.package or 'code'}:{symbol}:elsewhere",
        headline=f"{volume.name} {release} is stated, and its files have {symbol}",
        advice=f"pip install -U {' '.join(moved)} with the Python that runs (python -m pip), then start it, or the kernel, anew: what was "
        f"imported before stays in memory; {_look(symbol.partition('.')[0])}",
    )


def _is_set_by_itself(symbol: str, volume: Volume) -> bool:
    """Whether methods of a class set what an object of it lacks: when they do, no release says."""
    owner, _, member = symbol.rpartition(".")
    module, _, cls = owner.rpartition(".")
    bound = open_package(volume.name)
    chunk = bound.chunk(module) if bound is not None and cls[:1].isupper() else None
    shown = re.search(rf"(?m)^c {re.escape(cls)}(?:\t.*)?\n(?P<body>(?: .*\n?)*)", chunk or "")
    return shown is not None and re.search(rf"(?m)^ a (?:.* )?{re.escape(member)}(?: |\t|$)", shown["body"]) is not None


def _tell_unset(symbol: str, volume: Volume, release: str, gone: int, caller: str) -> Hit:
    """The same of what an object gets as it goes.

    https://github.com/gradio-app/gradio/pull/3640, https://github.com/jxiw/MambaInLlama/issues/2.
    """
    cls, member = symbol.split(".")[-2:]
    return Hit(
        ATTRIBUTE,
        True,
        (),
        detail=f"{cls} of {volume.name} {release} sets {member} itself: a step that sets it (launch, queue, prepare, loading) did not "
        "run on this object, a class derived from it does not call its __init__, it was pickled by an earlier release, or another release "
        f"ran than is stated (without it: {write(gone, volume.releases)})",
        packages=tuple(dict.fromkeys(name for name in (volume.name, caller) if name)),
        edge=f"{caller or 'code'}:{symbol}:elsewhere",
        headline=f"{cls} of {volume.name} was used before {member} was set",
        advice=f"look in {volume.name} for the method that sets {member}, and call it before; {_look(symbol.partition('.')[0])}",
    )


# A helper in a package's folder _internal, which its own files alone import: https://github.com/open-webui/pipelines/issues/370
_INTERNAL = re.compile(r"(?P<module>[a-z]\w*\._internal(?:\.\w+)*)[.:](?P<name>[a-z_]\w*)")
_BESIDE = {"pydantic": "pydantic pydantic-core"}


def _of_two_releases(module: str, name: str, family: str, package: str, release: str) -> Hit:
    wanted = _BESIDE.get(package, package)
    wanted = wanted.replace(package, f"{package}=={release}", 1) if release else wanted
    return Hit(
        family,
        True,
        (),
        detail=f"{module} is for {package}'s own files alone, so that it is one of these that asks it for {name}: an install over another "
        "one, two folders of site-packages, or a program that ran while it was upgraded",
        packages=(package,),
        edge=f"{package}:{module}.{name}",
        headline=f"The files of {package} are of two releases",
        advice=f"pip install --force-reinstall --no-cache-dir {wanted}, and start the program (kernel, container, pod) anew, out of "
        "a fresh environment where it stays",
    )


def judge_mixed(symbol: str, family: str, package: str, release: str, failure: Failure) -> Hit | None:
    """A package whose own file imports what the package does not have; None where the import is another one's."""
    last = failure.frames[-1] if failure.frames else None
    if last is None and not failure.near and (found := _INTERNAL.fullmatch(symbol)) is not None:
        return _of_two_releases(found["module"], found["name"], family, package, release)
    if last is None or package_of(last.package) != package or "import" not in last.text or symbol.rpartition(".")[2] not in last.text:
        return None
    if family == MODULE and not release:
        return _left_out(symbol, package, place_of(last))
    detail = (
        f"its own {place_of(last)} imports {symbol}, and its files have none: an upgrade left files behind, or the program (the notebook) "
        "began before it"
    )
    wanted = f"{package}=={release}" if release else package
    return Hit(
        family,
        True,
        (),
        detail=detail,
        packages=(package,),
        edge=f"{package}:{symbol}",
        headline=f"The files of {package} are of two releases",
        advice=f"pip install --force-reinstall --no-deps {wanted}, and start Python (the kernel) anew",
    )


def _left_out(symbol: str, package: str, place: str) -> Hit:
    """A module that a package's own file imports and that is not there: a build leaves out a folder without ``__init__.py``, and what it
    made is the same after the next install. https://github.com/deepspeedai/DeepSpeed/pull/7591"""
    told, bound = look_up(symbol), open_package(package)
    there = told.there if told is not None else 0
    pins: tuple[tuple[str, str], ...] = ()
    have = ""
    if bound is not None and there:
        have = f"; the releases {write(there, bound.volume.releases)} have it"
        pins = tuple((package, one) for one in good_specifiers(bound.volume, bound.volume.all & ~there, 0) if one.startswith(">="))
    detail = (
        f"its own {place} imports {symbol}, and its files have none{have}: the build left that folder out (a state between releases, built "
        "from its source), or an upgrade left files behind"
    )
    return Hit(
        MODULE,
        True,
        detail=detail,
        packages=(package,),
        pins=pins,
        edge=f"{package}:{symbol}",
        headline=f"{package} imports a module of its own that was not installed",
        advice=f"built from source: copy or add the folder (with an __init__.py) and build again, or take a release that has it; a "
        f"release: pip install --force-reinstall --no-deps {package}, and start Python (the kernel) anew",
    )


def other_owner(symbol: str) -> str:
    """``module:name`` where one other package has the name at its top: it is imported from the wrong one. Else empty."""
    name = symbol.rpartition(".")[2]
    tops = (f"{top}:{name}" for package in OFTEN if (bound := open_package(package)) is not None for top in bound.volume.tops)
    found = [one for one in tops if (told := look_up(one)) is not None and told.there]
    return found[0] if len(found) == 1 and len(name) >= _TELLING else ""


def of_no_release(module: str, name: str, package: str) -> tuple[str, str] | None:
    """What to think of a name that no release of a package has: mistyped, or of a changed copy (https://github.com/zsyOAOA/InvSR/issues/7)."""
    try:
        if not is_of_no_release(f"{module}:{name}"):
            return None
        spelled = respelled(f"{module}:{name}")
    except DamagedAtlasError:
        return None
    if spelled:
        return "; no release that was read has it", spelled
    top = module.partition(".")[0]
    known = f"; no release that was read has it: it is of a copy of {package} that a project changed, or of a state that is not released"
    advice = (
        f"install the {package} that the project brings or names (a folder {top} in its repository: pip uninstall {package}, then "
        "pip install -e . there; or the git+https line of its requirements)"
    )
    return known, advice


def _look_at_path(top: str) -> str:
    return (
        f"python -c 'import {top}; print({top}.__path__ if hasattr({top}, \"__path__\") else {top}.__file__)' in the folder where it "
        f"failed shows what is imported: rename or leave that folder or file; in site-packages, remove it and install {top} anew"
    )


def _look(top: str) -> str:
    return f"python -c 'import {top}; print({top}.__file__, {top}.__version__)' where it failed shows what is imported"
