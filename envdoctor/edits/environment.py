"""Pins written into a conda ``environment.yml``: conda's own entries in conda's words, those of its pip section in pip's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

from envdoctor.edits.constraints import name_of, rewritten_requirement, rewritten_specifier
from envdoctor.edits.draft import Draft, edited_by
from envdoctor.edits.edit import Edited, Pin, RefusedError
from envdoctor.edits.specifier import bounded, says, written
from envdoctor.edits.yaml_spans import append_item, compose, entry, literal, remove_item, scalar_span
from envdoctor.facts.names import canonical
from envdoctor.records import dataclass
from envdoctor.sources.declared.conda import collect_conda
from envdoctor.sources.declared.conda_spec import on_pypi, parse_match_spec
from envdoctor.world.installation import Installation

_SPEC = re.compile(r"((?:[^\s:]+::)?[A-Za-z0-9_][A-Za-z0-9._-]*)(\s*)(.*)", re.ASCII | re.DOTALL)
_SELECTOR = re.compile(r"#\s*\[(not\s+)?(linux|win|osx|unix)(?:32|64)?\]\s*$")
_DEVICE = re.compile(r"cuda|gpu|cpu|rocm|cu[0-9]", re.IGNORECASE)
_OPTION = re.compile(r"(?:-r|--requirement|-c|--constraint)(?:\s+|=)?(\S+)")


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry: the list it is in, its place there, and whether pip installs it."""

    sequence: Any
    place: int
    pip: bool

    @property
    def node(self) -> Any:
        return self.sequence.value[self.place]

    @property
    def line(self) -> str:
        return f"line {self.node.start_mark.line + 1}"


