"""What the files of a build context state: requirements, projects, locks and conda environments, by their own readers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.readers import NAMED, find_reader
from envdoctor.sources.declared.variant import Variant
from envdoctor.sources.docker.files import Files
from envdoctor.sources.shell.expansion import Lookup, text_of
from envdoctor.sources.shell.marks import is_known, shown
from envdoctor.sources.shell.text import Heredoc, Text
from envdoctor.world.installation import Installation

_LOCKS = {"uv-project": ("uv.lock",), "poetry": ("poetry.lock",), "pdm": ("pdm.lock",), "pipenv": ("Pipfile.lock", "Pipfile")}
_PROJECTS = ("pyproject.toml", "setup.cfg", "setup.py")
_MOST_BYTES = 2**20
# What uv and poetry install without being asked.
_DEFAULT_GROUPS = ("dev",)


def declare_file(path: str, files: Files, declarations: Declarations, place: str, value: Lookup, *, constraint: bool = False) -> None:
    """Declare a requirements file that lies at a path of the image; where it cannot be traced, that is said."""
    from envdoctor.sources.declared.requirements import read_requirement_lines, read_requirements

    found = files.find(path)
    if isinstance(found, str):
        files.miss(path)
        declarations.skip(place, f"-{'c' if constraint else 'r'} {shown(path)}: {found}")
    elif isinstance(found, Heredoc):
        read_requirement_lines(_lines(found, value), Path(place.rpartition(":")[0]), declarations)
    else:
        try:
            read_requirements(found, declarations, constraint=constraint)
        except EnvdoctorError as error:
            declarations.skip(place, f"{found}: {error.found}")


def _lines(heredoc: Heredoc, value: Lookup) -> Iterable[tuple[int, str]]:
    text: Text = heredoc.body
    offset = 0
    for line in text.text.split("\n"):
        told = re.sub(r"(^|\s)#.*$", "", line).strip()
        if heredoc.expand and told:
            told = text_of(told, value, single_quotes=False)
        if told and is_known(told):
            yield text.line_at(offset), told
        offset += len(line) + 1


def declare_project(
    directory: str,
    files: Files,
    declarations: Declarations,
    place: str,
    *,
    tool: str = "pip",
    extras: tuple[str, ...] = (),
    groups: tuple[str, ...] = (),
) -> bool:
    """Declare what a project of the build context requires, with extras and groups; of its lock, where the tool has one.

    False where the project is not of the build context.
    """
    wanted = _LOCKS.get(tool, ())
    locks = [found for name in wanted if isinstance(found := files.find(posixpath.join(directory, name)), Path)]
    paths = locks[:1] or [found for name in _PROJECTS if isinstance(found := files.find(posixpath.join(directory, name)), Path)]
    if not paths:
        files.miss(*(posixpath.join(directory, name) for name in (*wanted, *_PROJECTS)))
        reason = files.find(posixpath.join(directory, (*wanted, *_PROJECTS)[0]))
        why = reason if isinstance(reason, str) else "it has no file that is read"
        declarations.skip(place, f"the project in {shown(directory)}: {why}")
        return False
    chosen = (*groups, *_DEFAULT_GROUPS) if tool in ("uv-project", "poetry") else groups
    for path in paths:
        _declare_variants(path, files, declarations, place, extras, chosen)
    return True


def declare_conda_file(path: str, files: Files, declarations: Declarations, place: str) -> tuple[str | None, tuple[Fact, ...]]:
    """Declare a conda environment file; the name of its environment, and what it states that is no package."""
    from envdoctor.sources.declared.conda import collect_conda

    found = files.find(path)
    if not isinstance(found, Path):
        files.miss(path)
        reason = found if isinstance(found, str) else "it is written in the Dockerfile, and not read as conda's"
        declarations.skip(place, f"-f {shown(path)}: {reason}")
        return None, ()
    try:
        variants = collect_conda(found, declarations.installation)
        named = re.search(r"^name:\s*[\"']?([\w.-]+)", read_bounded(found, _MOST_BYTES).decode("utf-8", "replace"), re.MULTILINE)
    except EnvdoctorError as error:
        declarations.skip(place, f"{found}: {error.found}")
        return None, ()
    except UnreadableError as error:
        declarations.skip(place, f"{found}: {error}")
        return None, ()
    _feed(declarations, variants[0].collected)
    facts = tuple(fact for fact in variants[0].collected.facts if not fact.name.startswith("packages."))
    return (named[1] if named else None), facts


def _declare_variants(
    path: Path, files: Files, declarations: Declarations, place: str, extras: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    known = (path, *sorted(declarations.installation.stated.items()))
    try:
        variants = files.read.get(known) or _read(path, declarations.installation)
    except EnvdoctorError as error:
        declarations.skip(place, f"{path}: {error.found}")
        return
    files.read[known] = variants
    labels = {f"extra {extra}" for extra in extras} | {f"group {group}" for group in groups}
    for variant in variants:
        if variant.label in ("", *labels) or ("*" in extras and variant.label.startswith("extra ")):
            _feed(declarations, variant.collected)


def _read(path: Path, installation: Installation) -> tuple[Variant, ...]:
    reader = find_reader(path, NAMED)
    return () if reader is None else reader.read(path, installation)


def _feed(declarations: Declarations, collected: Collected) -> None:
    """State again what a reader found, so that it is joined with the rest of the command."""
    for fact in collected.facts:
        name = fact.name.removeprefix("packages.")
        if name == fact.name:
            if fact.name == "cuda":
                declarations.say(fact)
        elif isinstance(fact.value, Exact):
            declarations.state(name, f"=={fact.value.text}", fact.origin.file or "", fact.origin.line)
        elif isinstance(fact.value, Ranged):
            declarations.state(name, fact.value.text, fact.origin.file or "", fact.origin.line)
    declarations.defects += [
        defect for defect in collected.defects if defect.rule != "requirement-unsatisfiable" and defect not in declarations.defects
    ]
    declarations.skips += [skip for skip in collected.skips if skip not in declarations.skips]
