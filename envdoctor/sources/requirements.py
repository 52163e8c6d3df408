"""Facts from a requirements file: what it pins or admits, each with file and line.

Read: comments, continuation lines, ``-r`` and ``-c`` includes, markers (evaluated for the Python at hand),
extras, hashes and per-requirement options. A URL or path requirement is said, not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Defect, Fact, Origin, Skip
from envdoctor.releases import release_texts
from envdoctor.values import parse_value
from envdoctor.versions import ABSENT, Ranged, satisfiable

_MOST_BYTES = 4 * 2**20
_MOST_INCLUDES = 50
_MOST_SNIFFED = 40
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)")


@dataclass(slots=True)
class _Reading:
    facts: list[Fact] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    seen: dict[str, Fact] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)


def is_requirements(path: Path) -> bool:
    """Whether a file is one of requirements: by the name that people give to it or its folder, else by what stands in it."""
    if path.suffix not in (".txt", ".in", ".pip"):
        return False
    named = any(re.search(r"req|constraint|depend", name, re.IGNORECASE) for name in (path.stem, path.parent.name))
    return named or (path.is_file() and _reads_as_requirements(path))


def _reads_as_requirements(path: Path) -> bool:
    lines = [line for _, line in islice(_logical_lines(_text(path)), _MOST_SNIFFED)]
    return bool(lines) and all(line.startswith(("-", "git+", "http")) or _is_requirement(line) for line in lines)


def _is_requirement(line: str) -> bool:
    try:
        Requirement(re.split(r"\s+--", line, maxsplit=1)[0])
    except InvalidRequirement:
        return False
    return True


def collect_requirements(path: Path, python: str | None = None) -> Collected:
    """The packages that a requirements file states.

    ``python`` is the version that markers are evaluated for; without it the doctor's own.

    Raises:
        EnvdoctorError: the file itself cannot be read.
    """
    reading = _Reading()
    _read(path, reading, python)
    return Collected(tuple(reading.facts), tuple(reading.defects), tuple(reading.skips))


def _read(path: Path, reading: _Reading, python: str | None) -> None:
    reading.files.add(path.resolve())
    for number, line in _logical_lines(_text(path)):
        include = _INCLUDE.fullmatch(line)
        if include:
            _include(path.parent / include[1], reading, python, f"{path}:{number}")
        elif line.startswith("-"):
            continue
        else:
            _requirement(line, path, number, reading, python)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError as error:
        raise EnvdoctorError(
            str(path), found=error.strerror or str(error), expected="a readable file", next_step="check the path"
        ) from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return data.decode(encoding, errors="replace")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined over ``\\`` continuations, without comments and blank ones; numbered by their first."""
    pending, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        first = first if pending else number
        line = re.sub(r"(^|\s)#.*$", "", raw)
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole, pending = (pending + line).strip(), ""
        if whole:
            yield first, whole
    if pending.strip():
        yield first, pending.strip()


def _include(path: Path, reading: _Reading, python: str | None, place: str) -> None:
    if path.resolve() in reading.files or len(reading.files) >= _MOST_INCLUDES:
        reading.skips.append(Skip(str(path), f"included at {place}: read already, or too many includes"))
        return
    try:
        _read(path, reading, python)
    except EnvdoctorError as error:
        reading.skips.append(Skip(str(path), f"included at {place}: {error.found}"))


def _requirement(line: str, path: Path, number: int, reading: _Reading, python: str | None) -> None:
    stated = re.split(r"\s+--(?:hash|config-settings|global-option)", line, maxsplit=1)[0].strip()
    if re.match(r"(?:[a-z+]+://|\.{0,2}/|git\+)", stated):
        reading.skips.append(Skip(f"{path}:{number}", f"{stated}: a URL or path requirement, its version is not known"))
        return
    try:
        requirement = Requirement(stated)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        reading.defects.append(Defect("requirement-malformed", f"{stated!r} is no requirement: {reason}", str(path), number))
        return
    if requirement.url:
        reading.skips.append(Skip(f"{path}:{number}", f"{requirement.name}: taken from a URL, its version is not known"))
        return
    if requirement.marker is not None and not _applies(requirement, python):
        return
    _state(requirement, path, number, reading)


def _applies(requirement: Requirement, python: str | None) -> bool:
    environment = {key: str(value) for key, value in default_environment().items()}
    if python is not None:
        environment |= {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    return requirement.marker is None or requirement.marker.evaluate({**environment, "extra": ""})


def _state(requirement: Requirement, path: Path, number: int, reading: _Reading) -> None:
    package = canonicalize_name(requirement.name)
    name, text = f"packages.{package}", str(requirement.specifier)
    before = reading.seen.get(name)
    known = release_texts(package)
    joint = text if before is None or before.value is ABSENT else ",".join(filter(None, (text, _specifier(before))))
    if joint and not satisfiable(joint, known):
        where = "" if before is None else f", with {_specifier(before)} on line {before.origin.line}"
        reading.defects.append(
            Defect("requirement-unsatisfiable", f"no release can satisfy {package} {text}{where}", str(path), number, (package,))
        )
    value = parse_value(name, joint or "*")
    fact = Fact(name, value, Origin(f"{path}", str(path), number))
    reading.seen[name] = fact
    reading.facts = [other for other in reading.facts if other.name != name] + [fact]


def _specifier(fact: Fact) -> str:
    return fact.value.text if isinstance(fact.value, Ranged) else f"=={fact.value}"
