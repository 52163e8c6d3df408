"""What an installer would take of what is declared, today or on a day before: the whole resolution, as uv makes it.

uv reads the metadata of the index; nothing is installed and no source distribution is built, because building runs its code.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envdoctor.environments import uv_command, uv_environ
from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Defect, Fact, Origin, Skip
from envdoctor.names import canonical
from envdoctor.releases import releases
from envdoctor.sources.installation import Installation
from envdoctor.sources.jsonfile import plain
from envdoctor.versions import Exact, exact, version_condition

TIMEOUT_S = 300.0
UNRESOLVABLE = "requirements-unresolvable"
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_LOCAL = re.compile(r"(==\s*[^,+\s]+)\+[A-Za-z0-9.]+")
_NETWORK = re.compile(
    r"failed to fetch|error sending request|could not connect|dns error|network (?:is unreachable|connectivity|was disabled)", re.IGNORECASE
)
# What uv cannot use while it builds nothing, and what is not on the index that was asked but may be on that of a company.
_BUILT = re.compile(r"wheels are required for ((?:`[\w.-]+`[, and]*)+)", re.IGNORECASE)
_NOT_FOUND = re.compile(r"because ([\w.-]+) was not found in the package registry", re.IGNORECASE)
_BUILDS = "no wheel that could be used here, and building one would run its code"
_DIRECT = "it is taken from a URL, and nothing is downloaded"
_ELSEWHERE = "not on the package index that was asked"
_WITHOUT = "leave --resolve out to check offline"
# A set of requirements with more packages of such a kind is told as it is.
_MOST_LEFT_OUT = 12
_PLATFORMS = {
    ("linux", "x86_64"): "x86_64-manylinux_2_28",
    ("linux", "aarch64"): "aarch64-manylinux_2_28",
    ("darwin", "arm64"): "aarch64-apple-darwin",
    ("darwin", "x86_64"): "x86_64-apple-darwin",
    ("win32", "AMD64"): "x86_64-pc-windows-msvc",
}
Run = Callable[[Sequence[str], str, Sequence[str], Sequence[str]], "subprocess.CompletedProcess[str]"]
"""Asks uv: words, requirements, constraints, and the names of packages that are to be left out."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A release that uv takes, and the packages that it is there for."""

    version: str
    via: tuple[str, ...] = ()


def resolved(
    stated: Collected, installation: Installation, *, day: str | None = None, beside: Sequence[str] = (), run: Run | None = None
) -> Collected:
    """What is declared with every package at the release that uv takes, and with the packages that those pull in.

    ``day`` (YYYY-MM-DD): only releases of that day and before. ``beside`` are requirements of others that are installed together
    with these. A package that comes without a wheel, or is on no index that was asked, is said, and the rest is resolved without it
    and without its dependencies. What cannot be resolved at all is a defect in uv's own words.

    Raises:
        EnvdoctorError: no uv, or no index that answers.
    """
    if not stated.wanted:
        return stated
    words = ["pip", "compile", "-", "--no-header", "--no-build", "--color", "never", "--quiet", *_machine(installation)]
    words += [] if day is None else ["--exclude-newer", day]
    constraints = tuple(dict.fromkeys(_public(line) for line in (*stated.constraints, *map(_without_extras, beside)) if " @ " not in line))
    left_out = {_name(line): _DIRECT if " @ " in line else _BUILDS for line in stated.wanted if " @ " in line or _only_source(line)}
    while True:
        ready = [_public(line) for line in stated.wanted if _name(line) not in left_out]
        skips = [Skip(f"what {_called(name, stated)} needs in its turn", why) for name, why in left_out.items()]
        if not ready:
            return replace(stated, skips=(*stated.skips, *skips))
        done = (run or _uv)(words, "\n".join(ready) + "\n", constraints, tuple(left_out))
        if done.returncode == 0:
            return _with(stated, _pins(done.stdout), day, skips)
        said = " ".join(re.sub(r"^(?:error|cause|hint):\s*|^\W+", "", line.strip()) for line in done.stderr.splitlines() if line.strip())
        if _NETWORK.search(said):
            raise EnvdoctorError("--resolve", found=plain(said), expected="a package index", next_step=_WITHOUT)
        more = {name: why for name, why in _unusable(said) if name not in left_out}
        if not more or len(left_out) + len(more) > _MOST_LEFT_OUT:
            break
        left_out |= more
    named = _named(said, stated)
    origins = {fact.name: fact.origin for fact in stated.facts}
    places = (origins.get(f"packages.{name}") for name in (*named, *map(_name, stated.wanted)))
    first = next((origin for origin in places if origin is not None), Origin("the requirements"))
    defect = Defect(UNRESOLVABLE, f"uv: {plain(said, 2000)}", first.file, first.line, named)
    return replace(stated, defects=(*stated.defects, defect), skips=(*stated.skips, *skips))


