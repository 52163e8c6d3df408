"""Requirements files in pip's grammar: what each line states, with its file and line.

Followed: ``-r`` and ``-c``, relative to the file that names them; environment variables as ``${NAME}``; per-requirement
and global options. Nothing is fetched; what stands behind a URL or a path is said, not read.
"""

from __future__ import annotations

import os
import os.path
import re
from collections.abc import Iterable, Mapping
from itertools import chain, islice, takewhile
from pathlib import Path

from packaging.requirements import Requirement

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Origin
from envdoctor.files.paths import is_file, real_path
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.declared.built_apart import Line, needs_torch, say_built_apart
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.foreign_lists import describe_foreign_list, is_of_strings
from envdoctor.sources.declared.labelled_builds import Labelled, is_labelled, say_without_index
from envdoctor.sources.declared.package_index import Indexes, is_nightly
from envdoctor.sources.declared.requirement_line import MALFORMED, declare, without_credentials
from envdoctor.sources.declared.requirement_options import Option, UnknownOptionError, options_of, split_options
from envdoctor.sources.declared.requirement_text import LogicalLine, RequirementsText, logical_lines, read_text
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_MOST_INCLUDES = 50
_MOST_LINES = 20_000
_METADATA = (".egg-info", ".dist-info")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
_APART = re.compile(r"install(?:ed)?\b.*--no-deps", re.IGNORECASE)
_SWITCH = re.compile(r"-[a-z] ?[^\s-]|--[a-z]", re.IGNORECASE)
_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-\w+")
_LINK = re.compile(r"[^\s:#=<>~!;\\\0]{1,400}", re.ASCII)


def is_requirements(path: Path) -> bool:
    """Whether a file is one of requirements: by the name that people give to it or its folder, else by what stands in it."""
    if path.suffix not in (".txt", ".in", ".pip") or path.parent.suffix in _METADATA:
        return False
    named = any(re.search(r"req|constraint|depend", name, re.IGNORECASE) for name in (path.stem, path.parent.name))
    return named or (is_file(path) and _reads_as_requirements(path))


def _reads_as_requirements(path: Path) -> bool:
    """Whether every line is one of requirements: the first of a vocabulary or of a list of words may all look like names."""
    try:
        lines = islice(logical_lines(read_text(path)), _MOST_LINES)
        first = next(lines, None)
        return first is not None and all(_is_for_pip(line.text) for line in chain((first,), lines))
    except EnvdoctorError:
        return False


def _is_for_pip(line: str) -> bool:
    return line.startswith(("git+", "http")) or bool(_SWITCH.match(line)) or _is_requirement(line)


def _is_requirement(line: str) -> bool:
    try:
        Requirement(split_options(line)[0])
    except (ValueError, RecursionError):
        return False
    return True


def collect_requirements(path: Path, installation: Installation | None = None) -> tuple[Variant, ...]:
    """What a requirements file states, its includes with it: one variant.

    Raises:
        EnvdoctorError: the file itself cannot be read, or its encoding does not exist.
    """
    declarations = Declarations(installation or Installation())
    if _is_record_of_run(path):
        declarations.skip(str(path), "Weights & Biases wrote down here what a run had, which is no list to install: give it as --facts")
        return (Variant("", declarations.collected()),)
    read_requirements(path, declarations, asked_alone=True)
    return (Variant("", replace(declarations.collected(), apart=_is_installed_apart(path))),)


def _is_record_of_run(path: Path) -> bool:
    """Whether wandb made the file for itself: ``wandb/run-20250902_045302-oemgy8we/files/requirements.txt``.

    A package stands in it twice where two folders of the path have it, and nobody installs from it.
    """
    return path.parent.name == "files" and _RUN.fullmatch(path.absolute().parent.parent.name) is not None


def _is_installed_apart(path: Path) -> bool:
    """Whether the comments at the head of a file say that it is installed without what its packages need."""
    head = takewhile(lambda line: line.startswith("#") or not line.strip(), read_text(path).text.splitlines())
    return any(_APART.search(line) for line in head)


