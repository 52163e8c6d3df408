"""The variants of a project: what it always requires, and what each of its extras adds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.names import canonical
from envdoctor.facts.values import parse_value
from envdoctor.files.paths import real_path
from envdoctor.records import dataclass
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.requirement_line import declare
from envdoctor.sources.declared.requirement_text import logical_lines, read_text
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_LONGEST_RANGE = 400
_SELF = re.compile(r"([A-Za-z0-9._-]+)\s*\[([^\]]*)\]\s*(?:;.*)?")


@dataclass(frozen=True, slots=True)
class Stated:
    """A requirement in a project's own words, with its place."""

    text: str
    file: str
    line: int | None


def state_python(admitted: str, file: str, line: int | None, installation: Installation) -> Declarations:
    """Declarations for a Python that a project admits, with the range of them as the fact ``python``."""
    if not admitted or len(admitted) > _LONGEST_RANGE:
        return Declarations(installation)
    declarations = Declarations(installation.admitted_by(admitted))
    declarations.say(Fact("python", parse_value("python", admitted), Origin(file, file, line)))
    return declarations


def declare_all(rows: Sequence[Stated], declarations: Declarations, extra: str = "") -> None:
    for row in rows:
        declare(row.text, row.file, row.line, declarations, extra=extra)


def within(folder: Path, name: str) -> bool:
    """Whether a name, followed through links, lies in a folder."""
    try:
        root = str(real_path(folder))
        return os.path.commonpath((root, str(real_path(os.path.join(root, name))))) == root
    except ValueError:  # another drive, or a name that no file can have
        return False


def file_rows(path: Path, place: str, what: str, declarations: Declarations) -> list[Stated]:
    """The requirements of a file that an extra names; its options are for pip, and none of a project's."""
    try:
        lines = list(logical_lines(read_text(path)))
    except EnvdoctorError as error:
        declarations.skip(place, f"{what}: {path.name}: {error.found}")
        return []
    return [Stated(line.text, str(path), line.number) for line in lines if line.text and not line.text.startswith("-")]


def extra_variants(base: Declarations, extras: Mapping[str, Sequence[Stated]], project: str = "") -> tuple[Variant, ...]:
    """One variant an extra; ``project`` is the project's name, so that ``project[other]`` in an extra brings in the other's.

    An extra that adds no package is left out.
    """
    before = base.collected()
    variants = [Variant("", before)]
    for name in extras:
        declarations = base.copy()
        declare_all(_flat(name, extras, canonical(project), []), declarations, name)
        collected = declarations.collected()
        if [fact.value for fact in collected.facts] != [fact.value for fact in before.facts] or collected.defects != before.defects:
            variants.append(Variant(f"extra {name}", collected))
    return tuple(variants)


def _flat(name: str, extras: Mapping[str, Sequence[Stated]], project: str, seen: list[str]) -> list[Stated]:
    """The requirements of an extra, with those of the project's own extras that it names in their place."""
    rows: list[Stated] = []
    seen.append(name)
    for row in extras[name]:
        named = _SELF.fullmatch(row.text.strip())
        if named is None or not project or canonical(named[1]) != project:
            rows.append(row)
            continue
        wanted = {canonical(part.strip()) for part in named[2].split(",")}
        rows += [
            inner for other in extras if canonical(other) in wanted and other not in seen for inner in _flat(other, extras, project, seen)
        ]
    return rows
