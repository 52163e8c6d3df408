"""``setup.cfg`` of a setuptools project: its requirements, its extras and the Pythons that it admits, each with its line.

Read by hand: configparser tells no lines, and setuptools' own reader imports for a quarter of a second and evaluates
``attr:`` by importing the project. The grammar is theirs: continuation by indentation, ``%(key)s`` of the same section,
lists by line or by semicolon, ``file:`` inside the project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.project_extras import Stated, declare_all, extra_variants, file_rows, state_python, within
from envdoctor.sources.declared.requirements import read_requirements
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_MOST_BYTES = 4 * 2**20
_MOST_EXPANDED = 2_000
_LONGEST = 4096
_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^=:]+)[=:]\s*(.*)")
_REFERENCE = re.compile(r"%\(([^)]+)\)s")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a value; ``beside`` says that it stands on the line of its key."""

    text: str
    line: int
    beside: bool = False


@dataclass(slots=True)
class Config:
    """Sections of an INI file: every value as its lines, without comments and blank ones."""

    sections: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def value(self, section: str, key: str) -> list[Row]:
        """The lines of a value with its references put in; a reference to a whole key brings in that key's lines."""
        values = self.sections.get(section, {})
        return list(_expanded(values.get(key, []), values, (key,), [0]))


def collect_setup_cfg(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a project's ``setup.cfg`` requires, and a variant for each of its extras.

    Raises:
        EnvdoctorError: unreadable, or no INI file.
    """
    config = read_config(path)
    file = str(path)
    pythons = config.value("options", "python_requires") or config.value("options", "python-requires")
    python = ",".join(row.text for row in pythons)
    declarations = state_python(python, file, pythons[0].line if pythons else None, installation)
    key = "install_requires" if "install_requires" in config.sections.get("options", {}) else "install-requires"
    declare_all(_stated(config, "options", key, path, declarations), declarations)
    extras = {
        name: _stated(config, "options.extras_require", name, path, declarations, follow=False)
        for name in config.sections.get("options.extras_require", {})
    }
    project = "".join(row.text for row in config.value("metadata", "name"))
    if not extras and not config.sections.get("options", {}).get(key):
        declarations.skip(file, "no install_requires in [options]: another program's settings, or a project that states them elsewhere")
    return extra_variants(declarations, extras, project)


def read_config(path: Path) -> Config:
    """An INI file as configparser reads it, with a line for every line of a value.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or a line that belongs to no section.
    """
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig")
    except UnreadableError as error:
        raise EnvdoctorError(plain(str(path), 4096), found=str(error), expected="an INI file", next_step="check the path") from None
    except UnicodeDecodeError as error:
        damaged = error.object.count(b"\n", 0, error.start) + 1
        place = f"{plain(str(path), 4096)}, line {damaged}"
        raise EnvdoctorError(
            place, found="bytes that are not UTF-8", expected="an INI file in UTF-8", next_step="save it as UTF-8"
        ) from None
    config = Config()
    section: dict[str, list[Row]] | None = None
    value: list[Row] | None = None
    indent = 0
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        content = line.strip()
        if not content or content[0] in "#;":
            continue
        depth = len(line) - len(line.lstrip())
        if value is not None and depth > indent:
            value.append(Row(content, number))
            continue
        header = _SECTION.match(content)
        setting = None if header else _KEY.match(content)
        if header is not None:
            section, value = config.sections.setdefault(header[1], {}), None
        elif section is None:
            place = f"{plain(str(path), 4096)}, line {number}, column {depth + 1}"
            raise EnvdoctorError(place, found=plain(content, 80), expected="a [section] first", next_step="correct the file")
        elif setting is not None:
            value = section[setting[1].rstrip()] = [Row(setting[2], number, beside=True)] if setting[2] else []
            indent = depth
        else:
            value = None
    return config


def _expanded(rows: Sequence[Row], values: Mapping[str, list[Row]], seen: tuple[str, ...], made: list[int]) -> list[Row]:
    found: list[Row] = []
    for row in rows:
        made[0] += 1
        if made[0] > _MOST_EXPANDED:
            break
        whole = _REFERENCE.fullmatch(row.text)
        if whole is not None and whole[1] in values and whole[1] not in seen:
            found += _expanded(values[whole[1]], values, (*seen, whole[1]), made)
        elif "%" in row.text and len(row.text) <= _LONGEST:
            made[0] += row.text.count("%")
            found.append(Row(_REFERENCE.sub(lambda name: _inline(values, name[1]), row.text).replace("%%", "%"), row.line))
        else:
            found.append(row)
    return found


def _inline(values: Mapping[str, list[Row]], key: str) -> str:
    return " ".join(row.text for row in values.get(key, ())[:_LONGEST])[:_LONGEST]


def _stated(config: Config, section: str, key: str, path: Path, declarations: Declarations, follow: bool = True) -> list[Stated]:
    """The requirements of a value; the files that it names are read into the declarations, or told as requirements too."""
    rows = config.value(section, key)
    file = str(path)
    if not rows:
        return []
    if rows[0].text.startswith("file:"):
        names = [(name.strip(), row.line) for row in rows for name in row.text.removeprefix("file:").split(",") if name.strip()]
        return [row for name, line in names for row in _followed(path, name, f"{file}:{line}", declarations, follow)]
    if rows[0].text.startswith("attr:"):
        declarations.skip(f"{file}:{rows[0].line}", f"{key} = {rows[0].text}: made when the project is built")
        return []
    written = config.sections[section].get(key, [])
    # setuptools parts a value of one line by semicolons, of several by lines.
    parted = len(written) == 1 and written[0].beside and _REFERENCE.fullmatch(written[0].text) is None
    parts = [(part, row.line) for row in rows for part in (row.text.split(";") if parted else [row.text])]
    texts = ((re.sub(r"(?:^|\s)#.*$", "", text).strip(), line) for text, line in parts)
    return [Stated(text, file, line) for text, line in texts if text]


def _followed(path: Path, name: str, place: str, declarations: Declarations, follow: bool) -> list[Stated]:
    if not within(path.parent, name):
        declarations.skip(place, f"file: {name} lies outside the project: setuptools refuses it")
    elif not follow:
        return file_rows(path.parent / name, place, f"file: {name}", declarations)
    else:
        try:
            read_requirements(path.parent / name, declarations)
        except EnvdoctorError as error:
            declarations.skip(place, f"file: {name}: {error.found}")
    return []