def read_requirements(path: Path, declarations: Declarations, *, constraint: bool = False, asked_alone: bool = False) -> None:
    """Declare what a requirements file states, as ``pip install -r`` (``-c`` with ``constraint``) takes it.

    ``asked_alone`` says that no command is known that installs it, which may name an index besides.

    Raises:
        EnvdoctorError: the file itself cannot be read, or its encoding does not exist.
    """
    reading = _Reading(declarations)
    reading.read(path, constraint)
    reading.indexes.say_cuda(reading.torch, declarations)
    if asked_alone:
        say_without_index(reading.labelled, reading.indexes, declarations)
        say_built_apart(reading.built, reading.indexes, declarations)


def read_requirement_lines(
    lines: Iterable[tuple[int, str]], path: Path, declarations: Declarations, *, indexed_here: bool = False, built_here: bool = False
) -> None:
    """Declare requirements that stand in another kind of file, as those for pip in conda's: numbers of lines, and their texts.

    ``indexed_here`` says that no other place can name an index besides, ``built_here`` that no torch was installed before them.
    """
    reading = _Reading(declarations)
    for number, text in lines:
        reading.line(LogicalLine(number, text.strip()), path, constraint=False)
    reading.indexes.say_cuda(reading.torch, declarations)
    if indexed_here:
        say_without_index(reading.labelled, reading.indexes, declarations)
    if built_here:
        say_built_apart(reading.built, reading.indexes, declarations)


