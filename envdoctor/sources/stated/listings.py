"""Facts from what package managers print: ``pip freeze``, ``pip list``, ``pip inspect``, ``conda list``; and from environment reports.

The kind is told by the content: JSON by its shape, text by its own header or by the form of its lines. A listing of everything
is *closed*: a package that is not in it is absent. An environment report is not, nor is ``pip list --outdated`` or a table
without its header, which may be an excerpt: there a package that is not spoken of is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import Ranged, exact
from envdoctor.records import dataclass, field

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,100})"
_COLUMNS = re.compile(r"Package\s+Version(\s.*)?")
_ROW = re.compile(rf"({_NAME})\s+\(?([A-Za-z0-9][A-Za-z0-9.+!_-]{{0,100}})\)?(?:\s+(\S+))?(?:\s.*)?")
_CONDA_NAME = re.compile(r"#?\s*Name\s+Version\s+Build\b.*")
_CONDA_ROW = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._-]{0,100})\s+(\d\S{0,100}|\S*\d\S{0,100})(?:\s+(\S+))?(?:\s.*)?")
_CONDA_EXPORT = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._-]{0,100})=([^=\s]{1,100})=([^=\s]{1,200})")
_CONDA_FILE = re.compile(r"\S*/([A-Za-z0-9_][A-Za-z0-9._-]{0,100})-([^-/\s]{1,100})-([^-/\s]{1,200})\.(?:conda|tar\.bz2)(?:#\S*)?")
_PIN = re.compile(rf"({_NAME})\s*===?\s*([^\s;,*]{{1,100}})")
_DIRECT = re.compile(rf"({_NAME})(?:\[[^\]]{{0,200}}\])?\s*@\s*(\S+)")
_EDITABLE = re.compile(r"-e\s+(.*)")
_EGG = re.compile(rf"#egg=({_NAME})")
_NO_VCS = re.compile(rf"# Editable .{{0,80}}\(({_NAME})==([^\s)]{{1,100}})\)")
_WHEEL = re.compile(r"/([A-Za-z0-9_.]{1,100})-([A-Za-z0-9_.!+%]{1,100})-[^/\s]{1,200}\.whl")
_REQUIREMENT = re.compile(rf"{_NAME}\s*(?:\[[^\]]{{0,200}}\])?\s*(?:(?:==|~=|!=|<=|>=|<|>).*|;.*)")
_NOISE = ("WARNING", "DEPRECATION", "[notice]", "NOTE:", "ERROR:", "```", "$ ", ">>>", "(base)", "Using Python", "# To update", "Warning:")
_MOST_SKIPS = 20

# pip freeze leaves these out (setuptools and wheel on Python below 3.12), installed or not.
_FREEZE_LEAVES_OUT = ("pip", "setuptools", "wheel")
# They have files for Windows alone, on the index and in conda's channels.
_OF_WINDOWS = ("pywin32", "pywinpty", "windows-curses", "triton-windows", "vs2015-runtime", "ucrt")
# "# packages in environment at C:\\Users\\me\\anaconda3:"
_ON_WINDOWS = re.compile(r"# packages in environment at [A-Za-z]:\\")
_SYSTEMS = {"linux": "linux", "linux2": "linux", "win32": "windows", "darwin": "macos"}


@dataclass(frozen=True, slots=True)
class Listing(Collected):
    """What a listing states. ``kind`` is what printed it."""

    kind: str = ""


@dataclass(slots=True)
class _Reading:
    place: str
    kind: str
    facts: dict[str, Fact] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)

    def package(self, name: str, version: str, line: int | None) -> None:
        """One installed package; of two with one name the first counts, which is the one that an import finds."""
        normal = re.sub(r"[-_.]+", "-", name).lower()
        try:
            value: FactValue = exact(version)
        except ValueError:
            value = NotUnderstood(version)
            self.skip(line, f"{normal}: {version!r} is no version; kept as free text")
        self.state(f"packages.{normal}", value, line)

    def unknown_version(self, name: str, line: int, why: str) -> None:
        """An installed package whose version the line does not tell: it may be any."""
        normal = re.sub(r"[-_.]+", "-", name).lower()
        self.state(f"packages.{normal}", Ranged(""), line)
        self.skip(line, f"{normal}: {why}, its version is not known")

    def state(self, name: str, value: FactValue, line: int | None) -> None:
        before = self.facts.setdefault(name, Fact(name, value, Origin(self.place, self.place, line)))
        if before.value != value:
            self.skip(line, f"{name.removeprefix('packages.')} {value}: listed before as {before.value}, which was taken")

    def skip(self, line: int | None, why: str) -> None:
        if len(self.skips) < _MOST_SKIPS:
            self.skips.append(Skip(self.place if line is None else f"{self.place}:{line}", why))
        elif len(self.skips) == _MOST_SKIPS:
            self.skips.append(Skip(self.place, "more lines that could not be read"))

    def listing(self, *, closed: bool) -> Listing:
        if "os" not in self.facts and (name := next((one for one in _OF_WINDOWS if f"packages.{one}" in self.facts), "")):
            self.state("os", "windows", self.facts[f"packages.{name}"].origin.line)
        return Listing(tuple(self.facts.values()), (), tuple(self.skips), closed, kind=self.kind)


def parse_listing(text: str, place: str) -> Listing | None:
    """The facts of a listing or an environment report; None for a text of no known form.

    Raises:
        EnvdoctorError: JSON that is broken or has no known shape, or a requirements file, which is a target and no listing.
    """
    text = text.lstrip("\ufeff")
    start = re.match(r"\s*(?:\{|\[\s*[\{\]])", text)
    if start:
        return _json(text, place)
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith(_NOISE)]
    for read in (_pip_list, _conda_list, _conda_pins, _freeze):
        found = read(lines, place)
        if found is not None:
            return found
    from envdoctor.sources.stated.env_reports import parse_printed_report

    rows = _rows_alone(lines, place)
    report = None if rows else parse_printed_report(text, place)
    if report is not None:
        return Listing(report.facts, report.defects, report.skips, kind="environment report")
    return rows


def _pip_list(lines: list[tuple[int, str]], place: str) -> Listing | None:
    """The columns of ``pip list``, from their header on; with a column ``Latest`` only the outdated are listed."""
    if not lines or not (header := _COLUMNS.fullmatch(lines[0][1])):
        return None
    reading = _Reading(place, "pip list")
    for number, line in lines[1:]:
        row = _ROW.fullmatch(line)
        if row is not None:
            reading.package(row[1], row[2], number)
        elif line.strip("-─ "):
            reading.skip(number, f"{line[:80]!r} is no row of pip list")
    return reading.listing(closed="Latest" not in (header[1] or "")) if reading.facts else None


def _conda_list(lines: list[tuple[int, str]], place: str) -> Listing | None:
    """The columns of ``conda list`` (and mamba's), under the comment or header that they begin with."""
    begins = next((index for index, (_, line) in enumerate(lines[:6]) if _CONDA_NAME.fullmatch(line)), None)
    if begins is None:
        begins = next((index for index, (_, line) in enumerate(lines[:6]) if line.startswith("# packages in environment at")), None)
    if begins is None:
        return None
    reading = _Reading(place, "conda list")
    if (at := next((number for number, line in lines[: begins + 1] if _ON_WINDOWS.match(line)), None)) is not None:
        reading.state("os", "windows", at)
    for number, line in lines[begins + 1 :]:
        row = None if line.startswith("#") else _CONDA_ROW.fullmatch(line)
        if row is not None:
            _conda(reading, row[1], row[2], row[3] or "", number)
        elif not line.startswith("#") and line.strip("-─━ "):
            reading.skip(number, f"{line[:80]!r} is no row of conda list")
    return reading.listing(closed=True) if reading.facts else None


def _conda_pins(lines: list[tuple[int, str]], place: str) -> Listing | None:
    """``conda list --export`` (name=version=build) and ``--explicit`` (addresses of package files)."""
    pattern = _CONDA_FILE if any(line == "@EXPLICIT" for _, line in lines[:12]) else _CONDA_EXPORT
    rows = [(number, row) for number, line in lines if not line.startswith(("#", "@")) and (row := pattern.fullmatch(line))]
    if not rows or len(rows) < 0.9 * sum(not line.startswith(("#", "@")) for _, line in lines):
        return None
    reading = _Reading(place, "conda list")
    for number, row in rows:
        _conda(reading, row[1], row[2], row[3], number)
    # --explicit leaves out what pip installed; --export has it.
    return reading.listing(closed=pattern is _CONDA_EXPORT)


def _conda(reading: _Reading, name: str, version: str, build: str, line: int | None) -> None:
    from envdoctor.sources.stated.env_reports import conda_package

    if name.replace("_", "-") in _OF_WINDOWS and "os" not in reading.facts:
        reading.state("os", "windows", line)
    for fact, text in conda_package(name, version, build):
        if fact.startswith("packages."):
            reading.package(fact.removeprefix("packages."), text, line)
        elif fact not in reading.facts:
            value = parse_value(fact, text)
            if not isinstance(value, NotUnderstood):
                reading.state(fact, value, line)


def _freeze(lines: list[tuple[int, str]], place: str) -> Listing | None:
    """``pip freeze``, also ``pip list --format freeze``: exact versions, direct references and editable installs.

    Raises:
        EnvdoctorError: lines that pip freeze never prints (ranges, markers): a requirements file.
    """
    reading = _Reading(place, "pip freeze")
    known = significant = 0
    ranges: list[tuple[int, str]] = []
    commented: tuple[str, str] | None = None
    for number, line in lines:
        if line.startswith("#") or (line.startswith("-") and not line.startswith("-e ")):
            note = _NO_VCS.match(line)
            commented = (note[1], note[2]) if note else None
            continue
        significant += 1
        if _frozen(reading, line, number, commented):
            known += 1
        elif _REQUIREMENT.fullmatch(line.removesuffix("\\").strip()):
            ranges.append((number, line))
        else:
            reading.skip(number, f"{line[:80]!r} is no line of pip freeze")
        commented = None
    if significant == 0 or known + len(ranges) < 0.9 * significant or not (known or ranges):
        return None
    if ranges:
        number, line = ranges[0]
        raise EnvdoctorError(
            f"{place}, line {number}",
            found=f"the requirement {line[:80]!r}",
            expected="exact versions, as pip freeze prints them",
            next_step="a requirements file is a target: give it to check without --facts",
        )
    if not any(f"packages.{name}" in reading.facts for name in _FREEZE_LEAVES_OUT):
        for name in _FREEZE_LEAVES_OUT:
            reading.state(f"packages.{name}", NotUnderstood("not told by pip freeze"), None)
    return reading.listing(closed=True)


def _frozen(reading: _Reading, line: str, number: int, commented: tuple[str, str] | None) -> bool:
    pin = _PIN.fullmatch(line)
    if pin is not None:
        reading.package(pin[1], pin[2], number)
        return True
    direct = _DIRECT.fullmatch(line)
    if direct is not None:
        wheel = _WHEEL.search(direct[2].partition("#")[0])
        if wheel is not None and re.sub(r"[-_.]+", "-", wheel[1]).lower() == re.sub(r"[-_.]+", "-", direct[1]).lower():
            reading.package(direct[1], wheel[2].replace("%2B", "+").replace("%2b", "+"), number)
        else:
            reading.unknown_version(direct[1], number, "taken from a URL or a path")
        return True
    editable = _EDITABLE.fullmatch(line)
    if editable is None:
        return False
    egg = _EGG.search(editable[1])
    if commented is not None:
        reading.package(commented[0], commented[1], number)
    elif egg is not None:
        reading.unknown_version(egg[1], number, "an editable install")
    else:
        reading.skip(number, f"{line[:80]!r}: an editable install without a name")
    return True


def _rows_alone(lines: list[tuple[int, str]], place: str) -> Listing | None:
    """Rows of ``pip list`` or ``conda list`` without their header, perhaps an excerpt."""
    reading = _Reading(place, "rows of a package list")
    known = 0
    for number, line in lines:
        row = _ROW.fullmatch(line)
        if row is None or not re.match(r"\d+\.\d|\d+$", row[2]):
            reading.skip(number, f"{line[:80]!r} is no row of a package list")
            continue
        known += 1
        if re.search(r"_\d+$|^\d+$|^<pip>$", row[3] or ""):
            _conda(reading, row[1], row[2], row[3], number)
        else:
            reading.package(row[1], row[2], number)
    return reading.listing(closed=False) if known > 1 and known >= 0.9 * len(lines) and reading.facts else None


def _json(text: str, place: str) -> Listing:
    from envdoctor.files.json_file import JsonError, parse_json

    try:
        value = parse_json(text.encode("utf-8", "replace")).value
    except JsonError as error:
        where = f"{place}, line {error.line}, column {error.column}"
        raise EnvdoctorError(where, found=error.found, expected=error.expected, next_step="write the listing to the file again") from None
    lines = _lines_of_names(text)
    if isinstance(value, Mapping) and isinstance(value.get("installed"), list):
        return _pip_inspect(value, place, lines)
    if isinstance(value, list) and all(isinstance(row, Mapping) and "name" in row and "version" in row for row in value):
        return _json_rows(value, place, lines)
    raise EnvdoctorError(
        place,
        found=f"a JSON {'object' if isinstance(value, Mapping) else 'list'} of no known shape",
        expected="what pip list --format json, pip inspect or conda list --json print",
        next_step="envdoctor facts --format toml prints a facts file",
    )


def _json_rows(rows: Iterable[Mapping[str, object]], place: str, line_of: Callable[[str], int | None]) -> Listing:
    rows = list(rows)
    by_conda = any("build_string" in row or "dist_name" in row for row in rows)
    reading = _Reading(place, "conda list" if by_conda else "pip list")
    for row in rows:
        name, version = str(row["name"]), str(row["version"])
        if by_conda:
            _conda(reading, name, version, "pypi_0" if row.get("channel") == "pypi" else str(row.get("build_string", "")), line_of(name))
        else:
            reading.package(name, version, line_of(name))
    return reading.listing(closed=not any("latest_version" in row for row in rows))


def _pip_inspect(report: Mapping[str, object], place: str, line_of: Callable[[str], int | None]) -> Listing:
    reading = _Reading(place, "pip inspect")
    installed = report.get("installed")
    for item in installed if isinstance(installed, list) else ():
        metadata = item.get("metadata") if isinstance(item, Mapping) else None
        if isinstance(metadata, Mapping) and isinstance(metadata.get("name"), str):
            reading.package(metadata["name"], str(metadata.get("version", "")), line_of(metadata["name"]))
        else:
            reading.skip(None, "an installed package without a name")
    environment = report.get("environment")
    for name, text in _markers(environment if isinstance(environment, Mapping) else {}):
        value = parse_value(name, text)
        if not isinstance(value, NotUnderstood):
            reading.state(name, value, None)
    return reading.listing(closed=True)


def _markers(environment: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    python = environment.get("python_full_version") or environment.get("python_version")
    if python:
        yield "python", str(python)
    system = _SYSTEMS.get(str(environment.get("sys_platform")))
    if system:
        yield "os", system
    if environment.get("platform_machine"):
        yield "machine", str(environment["platform_machine"])


def _lines_of_names(text: str) -> Callable[[str], int | None]:
    """The line on which each ``"name": "..."`` first stands."""
    lines: dict[str, int] = {}
    line, position = 1, 0
    for found in re.finditer(r'"name"\s*:\s*"([^"\\]{1,200})"', text):
        line += text.count("\n", position, found.start())
        position = found.start()
        lines.setdefault(found[1], line)
    return lines.get


def unknown_form(text: str, place: str) -> EnvdoctorError:
    """The error for a text that is neither a facts file nor a listing nor a report."""
    from envdoctor.files.text import plain

    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return EnvdoctorError(
        place,
        found=f"text of no known form, beginning {plain(first, 60)!r}" if first else "an empty file",
        expected="a TOML facts file, or what pip freeze, pip list, pip inspect, conda list, transformers env, torch.utils.collect_env,"
        " accelerate env or llamafactory-cli env print",
        next_step="envdoctor facts --format toml prints a facts file to start from",
    )


__all__ = ["Listing", "parse_listing", "unknown_form"]
