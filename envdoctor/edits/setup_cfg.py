"""Pins written into a ``setup.cfg``: ``install_requires``, the extras and ``python_requires``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

from envdoctor.edits.constraints import name_of, rewritten_requirement, rewritten_specifier
from envdoctor.edits.draft import Draft, edited_by
from envdoctor.edits.edit import Edited, Pin, RefusedError
from envdoctor.edits.specifier import written
from envdoctor.facts.names import canonical
from envdoctor.records import dataclass
from envdoctor.sources.declared.setup_cfg import Config, read_config
from envdoctor.world.installation import Installation

_EXTRAS = "options.extras_require"


@dataclass(frozen=True, slots=True)
class _Place:
    """A requirement as it stands: the line, from 1, its text, the extra, and whether the line is its own."""

    line: int
    text: str
    extra: str
    own_line: bool


def edit_setup_cfg(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The file with the pins in every list that states their packages here; what none states joins ``install_requires``.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or no INI file.
    """
    read_config(path)
    before = path.read_bytes()
    return edited_by(path, before, pins, lambda draft, pin: _give(draft, path, pin, installation))


def _config(draft: Draft) -> Config:
    """The text as configparser would read it, with lines as the reader counts them."""
    import tempfile

    if "\r" in draft.text.replace("\r\n", ""):
        raise RefusedError("lines that end in a carriage return alone")
    with tempfile.TemporaryDirectory(prefix="envdoctor-") as folder:
        copy = Path(folder) / "setup.cfg"
        copy.write_bytes(draft.encoded())
        return read_config(copy)


def _give(draft: Draft, path: Path, pin: Pin, installation: Installation) -> None:
    config, package = _config(draft), canonical(pin.package)
    if package == "python":
        _give_python(draft, config, pin)
        return
    if pin.index and pin.specifier:
        raise RefusedError(f"this build is of {pin.index}, and setup.cfg names no index")
    found = [place for place in _places(config) if name_of(place.text) == package]
    here = [place for place in found if _applies(place, installation)]
    if found and not here:
        raise RefusedError(f"line {found[0].line}: {package} is stated for other platforms or Pythons only")
    if not found and pin.specifier:
        _append(draft, config, f"{package}{pin.specifier}")
    for place in reversed(here):
        if not pin.specifier:
            _remove(draft, place)
            continue
        try:
            new = rewritten_requirement(place.text, pin)
        except RefusedError as error:
            raise RefusedError(f"line {place.line}: {error}") from None
        if new != place.text:
            _replace(draft, place, new)
    left = [place for place in _places(_config(draft)) if name_of(place.text) == package and _applies(place, installation)]
    if bool(left) is not bool(pin.specifier) and (found or pin.specifier):
        raise RefusedError("the file is written in a way that this change would damage")


def _places(config: Config) -> Iterator[_Place]:
    """The requirements that are written out, not those of a file or by reference."""
    options = config.sections.get("options", {})
    lists = [(rows, "") for key, rows in options.items() if key in ("install_requires", "install-requires")]
    lists += [(rows, extra) for extra, rows in config.sections.get(_EXTRAS, {}).items()]
    for rows, extra in lists:
        if rows and rows[0].text.startswith(("file:", "attr:")):
            continue
        alone = len(rows) == 1 and rows[0].beside
        for row in rows:
            # setuptools parts a value of one line by semicolons, of several by lines.
            parts = row.text.split(";") if alone else [row.text]
            for part in parts:
                text = part.split(" #")[0].strip()
                if text and "%(" not in text:
                    yield _Place(row.line, text, extra, not row.beside)


def _applies(place: _Place, installation: Installation) -> bool:
    requirement = written(place.text)
    try:
        return requirement is None or not requirement.marker or installation.applies(Marker(requirement.marker), place.extra)
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError):
        return True


def _span(draft: Draft, place: _Place) -> tuple[int, int]:
    """Where a text stands in its line.

    Raises:
        RefusedError: it stands there twice.
    """
    start = 0
    for _ in range(place.line - 1):
        start = draft.after_line(start)
    end = draft.line_end(start)
    at = draft.text.rfind(place.text, start, end)
    if at < 0 or draft.text.find(place.text, start, end) != at:
        raise RefusedError(f"line {place.line}: {place.text} cannot be told from the rest of the line")
    return at, at + len(place.text)


def _replace(draft: Draft, place: _Place, new: str) -> None:
    start, end = _span(draft, place)
    draft.replace(start, end, new.replace("%", "%%") if "%" in new and "%%" not in new else new)


def _remove(draft: Draft, place: _Place) -> None:
    start, end = _span(draft, place)
    if not place.own_line:
        raise RefusedError(f"line {place.line}: it shares its line with its key; take it out by hand")
    draft.replace(draft.line_start(start), draft.after_line(end), "")


def _append(draft: Draft, config: Config, text: str) -> None:
    options = config.sections.get("options", {})
    key = next((key for key in ("install_requires", "install-requires") if key in options), "")
    rows = [row for row in options.get(key, []) if not row.beside]
    if not rows or options[key][0].text.startswith(("file:", "attr:")) or any("%(" in row.text for row in rows):
        raise RefusedError(f"no list, one a line, to which {text} could be added")
    start = 0
    for _ in range(rows[-1].line - 1):
        start = draft.after_line(start)
    end = draft.line_end(start)
    indent = draft.text[start : start + len(draft.text[start:end]) - len(draft.text[start:end].lstrip())]
    draft.replace(end, end, f"{draft.newline}{indent}{text}")


def _give_python(draft: Draft, config: Config, pin: Pin) -> None:
    if not pin.specifier:
        raise RefusedError("Python itself is not taken out")
    options = config.sections.get("options", {})
    rows = next((options[key] for key in ("python_requires", "python-requires") if options.get(key)), [])
    if len(rows) != 1:
        raise RefusedError("the file states no python_requires of one line")
    new = rewritten_specifier(rows[0].text, pin, whole=pin.exact or "," in pin.specifier)
    if new != rows[0].text:
        _replace(draft, _Place(rows[0].line, rows[0].text, "", False), new)


__all__ = ["edit_setup_cfg"]