@dataclass(slots=True)
class _Reading:
    """One run of pip over a file and what it includes: they share indexes, and no file is read twice."""

    declarations: Declarations
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    indexes: Indexes = field(default_factory=Indexes)
    torch: Requirement | None = None
    labelled: list[Labelled] = field(default_factory=list)
    built: list[Line] = field(default_factory=list)
    lines: int = 0
    done: set[tuple[str, bool]] = field(default_factory=set)
    open: list[str] = field(default_factory=list)

    def read(self, path: Path, constraint: bool) -> None:
        source = read_text(path)
        identity = str(real_path(path))
        self.done.add((identity, constraint))
        self.open.append(identity)
        if source.unmarked:
            told = f"the file is in {source.unmarked.upper()} without a byte order mark: pip takes it for UTF-8"
            self.declarations.defect(MALFORMED, told, str(path), 1)
        lines = () if self._linked(path, source, constraint) else tuple(islice(logical_lines(source), _MOST_LINES + 1))
        foreign = describe_foreign_list(lines)
        if is_of_strings(lines):
            why = "its lines are strings of Python, which a setup.py of the project's own reads: give what it installs as pip has it"
            self.declarations.skip(str(path), why, lost=True)
        elif foreign is not None:
            self.declarations.defect(MALFORMED, foreign[1], str(path), foreign[0])
        else:
            for line in lines:
                self.lines += 1
                if self.lines > _MOST_LINES:
                    self.declarations.skip(f"{path}:{line.number}", f"more than {_MOST_LINES} lines: the rest is not read")
                    break
                self.line(line, path, constraint)
        self.open.pop()

    def _linked(self, path: Path, source: RequirementsText, constraint: bool) -> bool:
        """Whether a file is a symbolic link that git wrote as text, where links cannot be made; its target is read instead."""
        if not _LINK.fullmatch(source.text) or not (source.text.endswith((".txt", ".in", ".pip")) or "/" in source.text):
            return False
        target = path.parent / source.text
        if os.path.isfile(target):  # not Path.is_file, which raises where a name is too long
            self.declarations.skip(str(path), f"a symbolic link written as text; {source.text} is read in its place")
            self._include(source.text, path, 1, constraint)
        else:
            self.declarations.skip(str(path), f"a symbolic link written as text, to {source.text}, which is not here", lost=True)
        return True

    def line(self, line: LogicalLine, path: Path, constraint: bool) -> None:
        place = f"{path}:{line.number}"
        if line.damage == "text":
            told = f"{line.text!r} is no requirement: it has bytes that are none of the file's encoding"
            self.declarations.defect(MALFORMED, told, str(path), line.number)
            return
        if line.damage:
            self.declarations.skip(place, "bytes in the comment are none of the file's encoding: some machines refuse the whole file")
        if not line.text:
            return
        text, rest = split_options(line.text)
        try:
            options = tuple(options_of(rest))
        except UnknownOptionError as error:
            self.declarations.defect(MALFORMED, f"{str(error)!r} is no option of a requirements file", str(path), line.number)
            options = ()
        if text:
            self._requirement(text, path, line.number, constraint)
            return
        for option in options:
            self._option(option, path, line.number, constraint)

    def _requirement(self, text: str, path: Path, number: int, constraint: bool) -> None:
        expanded, unknown = self._expanded(text)
        if unknown:
            told = without_credentials(text)
            self.declarations.skip(f"{path}:{number}", f"{told}: the environment variable {unknown} is not set")
            return
        requirement = declare(expanded, str(path), number, self.declarations, constraint=constraint)
        if requirement is not None and requirement.name.lower() == "torch" and not constraint:
            self.torch = requirement
        if requirement is not None and not constraint and is_labelled(requirement):
            self.labelled.append(Labelled(requirement, str(path), number))
        if requirement is not None and not constraint and needs_torch(requirement, self.declarations.installation):
            self.built.append(Line(requirement, str(path), number))

    def _expanded(self, text: str) -> tuple[str, str]:
        """The text with the variables that pip puts in, and the first that is not set. What stands in URLs stays: it may be secret."""
        if "${" not in text or "://" in text:
            return text, ""
        unknown = next((name for name in _VARIABLE.findall(text) if not self.environment.get(name)), "")
        return _VARIABLE.sub(lambda found: self.environment.get(found[1]) or found[0], text), unknown

    def _option(self, option: Option, path: Path, number: int, constraint: bool) -> None:
        place, origin = f"{path}:{number}", Origin(str(path), str(path), number)
        if option.name in ("requirement", "constraint"):
            self._include(option.value, path, number, option.name == "constraint")
        elif option.name == "editable":
            self._requirement(
                option.value if "://" in option.value or "@" in option.value else _as_path(option.value), path, number, constraint
            )
        elif option.name == "index-url":
            self.indexes.only = (option.value, origin)
        elif option.name in ("extra-index-url", "find-links"):
            self.indexes.more.append((option.value, origin))
        elif option.name == "no-index":
            self.indexes.none = True
        elif option.removed:
            self.declarations.skip(place, f"--{option.name}: an option that pip had once and refuses today")
        if option.name in ("index-url", "extra-index-url", "find-links") and is_nightly(option.value):
            self.declarations.skip(place, f"{without_credentials(option.value)}: nightly builds, which are no releases")

    def _include(self, name: str, path: Path, number: int, constraint: bool) -> None:
        name, unknown = self._expanded(name)
        place = f"included at {path}:{number}"
        if "\0" in name:
            self.declarations.skip(name, f"{place}: a name that no file can have", lost=True)
            return
        if unknown or re.match(r"https?://", name):
            why = f"the environment variable {unknown} is not set" if unknown else "a URL is not fetched"
            self.declarations.skip(without_credentials(name), f"{place}: {why}")
            return
        target = path.parent / name.removeprefix("file://")
        identity = str(real_path(target))
        if identity in self.open or len(self.done) >= _MOST_INCLUDES:
            self.declarations.skip(str(target), f"{place}: {'it includes itself' if identity in self.open else 'too many includes'}")
        elif (identity, constraint) not in self.done:
            try:
                self.read(target, constraint)
            except EnvdoctorError as error:
                self.declarations.skip(str(target), f"{place}: {error.found}", lost=True)


def _as_path(value: str) -> str:
    """What stands after -e is a path though it looks like a name."""
    return value if value.startswith((".", "/", "\\", "file:", "~")) or re.match(r"[A-Za-z]:[/\\]", value) else f"./{value}"


__all__ = ["collect_requirements", "is_requirements", "read_requirement_lines", "read_requirements"]
