"""One question to uv: which releases an installer would take together, on a Python and a platform that need not be this one.

uv reads the metadata of the indexes; nothing is installed and no source distribution is built, because building runs its code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import exact, version_condition
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.uv.command import ask_uv, without_downloads
from envdoctor.world.installation import Installation
from envdoctor.world.releases import releases

if TYPE_CHECKING:
    import subprocess

BUILDS = "no wheel that could be used here, and building one would run its code"
DIRECT = "it is taken from a URL, and nothing is downloaded"
ELSEWHERE = "not on the package index that was asked"
MISSING = "that release is not on the package index that was asked"
_WITHOUT = "leave --resolve out to check offline"
# A set of requirements with more packages of such a kind is told as it is.
_MOST_LEFT_OUT = 12
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_LOCAL = re.compile(r"(==\s*[^,+\s]+)\+([A-Za-z0-9._-]+)")
_NETWORK = re.compile(
    r"failed to fetch|error sending request|could not connect|dns error|network (?:is unreachable|connectivity|was disabled)", re.IGNORECASE
)
# What uv cannot use while it builds nothing, and what is not on the index that was asked but may be on that of a company.
_BUILT = re.compile(r"wheels are required for ((?:`[\w.-]+`[, and]*)+)", re.IGNORECASE)
_NOT_FOUND = re.compile(r"because ([\w.-]+) was not found in the (?:package registry|provided package locations)", re.IGNORECASE)
_NO_VERSION = re.compile(r"there is no version of ([A-Za-z0-9][\w.-]*)==", re.IGNORECASE)
# uv takes 3.8 for 3.8.0, and people say 3.8 of whichever patch release they have.
_FIRST_PATCH = re.compile(r"requested Python version \(>=3\.[0-9]+\) does not satisfy", re.IGNORECASE)
_LATE_PATCH = ".99"
_CONTROLS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)")
_PLATFORMS = {
    ("linux", "x86_64"): "x86_64-manylinux_2_28",
    ("linux", "aarch64"): "aarch64-manylinux_2_28",
    ("darwin", "arm64"): "aarch64-apple-darwin",
    ("darwin", "x86_64"): "x86_64-apple-darwin",
    ("win32", "AMD64"): "x86_64-pc-windows-msvc",
}


@dataclass(frozen=True, slots=True)
class Call:
    """How uv is called: its words, what stands on its standard input, and the lines of the files that it is given.

    ``left_out`` are the names of packages that count for nobody, ``preferences`` pins that are kept where nothing contradicts them.
    """

    words: tuple[str, ...]
    text: str
    constraints: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()


Run = Callable[[Call], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Question:
    """Requirements (PEP 508, without markers) that are to be taken together.

    ``preferences`` are versions by normalised name. ``indexes`` are lines of a requirements file (``--extra-index-url URL``), and
    ``labels`` the local labels of versions (``cu118``) that are asked for: without its label a release is the one of the default index.
    ``spared`` are packages of which a release that the index lacks is left out; of any other it is a conflict.
    """

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    preferences: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()
    labels: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Told:
    """A release that uv takes, and the packages that it is there for."""

    version: str
    via: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What uv takes; nothing, and its words as ``conflict``, where the requirements exclude each other.

    ``left_out`` are packages that uv could not judge, by normalised name, each with the reason; ``warnings`` is what it said beside.
    ``gave_up`` says that there were too many of them to go on, ``late_patch`` that the first patch release of the Python is not enough.
    """

    taken: Mapping[str, Told]
    left_out: Mapping[str, str] = field(default_factory=dict)
    conflict: str = ""
    warnings: tuple[str, ...] = ()
    gave_up: bool = False
    late_patch: bool = False


