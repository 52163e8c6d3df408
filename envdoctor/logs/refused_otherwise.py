"""What an installer refuses for another reason than its words say: releases only tried, a variable, a package for other machines."""

from __future__ import annotations

from collections.abc import Callable

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.logs.installed_otherwise import PARTS
from envdoctor.logs.installer_rules import CONTRADICT, NO_FILE
from envdoctor.logs.refusal import Refusal, Unavailable

# What gives the same module on machines for which a package has no file: the wheels of decord 0.6.0 and eva-decord 0.6.1 on the index.
OTHERWISE = {
    "decord": "on a Mac with Apple silicon pip install eva-decord, which gives the same module (decord's own wheels are for Intel's and "
    "AMD's processors); on other machines build it from its repository",
}


# What the index has as one wheel for every Python and platform, in all releases that anybody asks for.
_FOR_ALL = frozenset(
    ("wheel", "setuptools", "pip", "six", "packaging", "requests", "certifi", "idna", "urllib3", "tqdm", "typing-extensions", "filelock",
     "fsspec", "click", "flit-core", "hatchling", "poetry-core", "build", "pyproject-hooks", "setuptools-scm", "ninja-syntax", "tomli")
)  # fmt: skip
# What is for one system alone: https://github.com/mhammond/pywin32/issues/1172 and the wheels of the others on the index.
_OF_WINDOWS = frozenset(("pywin32", "pypiwin32", "pywinpty", "windows-curses", "triton-windows", "pythonnet-winforms"))
_OF_MACS = frozenset(("pyobjc", "pyobjc-core", "pyobjc-framework-cocoa", "pyobjc-framework-quartz"))


def judge_anywhere(one: Unavailable) -> Hit | None:
    """A package that is for every Python or for one system alone, of which an installer saw no release at all."""
    if one.offered or one.why != "no release":
        return None
    if one.name in _FOR_ALL:
        headline = f"The installer reached no index: {one.name} has a wheel for every Python, and it saw none"
        detail = "no network, a proxy that lets nothing through, an index of one's own without it, or --no-index"
        advice = (
            f"python -m pip download --no-deps {one.name} -v says why: a proxy in HTTPS_PROXY, the index in pip config list "
            "(PIP_INDEX_URL), or its certificate"
        )
    elif one.name in (*_OF_WINDOWS, *_OF_MACS):
        system, marker = ("Windows", "win32") if one.name in _OF_WINDOWS else ("macOS", "darwin")
        headline = f"{one.name} is for {system} alone"
        detail = f"on another system there is no file of it; on {system} itself it is this Python for which it has none (yet)"
        advice = f"{one.name}; sys_platform == '{marker}' in the requirements, or leave it out; on {system} an older Python"
    else:
        return None
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name,), edge=one.name, headline=headline, advice=advice)


def judge_no_package(one: Unavailable, *, known: bool) -> Hit:
    """A name that the index which was asked has not at all: https://github.com/haochenheheda/segment-anything-annotator/issues/37."""
    if known:
        headline = f"The index that was asked has no {one.name}, which PyPI has"
        detail = "an index of PyTorch's or of one's own stands in place of PyPI, and not beside it"
        advice = (
            "--extra-index-url with that index, so that PyPI is asked as well (uv: --index-strategy unsafe-best-match, or an "
            "[[tool.uv.index]] with explicit = true that only torch's packages name)"
        )
    else:
        headline = f"The index that was asked has no package {one.name}"
        detail = "a line that was written by mistake, a name that was given up or changed, or a package of another index or of a repository"
        advice = (
            f"leave {one.name} out where nothing imports it (grep -rn {one.name.replace('-', '_')} .); else the name that pypi.org has, or "
            "the git+https address that the project names"
        )
    if canonical(one.name) in PARTS:
        detail, advice = "a module of another distribution, and none itself", PARTS[canonical(one.name)]
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name,), edge=one.name, headline=headline, advice=advice)


def judge_together(refusal: Refusal, translated: Callable[[str], str]) -> Hit:
    """What an installer could not bring together, where none of its sentences contradict each other."""
    asked = (name for one in refusal.asked for name in (translated(one.name), translated(one.by)) if name not in ("", "python"))
    names = tuple(dict.fromkeys(asked))
    words = "; ".join(dict.fromkeys(one.words() for one in refusal.asked[:4]))
    detail = f"{refusal.tool} found no releases that go together for {words}"
    advice = ""
    if "pytorch-cuda" in names:
        # https://pytorch.org/get-started/previous-versions/: its packages for CUDA want both channels.
        detail += "; pytorch-cuda wants CUDA's libraries of the channel nvidia"
        advice = (
            "-c pytorch -c nvidia behind the same command (both under channels: in a file; conda config --set channel_priority flexible), "
            "or torch from PyPI, which brings its CUDA"
        )
    elif len(refusal.asked) == 1 and not refusal.asked[0].by:
        # https://github.com/meta-math/MetaMath/issues/31: the other side is a line of a file that was not pasted.
        advice = (
            f"take the release off {refusal.asked[0].name} (or the line out): what requires it brings the one that it wants; pip install "
            "-r FILE once more shows the other side below 'The conflict is caused by'"
        )
    elif refusal.tool == "conda":
        advice = "a new environment with all of it in one command (conda create -n NAME ...), and with pip what is only on PyPI"
    return Hit(CONTRADICT, True, (), detail=detail, packages=names[:4], edge=names[0] if names else "", advice=advice)


def judge_tried(one: Unavailable, facts: Facts) -> Hit:
    """Releases of one package that pip refused one after the other: what it could not have is something that all of them require."""
    tried = " and ".join(one.offered[:4])
    here = f"Python {python}" if (python := facts.value("python")) is not None else "this Python"
    detail = (
        f"pip tried {one.name} {tried} one after the other and refused each: something that they require, which the lines below name "
        f"('depends on'), has no file for {here} and this platform, or clashes with what else is asked for"
    )
    advice = (
        f"a Python for which all that {one.name} requires has wheels; pip download --no-deps "
        f"{one.name}=={one.offered[-1]}, and the METADATA "
        "in it, tell what that is"
    )
    headline = f"No release of {one.name} can be installed: what it requires has no release that fits"
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name, "python"), edge=one.name, headline=headline, advice=advice)


def judge_not_filled_in(one: Unavailable) -> Hit:
    """``torch==2.1.2+${DEVICE}``: a variable that nobody replaced."""
    public = one.specifier.rstrip("+")
    detail = (
        f"{one.name}{one.specifier} ends where a variable stands: pip fills in ${{NAME}} in a requirements file, and "
        f"leaves it as it is where "
        "no environment variable of that name is set"
    )
    advice = (
        f"set the variable (export DEVICE=cpu, or cu118), or write the build in its place: {one.name}{public}+cpu, or {one.name}{public}"
    )
    headline = f"The requirement of {one.name} has a variable in it that was not filled in"
    pins = ((one.name, public),)
    return Hit(NO_FILE, True, (), detail=detail, packages=(one.name,), pins=pins, edge=one.name, headline=headline, advice=advice)
