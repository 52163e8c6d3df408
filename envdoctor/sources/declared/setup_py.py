"""``setup.py`` read from its syntax tree: what it requires, its extras and the Pythons that it admits. Nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.project_extras import Stated, declare_all, extra_variants, file_rows, state_python, within
from envdoctor.sources.declared.requirements import read_requirements
from envdoctor.sources.declared.setup_script import Setup, read_setup
from envdoctor.sources.declared.setup_values import Opened, Told, Unknown, Value
from envdoctor.sources.declared.variant import Variant
from envdoctor.syntax.parsing import NoPythonError, parse_python
from envdoctor.world.installation import Installation

# A syntax tree takes up to about two hundred times the memory of its text.
_MOST_BYTES = 2**20
_MOST_MARKS = 200_000


def collect_setup_py(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a ``setup.py`` requires, and a variant for each of its extras; what only running it would tell is said.

    Raises:
        EnvdoctorError: unreadable, or no Python that can be parsed.
    """
    file = str(path)
    setup = read_setup(_parsed(path))
    if setup is None:
        declarations = Declarations(installation)
        declarations.skip(file, "no call of setup() is in it")
        return (Variant("", declarations.collected()),)
    python = setup.arguments.get("python_requires")
    admitted = str(python) if isinstance(python, str) else ""
    declarations = state_python(admitted, file, python.line if isinstance(python, Told) else setup.line, installation)
    for unknown in setup.unknown:
        declarations.skip(f"{file}:{unknown.line}", unknown.why)
    reader = _Reader(path, setup, declarations)
    if "install_requires" not in setup.arguments and "extras_require" not in setup.arguments and not setup.unknown:
        declarations.skip(
            f"{file}:{setup.line}", "setup() states no install_requires: the project requires nothing, or states it elsewhere"
        )
    declare_all(reader.requirements("install_requires", setup.arguments.get("install_requires")), declarations)
    name = setup.arguments.get("name")
    return extra_variants(declarations, reader.extras(), str(name) if isinstance(name, str) else "")


def _parsed(path: Path) -> ast.Module:
    place = plain(str(path), 4096)
    try:
        data = read_bounded(path, _MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a setup.py", next_step="check the path") from None
    if sum(data.count(mark) for mark in (b",", b"(", b"[", b".", b"=", b"+")) > _MOST_MARKS:
        raise EnvdoctorError(place, found="more code than any setup.py has", expected="a setup.py", next_step="check the path")
    try:
        return parse_python(data)
    except NoPythonError as error:
        where = place if error.line is None else f"{place}, line {error.line}, column {error.column or 1}"
        raise EnvdoctorError(where, found=plain(error.found), expected="Python 3", next_step="correct the file") from None


class _Reader:
    """Requirements out of the values that setup() is given; files are read into the declarations that are always installed."""

    def __init__(self, path: Path, setup: Setup, declarations: Declarations) -> None:
        self._path = path
        self._file = str(path)
        self._setup = setup
        self._declarations = declarations
        self._skipped: set[tuple[str, Unknown]] = set()

    def extras(self) -> dict[str, Sequence[Stated]]:
        table = self._setup.arguments.get("extras_require")
        if isinstance(table, Unknown):
            self._skip(table, "extras_require")
        if not isinstance(table, dict):
            return {}
        found: dict[str, Sequence[Stated]] = {}
        for key, value in table.items():
            name, _, marker = key.partition(":")
            rows = self.requirements(f"extras_require[{key!r}]", value, follow=False)
            if marker:
                rows = [Stated(f"{row.text} ; {marker}", row.file, row.line) for row in rows]
            if name:
                found[name] = [*found.get(name, ()), *rows]
            else:
                declare_all(rows, self._declarations)
        return found

    def requirements(self, what: str, value: Value, follow: bool = True) -> list[Stated]:
        if isinstance(value, str):  # setuptools takes one text of several lines, too
            items: list[Value] = [Told(part, self._line(value) + place) for place, part in enumerate(value.split("\n"))]
        else:
            items = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
        rows: list[Stated] = []
        for item in items:
            if isinstance(item, str):
                text = item.partition(" #")[0].strip()
                if text and not text.startswith("#"):
                    rows.append(Stated(text, self._file, self._line(item)))
            elif isinstance(item, Opened):
                rows += self._opened(item, what, follow)
            elif isinstance(item, Unknown):
                self._skip(item, what)
            else:
                self._declarations.skip(f"{self._file}:{self._setup.line}", f"{what} has what is no text")
        return rows

    def _line(self, text: str) -> int:
        return text.line if isinstance(text, Told) else self._setup.line

    def _skip(self, unknown: Unknown, what: str) -> None:
        """Say once what a line leaves unknown, however many requirements it makes."""
        if (what, unknown) not in self._skipped:
            self._skipped.add((what, unknown))
            self._declarations.skip(f"{self._file}:{unknown.line}", f"{what}: {unknown.why}")

    def _opened(self, opened: Opened, what: str, follow: bool) -> list[Stated]:
        """The requirements of a file of the project."""
        place = f"{self._file}:{opened.line}"
        if not within(self._path.parent, opened.name):
            self._declarations.skip(place, f"{what}: {opened.name} lies outside the project")
            return []
        if not follow:
            return file_rows(self._path.parent / opened.name, place, what, self._declarations)
        try:
            read_requirements(self._path.parent / opened.name, self._declarations)
        except EnvdoctorError as error:
            self._declarations.skip(place, f"{what}: {opened.name}: {error.found}")
        return []