class NoIndexError(EnvdoctorError):
    """An index did not answer; ``said`` are uv's words."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__("--resolve", found=said, expected="a package index", next_step=_WITHOUT)


def answer(question: Question, installation: Installation, *, day: str | None = None, run: Run | None = None) -> Answer:
    """What uv takes together, with releases of ``day`` (YYYY-MM-DD) and before where one is named.

    A package that comes without a wheel, from a URL, or is on no index that was asked, is left out, and so is what it requires.

    Raises:
        NoIndexError: an index does not answer.
        EnvdoctorError: no uv, or one that does not come to an end.
    """
    found = _answer(question, _words(question, installation, day), run or _uv)
    python = installation.environment()["python_version"]
    if found.conflict and _FIRST_PATCH.search(found.conflict):
        late = _answer(question, _words(question, installation.with_python(f"{python}{_LATE_PATCH}"), day), run or _uv)
        return found if late.conflict else replace(late, late_patch=True)
    return found


def _words(question: Question, installation: Installation, day: str | None) -> tuple[str, ...]:
    words = ["pip", "compile", "-", "--no-header", "--no-build", "--color", "never", *_machine(installation)]
    words += [] if day is None else ["--exclude-newer", day]
    # The releases of a package may be spread over several indexes: what pip does with them.
    words += ["--index-strategy", "unsafe-best-match"] if question.indexes else []
    return tuple(words)


def _answer(question: Question, words: tuple[str, ...], run: Run) -> Answer:
    """uv's answer to one call, or to the last of several, each without what it could not use.

    Raises:
        NoIndexError: an index does not answer.
    """
    constraints = tuple(dict.fromkeys(public(line, question.labels) for line in question.constraints if " @ " not in line))
    left_out = {}
    for line in question.requirements:
        if " @ " in line or _only_source(line):
            left_out[named(line)] = DIRECT if " @ " in line else BUILDS
    while True:
        ready = [public(line, question.labels) for line in question.requirements if named(line) not in left_out]
        if not ready:
            return Answer({}, left_out)
        kept = (f"{name}=={version}" for name, version in question.preferences.items() if name not in left_out)
        text = "".join(f"{line}\n" for line in (*question.indexes, *ready))
        done = run(Call(words, text, constraints, tuple(left_out), tuple(public(line, question.labels) for line in kept)))
        warnings, said = _said(done.stderr)
        if done.returncode == 0:
            return Answer(_taken(done.stdout), left_out, warnings=warnings)
        if _NETWORK.search(said):
            raise NoIndexError(plain(said, 500))
        more = {name: why for name, why in _unusable(said, question.spared) if name not in left_out}
        if not more or len(left_out) + len(more) > _MOST_LEFT_OUT:
            return Answer({}, left_out, plain(_without_hints(done.stderr), 2000) or f"exit status {done.returncode}", warnings, bool(more))
        left_out |= more


def named(line: str) -> str:
    """The normalised name of the package that a requirement is about."""
    return canonical(re.split(r"[\[=<>!~ ]", line, maxsplit=1)[0])


def without_extras(line: str) -> str:
    return re.sub(r"\[[^\]]*\]", "", line, count=1)


def public(line: str, labels: frozenset[str] = frozenset()) -> str:
    """A requirement without the local label of its build, unless it is one of ``labels``: other indexes than the default one have those."""
    return _LOCAL.sub(lambda found: found[0] if found[2] in labels else found[1], line)


def _said(stderr: str) -> tuple[tuple[str, ...], str]:
    """uv's warnings, and its error in one line."""
    lines = [line.strip() for line in _CONTROLS.sub("", stderr).splitlines() if line.strip()]
    warnings = tuple(plain(line.partition(":")[2].strip(), 500) for line in lines if line.startswith("warning:"))
    rest = [re.sub(r"^(?:error|cause|hint):\s*|^\W+", "", line) for line in lines if not line.startswith("warning:")]
    return warnings, " ".join(rest)


def _without_hints(stderr: str) -> str:
    """uv's error in one line, without its advice: that is about options which nobody has given here."""
    return _said(re.split(r"^\s*hint:", stderr, maxsplit=1, flags=re.MULTILINE)[0])[1]


def _unusable(said: str, spared: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The packages that uv's words say it cannot use, each with the reason."""
    for found in _BUILT.finditer(said):
        yield from ((canonical(name), BUILDS) for name in re.findall(r"`([^`]+)`", found[1]))
    for found in _NOT_FOUND.finditer(said):
        yield canonical(found[1]), ELSEWHERE
    for found in _NO_VERSION.finditer(said):
        if canonical(found[1]) in spared:
            yield canonical(found[1]), MISSING


def _only_source(line: str) -> bool:
    """Whether the newest release that a requirement admits comes without a wheel; False where its releases are not known."""
    name = named(line)
    wanted = version_condition(without_extras(public(line))[len(name) :])
    for release in reversed(releases(name)):
        if not release.yanked and wanted.admits(exact(release.version)):
            return not release.wheel
    return False


def _machine(installation: Installation) -> list[str]:
    told = installation.environment()
    full = installation.stated.get("python_full_version", "")
    words = ["--python-version", full if full.count(".") == 2 and not full.endswith(".0") else told["python_version"]]
    platform = _PLATFORMS.get((told["sys_platform"], told["platform_machine"]))
    return words if platform is None else [*words, "--python-platform", platform]


def _taken(text: str) -> dict[str, Told]:
    """The releases of uv's output, each with the packages that it is there for: they are named below it, after ``# via``."""
    pins: dict[str, Told] = {}
    name = ""
    for line in text.splitlines():
        found = _PINNED.fullmatch(line.rstrip())
        if found:
            name = canonical(found[1])
            try:
                exact(found[2])
            except ValueError:
                name = ""
                continue
            pins[name] = Told(found[2])
        via = line.strip().removeprefix("#").removeprefix(" via").strip()
        if not found and name and via:
            pins[name] = replace(pins[name], via=(*pins[name].via, canonical(via)))
    return pins


def _uv(call: Call) -> subprocess.CompletedProcess[str]:
    # A marker that holds nowhere takes a package out, whoever asks for it.
    nowhere = [f'{name} ; sys_platform == "nowhere"' for name in call.left_out]
    # What stands in the output file already is what uv prefers.
    files = {"--constraint": call.constraints, "--override": nowhere, "--output-file": call.preferences}
    environ = _environ(os.environ, several="--extra-index-url" in call.text)
    return ask_uv(call.words, call.text, environ, files=files, place="--resolve", next_step=_WITHOUT)


def _environ(environ: Mapping[str, str], *, several: bool) -> dict[str, str]:
    """What uv reads from the environment. Of several indexes one may be out of reach, and the others are asked without it soon."""
    told = without_downloads(environ)
    if "PIP_EXTRA_INDEX_URL" in told:
        told.setdefault("UV_INDEX", told["PIP_EXTRA_INDEX_URL"])
    if several:
        told.setdefault("UV_HTTP_RETRIES", "1")
        told.setdefault("UV_HTTP_TIMEOUT", "15")
    return told