def edit_environment(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The file with the pins in every entry that states their packages here; what none states joins the pip section.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or no YAML.
    """
    collect_conda(path, installation)
    before = path.read_bytes()
    return edited_by(path, before, pins, lambda draft, pin: _give(draft, pin, installation))


def _rows(draft: Draft) -> list[_Row]:
    """The entries of the first document.

    Raises:
        RefusedError: it lists no dependencies.
    """
    if "{%" in draft.text or "{{" in draft.text:
        raise RefusedError("a template: the text that it gives is not here")
    node = next(iter(compose(draft.text)), None)
    listed = entry(node, "dependencies") if node is not None and node.id == "mapping" else None
    if listed is None or listed[1].id != "sequence":
        raise RefusedError("no list of dependencies")
    return list(_entries(listed[1]))


def _entries(sequence: Any) -> Iterator[_Row]:
    for place, item in enumerate(sequence.value):
        if item.id == "scalar":
            yield _Row(sequence, place, pip=False)
        elif item.id == "mapping" and (inner := entry(item, "pip")) is not None and inner[1].id == "sequence":
            yield from (_Row(inner[1], number, pip=True) for number, each in enumerate(inner[1].value) if each.id == "scalar")


def _said(draft: Draft) -> list[tuple[bool, str]]:
    return [(row.pip, row.node.value) for row in _rows(draft)]


def _give(draft: Draft, pin: Pin, installation: Installation) -> None:
    """Write one pin.

    Raises:
        RefusedError: it cannot be written, or another entry would say something else then.
    """
    before = draft.text
    wanted = _write(draft, pin, installation)
    if draft.text != before and _said(draft) != wanted:
        raise RefusedError("the file is written in a way that this change would damage")


def _write(draft: Draft, pin: Pin, installation: Installation) -> list[tuple[bool, str]]:
    """Write one pin, and tell what all entries are to say then."""
    package, rows = canonical(pin.package), _rows(draft)
    installation = _with_python(rows, installation)
    said: list[tuple[bool, str] | None] = [(row.pip, row.node.value) for row in rows]
    found = [(number, row) for number, row in enumerate(rows) if _names(row, package)]
    here = [(number, row) for number, row in found if _applies(draft, row, installation)]
    if pin.index and pin.specifier and not any(_has_index(row, pin.index) for row in rows):
        raise RefusedError(f"this build is of {pin.index}: the pip section needs --extra-index-url {pin.index}")
    if found and not here:
        raise RefusedError(f"{found[0][1].line}: {package} is stated for other platforms or Pythons only")
    if not found:
        _absent(draft, pin, package, rows, said)
    going = [row for _, row in here] if not pin.specifier else []
    for row in going:
        if sum(other.sequence is row.sequence for other in going) == len(row.sequence.value):
            raise RefusedError(f"{row.line}: nothing else is in its list; take the list out by hand")
    for number, row in reversed(here):
        if not pin.specifier:
            remove_item(draft, row.sequence, row.place)
            said[number] = None
            continue
        try:
            new = rewritten_requirement(row.node.value, pin) if row.pip else _in_conda(row.node.value, pin)
        except RefusedError as error:
            raise RefusedError(f"{row.line}: {error}") from None
        if new != row.node.value:
            start, end = scalar_span(draft, row.node, row.sequence.start_mark.index)
            draft.replace(start, end, literal(new, draft.text[start:end], bool(row.sequence.flow_style)))
            said[number] = (row.pip, new)
    return [each for each in said if each is not None]


def _absent(draft: Draft, pin: Pin, package: str, rows: list[_Row], said: list[tuple[bool, str] | None]) -> None:
    """Add what no entry states to the pip section."""
    included = next((found[1] for row in rows if row.pip and (found := _OPTION.match(row.node.value.strip()))), "")
    if included:
        raise RefusedError(f"no entry states it, but the pip section includes {included}, which may: change it there")
    if not pin.specifier:
        return
    if package == "python":
        raise RefusedError("no entry states Python")
    section = [number for number, row in enumerate(rows) if row.pip]
    if not section:
        raise RefusedError(f"no pip section to which {package}{pin.specifier} could be added")
    append_item(draft, rows[section[-1]].sequence, f"{package}{pin.specifier}")
    said.insert(section[-1] + 1, (True, f"{package}{pin.specifier}"))


def _names(row: _Row, package: str) -> bool:
    value = row.node.value.strip()
    if row.pip:
        requirement = None if value.startswith("-") else written(value)
        return requirement.name == package if requirement is not None else name_of(value) == package
    spec = parse_match_spec(value)
    return spec is not None and (spec.name == "python" if package == "python" else canonical(on_pypi(spec.name) or "") == package)


def _applies(draft: Draft, row: _Row, installation: Installation) -> bool:
    """Whether an entry is for this platform: by its marker, or by a selector (``# [win]``) behind it."""
    end = row.node.end_mark.index
    selector = _SELECTOR.search(draft.text[end : draft.line_end(end)])
    if selector is not None:
        system = {"linux": "linux", "darwin": "osx", "win32": "win"}.get(installation.environment()["sys_platform"], "")
        if (selector[2] == system or (selector[2] == "unix" and system in ("linux", "osx"))) is (selector[1] is not None):
            return False
    requirement = written(row.node.value.strip()) if row.pip else None
    try:
        return requirement is None or not requirement.marker or installation.applies(Marker(requirement.marker))
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError):
        return True


def _with_python(rows: list[_Row], installation: Installation) -> Installation:
    for row in rows:
        spec = None if row.pip else parse_match_spec(row.node.value)
        if spec is not None and spec.name == "python" and "python_version" not in installation.stated:
            exact = re.fullmatch(r"==(\d+\.\d+(?:\.\d+)?)(?:\.\*)?", spec.specifier or "", re.ASCII)
            return installation.with_python(exact[1]) if exact else installation.admitted_by(spec.specifier or "")
    return installation


def _has_index(row: _Row, index: str) -> bool:
    return row.pip and row.node.value.strip().startswith("-") and index.rstrip("/") in row.node.value


def _in_conda(text: str, pin: Pin) -> str:
    """A match spec that says what the pin wishes, with the operator and the channel that stand there.

    Raises:
        RefusedError: a build that decides the device, a local version, or a range that PEP 440 cannot say.
    """
    from envdoctor.facts.poetry_ranges import hull

    spec, match = parse_match_spec(text), _SPEC.fullmatch(text.strip())
    if spec is None or match is None or "[" in text or spec.specifier is None:
        raise RefusedError(f"{text!r} is written in a way that PEP 440 cannot say")
    head, gap, rest = match.groups()
    if "+" in pin.specifier:
        raise RefusedError(f"conda has no local versions: {pin.specifier.lstrip('=')} is a build of an index of pip's")
    if pin.package == "python" and "," in pin.specifier:
        return text if rest.replace(" ", "") == pin.specifier else f"{head}{gap}{pin.specifier}"
    if not pin.exact:
        stated = written(f"x{spec.specifier}")
        if stated is None or bounded(stated, pin.specifier) is None:
            return text
        if spec.build:
            raise RefusedError(f"{text!r} names one build, which is of one release")
        # `=1.2` begins a version, which with a bound beside it is said as a range.
        begins = spec.specifier.startswith("==") and spec.specifier.endswith(".*") and "," not in spec.specifier
        return f"{head}{gap}{rewritten_specifier(hull([spec.specifier]) if begins else spec.specifier, pin)}"
    version = pin.specifier.lstrip("=").strip()
    if says(spec.specifier, pin.specifier) or spec.specifier == f"=={version}.*":
        return text
    if spec.build and _DEVICE.search(spec.build) and not spec.build.startswith("*"):
        raise RefusedError(f"{text!r} names a build for a device, which the other release has under another name")
    build = spec.build if spec.build.startswith("*") else ""
    operator = "==" if rest.startswith("==") else "=" if rest.startswith("=") or not rest or gap == "" else ""
    if build and operator == "":
        return f"{head}{gap}{version} {build}"
    return f"{head}{gap}{operator}{version}{f'={build}' if build else ''}"


__all__ = ["edit_environment"]
