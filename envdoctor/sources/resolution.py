"""What an installer would take of what is declared, today or on a day before: the whole resolution, as uv makes it.

uv reads the metadata of the index; nothing is installed and no source distribution is built, because building runs its code.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
    r"failed to fetch|error sending request|could not connect|dns error|network (?:is unreachable|connectivity)", re.IGNORECASE
)
_PLATFORMS = {
    ("linux", "x86_64"): "x86_64-manylinux_2_28",
    ("linux", "aarch64"): "aarch64-manylinux_2_28",
    ("darwin", "arm64"): "aarch64-apple-darwin",
    ("darwin", "x86_64"): "x86_64-apple-darwin",
    ("win32", "AMD64"): "x86_64-pc-windows-msvc",
}
Run = Callable[[Sequence[str], str, Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class _Told:
    version: str
    via: str


def resolved(stated: Collected, installation: Installation, *, day: str | None = None, run: Run | None = None) -> Collected:
    """What is declared with every package at the release that uv takes, and with the packages that those pull in.

    ``day`` (YYYY-MM-DD): only releases of that day and before. A package that comes without a wheel is said, and is resolved
    without its dependencies. What cannot be resolved at all is a defect in uv's own words.

    Raises:
        EnvdoctorError: no uv, or no index that answers.
    """
    ready = [line for line in stated.wanted if not _only_source(line)]
    skips = [
        Skip(f"what {line} needs in its turn", "its release comes without a wheel, and building one would run its code")
        for line in stated.wanted
        if line not in ready
    ]
    if not ready:
        return replace(stated, skips=(*stated.skips, *skips))
    words = ["pip", "compile", "-", "--no-header", "--no-build", "--color", "never", "--quiet", *_machine(installation)]
    words += [] if day is None else ["--exclude-newer", day]
    done = (run or _uv)(words, "\n".join(map(_public, ready)) + "\n", tuple(map(_public, stated.constraints)))
    if done.returncode == 0:
        return _with(stated, _pins(done.stdout), day, skips)
    said = " ".join(re.sub(r"^(?:error|cause|hint):\s*|^\W+", "", line.strip()) for line in done.stderr.splitlines() if line.strip())
    if _NETWORK.search(said):
        raise EnvdoctorError("--resolve", found=plain(said), expected="a package index", next_step="leave --resolve out to check offline")
    first = next((fact.origin for fact in stated.facts if fact.name.startswith("packages.")), Origin("the requirements"))
    defect = Defect(UNRESOLVABLE, f"uv: {plain(said, 2000)}", first.file, first.line, _named(said, stated))
    return replace(stated, defects=(*stated.defects, defect), skips=(*stated.skips, *skips))


def _with(stated: Collected, pins: Mapping[str, _Told], day: str | None, skips: Sequence[Skip]) -> Collected:
    """The facts with the versions taken; what nobody declared is said to come with the one that needs it."""
    when = f"resolved by uv as of {day}" if day else "resolved by uv"
    facts = {fact.name: fact for fact in stated.facts}
    for name, told in pins.items():
        fact = f"packages.{name}"
        declared = facts.get(fact)
        if declared is None:
            needed = facts.get(f"packages.{canonical(told.via)}", Fact("", "", Origin(when)))
            facts[fact] = Fact(fact, exact(told.version), replace(needed.origin, source=f"needed by {told.via}, {when}"))
        elif not isinstance(declared.value, Exact):
            facts[fact] = Fact(fact, exact(told.version), replace(declared.origin, source=f"{declared.origin.source}, {when}"))
    return replace(stated, facts=tuple(facts.values()), skips=(*stated.skips, *skips), closed=not skips)


def _pins(text: str) -> dict[str, _Told]:
    """The releases of uv's output, each with the package that it is there for: one is named below it, after ``# via``."""
    pins: dict[str, _Told] = {}
    name = ""
    for line in text.splitlines():
        found = _PINNED.match(line)
        if found:
            name = canonical(found[1])
            pins[name] = _Told(found[2], "")
        via = line.strip().removeprefix("#").removeprefix(" via").strip()
        if not found and name and via and not pins[name].via:
            pins[name] = replace(pins[name], via=via)
    return pins


def _public(line: str) -> str:
    """A requirement without the local label of its build: other indexes than the default one have those."""
    return _LOCAL.sub(r"\1", line)


def _only_source(line: str) -> bool:
    """Whether the newest release that a requirement admits comes without a wheel; False where its releases are not known."""
    name = re.split(r"[\[=<>!~ ]", line, maxsplit=1)[0]
    wanted = version_condition(_public(line[len(name) :].partition("]")[2] if "[" in line else line[len(name) :]))
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


def _uv(words: Sequence[str], text: str, constraints: Sequence[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="envdoctor-resolve-") as directory:
        narrowed = []
        if constraints:
            path = os.path.join(directory, "constraints.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(constraints) + "\n")
            narrowed = ["--constraint", path]
        try:
            return subprocess.run(
                [*uv_command("--resolve"), *words, *narrowed],
                input=text,
                env=uv_environ(os.environ),
                # A project in the working directory has settings of its own for uv.
                cwd=directory,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            found = f"no answer from uv within {TIMEOUT_S:g} s"
            raise EnvdoctorError(
                "--resolve", found=found, expected="a resolution", next_step="leave --resolve out to check offline"
            ) from error