def _unusable(said: str) -> Iterator[tuple[str, str]]:
    """The packages that uv's words say it cannot use, each with the reason."""
    for found in _BUILT.finditer(said):
        yield from ((canonical(name), _BUILDS) for name in re.findall(r"`([^`]+)`", found[1]))
    for found in _NOT_FOUND.finditer(said):
        yield canonical(found[1]), _ELSEWHERE


def _called(name: str, stated: Collected) -> str:
    """A package as it is declared, else by its name."""
    return next((line for line in stated.wanted if _name(line) == name), name)


def _name(line: str) -> str:
    return canonical(re.split(r"[\[=<>!~ ]", line, maxsplit=1)[0])


def _without_extras(line: str) -> str:
    return re.sub(r"\[[^\]]*\]", "", line, count=1)


def _with(stated: Collected, pins: Mapping[str, _Told], day: str | None, skips: Sequence[Skip]) -> Collected:
    """The facts with the versions taken; what nobody declared is said to come with the one that needs it."""
    when = f"resolved by uv as of {day}" if day else "resolved by uv"
    facts = {fact.name: fact for fact in stated.facts}
    for name, told in pins.items():
        fact = f"packages.{name}"
        declared = facts.get(fact)
        if declared is None:
            source = f"needed by {told.via[0]}, {when}" if told.via else when
            facts[fact] = Fact(fact, exact(told.version), replace(_origin(name, pins, stated) or Origin(when), source=source))
        elif not isinstance(declared.value, Exact):
            facts[fact] = Fact(fact, exact(told.version), replace(declared.origin, source=f"{declared.origin.source}, {when}"))
    # What was not read may be any package: only where all was understood is a package that is not there known to be absent.
    closed = not (skips or stated.skips or stated.defects)
    return replace(stated, facts=tuple(facts.values()), skips=(*stated.skips, *skips), closed=closed)


def _origin(name: str, pins: Mapping[str, _Told], stated: Collected) -> Origin | None:
    """The line of the declared package that a release is there for in the end; None where uv's words lead to none."""
    declared = {fact.name.removeprefix("packages."): fact.origin for fact in stated.facts}
    asked, seen = [name], {name}
    for one in asked:
        if one in declared:
            return declared[one]
        above = [via for via in pins[one].via if via not in seen] if one in pins else []
        asked += above
        seen.update(above)
    return None


def _pins(text: str) -> dict[str, _Told]:
    """The releases of uv's output, each with the packages that it is there for: they are named below it, after ``# via``."""
    pins: dict[str, _Told] = {}
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
            pins[name] = _Told(found[2])
        via = line.strip().removeprefix("#").removeprefix(" via").strip()
        if not found and name and via:
            pins[name] = replace(pins[name], via=(*pins[name].via, canonical(via)))
    return pins


def _public(line: str) -> str:
    """A requirement without the local label of its build: other indexes than the default one have those."""
    return _LOCAL.sub(r"\1", line)


def _only_source(line: str) -> bool:
    """Whether the newest release that a requirement admits comes without a wheel; False where its releases are not known."""
    name = _name(line)
    wanted = version_condition(_without_extras(_public(line))[len(name) :])
    for release in reversed(releases(name)):
        if not release.yanked and wanted.admits(exact(release.version)):
            return not release.wheel
    return False


def _machine(installation: Installation) -> list[str]:
    told = installation.environment()
    words = ["--python-version", told["python_version"]]
    platform = _PLATFORMS.get((told["sys_platform"], told["platform_machine"]))
    return words if platform is None else [*words, "--python-platform", platform]


def _named(said: str, stated: Collected) -> tuple[str, ...]:
    """The declared packages that uv's words name, as they stand there."""
    names = [fact.name.removeprefix("packages.") for fact in stated.facts if fact.name.startswith("packages.")]
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", said)
    return tuple(dict.fromkeys(name for word in words for name in (canonical(word),) if name in names))


def _uv(words: Sequence[str], text: str, constraints: Sequence[str], left_out: Sequence[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="envdoctor-resolve-") as directory:
        given = []
        # uv looks for a project in every directory above, and the one for temporary files is everybody's: it ends at this one.
        with open(os.path.join(directory, "pyproject.toml"), "w", encoding="utf-8") as file:
            file.write("[tool.uv]\n")
        # A marker that holds nowhere takes a package out, whoever asks for it.
        nowhere = [f'{name} ; sys_platform == "nowhere"' for name in left_out]
        for option, lines in (("--constraint", constraints), ("--override", nowhere)):
            if lines:
                path = os.path.join(directory, f"{option[2:]}.txt")
                with open(path, "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
                given += [option, path]
        try:
            return subprocess.run(
                [*uv_command("--resolve"), *words, *given],
                input=text,
                env=uv_environ(os.environ),
                # A project in the working directory has settings of its own for uv; the user's still count.
                cwd=directory,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            found = f"no answer from uv within {TIMEOUT_S:g} s"
            raise EnvdoctorError("--resolve", found=found, expected="a resolution", next_step=_WITHOUT) from error
