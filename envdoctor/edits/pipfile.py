"""Pins written into a ``Pipfile``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

from envdoctor.edits.constraints import rewritten_version
from envdoctor.edits.edit import Edited, Pin, RefusedError
from envdoctor.edits.pyproject import apply_pins
from envdoctor.edits.toml_draft import TomlDraft
from envdoctor.facts.names import canonical
from envdoctor.sources.declared.toml_document import table_of, text_of
from envdoctor.world.installation import Installation

_OTHER = ("source", "requires", "pipenv", "scripts", "build-system", "_meta")
_ELSEWHERE = ("git", "hg", "svn", "bzr", "file", "path", "url")
_MARKERS = ("os_name", "sys_platform", "platform_machine", "platform_system", "python_version", "python_full_version")


def edit_pipfile(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The file with the pins in every category that states their packages; what none states joins ``[packages]``.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or no TOML.
    """
    draft = TomlDraft(path)
    version = text_of(table_of(draft.get("requires")).get("python_version"))
    if version and "python_version" not in installation.stated and re.fullmatch(r"3\.[0-9]{1,2}", version):
        installation = installation.with_python(version)
    return apply_pins(draft, pins, lambda edited, pin: _give(edited, pin, installation))


def _give(draft: TomlDraft, pin: Pin, installation: Installation) -> None:
    package = canonical(pin.package)
    if package == "python":
        _give_python(draft, pin)
        return
    if pin.index and pin.specifier:
        urls = [text_of(table_of(row).get("url")).rstrip("/") for row in draft.get("source") or []]
        if pin.index.rstrip("/") not in urls:
            raise RefusedError(f"this build is of {pin.index}: it needs a [[source]] with this url, and index = its name for {package}")
    found = 0
    for category, table in list(draft.table.items()):
        if category in _OTHER or not isinstance(table, dict):
            continue
        for name, value in list(table.items()):
            if canonical(name) == package:
                found += 1
                _give_entry(draft, pin, (category, name), value, installation)
    if not found and pin.specifier:
        if not isinstance(draft.get("packages"), dict):
            raise RefusedError("the file has no [packages]")
        draft.add(("packages",), package, pin.specifier)


def _give_entry(draft: TomlDraft, pin: Pin, keys: tuple[str, str], value: Any, installation: Installation) -> None:
    entry = table_of(value)
    if not _applies(entry, installation):
        raise RefusedError(f"line {draft.line(keys)}: {keys[1]} is stated for other platforms or Pythons only")
    if not pin.specifier:
        draft.remove(keys)
        return
    place = keys if isinstance(value, str) else (*keys, "version")
    stated = draft.get(*place)
    if any(entry.get(key) for key in _ELSEWHERE) or not isinstance(stated, str):
        raise RefusedError(f"line {draft.line(keys)}: it is taken from a repository, a URL or a path, or states no version")
    try:
        new = rewritten_version(stated, pin)
    except RefusedError as error:
        raise RefusedError(f"line {draft.line(keys)}: {error}") from None
    if new != stated:
        draft.set(place, new)


def _applies(entry: Mapping[str, Any], installation: Installation) -> bool:
    parts = [text_of(entry.get("markers")), *(f"{key} {entry[key]}" for key in _MARKERS if isinstance(entry.get(key), str))]
    try:
        return all(installation.applies(Marker(part)) for part in parts if part.strip())
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName, RecursionError):
        return True


def _give_python(draft: TomlDraft, pin: Pin) -> None:
    """``python_version`` is one minor release, ``python_full_version`` one release; neither is a range."""
    exact = re.fullmatch(r"==\s*(3\.[0-9]+)(?:\.\*|(\.[0-9]+))?", pin.specifier)
    stated = table_of(draft.get("requires"))
    key = next((key for key in ("python_full_version", "python_version") if isinstance(stated.get(key), str)), "")
    if exact is None or not key:
        raise RefusedError("[requires] of a Pipfile states one Python, and no range of them")
    if key == "python_full_version" and not exact[2]:
        raise RefusedError("python_full_version wants a release of Python as a whole")
    draft.set(("requires", key), exact[1] + (exact[2] if key == "python_full_version" else ""))


__all__ = ["edit_pipfile"]
