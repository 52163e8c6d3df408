"""Which editor a file has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.edits.edit import Edited, Pin, Refusal, Set

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

Editor = Callable[[Path, Sequence[Pin], "Installation"], tuple[Edited, ...]]

_BY_NAME = {
    "pyproject.toml": ("pyproject", "edit_pyproject"),
    "setup.cfg": ("setup_cfg", "edit_setup_cfg"),
    "Pipfile": ("pipfile", "edit_pipfile"),
}
# What makes a lock anew, with one package moved.
_LOCKS = {
    "uv.lock": "uv lock --upgrade-package {name}{pin}",
    "poetry.lock": "poetry update {name}",
    "pdm.lock": "pdm update {name}",
    "Pipfile.lock": "pipenv update {name}",
}


def edit_packages(path: Path, kind: str, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The files that state packages for a target of a kind, with the pins written into them; what cannot be, is refused with a reason.

    Raises:
        EnvdoctorError: a file that cannot be read.
    """
    why = _not_edited(path, kind)
    if why:
        data = path.read_bytes()
        return (Edited(path, data, data, refused=tuple(Refusal(pin, why.format(name=pin.package, pin=pin.specifier)) for pin in pins)),)
    module, function = _editor(path, kind)
    editor: Editor = getattr(import_module(f"envdoctor.edits.{module}"), function)
    return editor(path, pins, installation)


def command_of(path: Path, kind: str, pin: Pin) -> str:
    """The line that moves a package in a file which its own tool writes; empty for any other file."""
    made = _LOCKS.get(path.name, "") if kind == "lock" else ""
    return made.format(name=pin.package, pin=pin.specifier)


def edit_settings(path: Path, settings: Sequence[Set]) -> tuple[Edited, ...]:
    """A plan file with other values.

    Raises:
        EnvdoctorError: a file that cannot be read.
    """
    from envdoctor.edits.plan import edit_plan

    return edit_plan(path, settings)


def _not_edited(path: Path, kind: str) -> str:
    if kind == "lock":
        made = _LOCKS.get(path.name)
        return f"a lock is written by its own tool: {made}" if made else "a lock is written by its own tool, from what it was made of"
    if path.name == "setup.py" or kind == "script":
        return "code: change {name} to {pin} by hand"
    return ""


def _editor(path: Path, kind: str) -> tuple[str, str]:
    if kind == "image":
        return "dockerfile", "edit_dockerfile"
    if path.suffix in (".yml", ".yaml"):
        return "environment", "edit_environment"
    return _BY_NAME.get(path.name, ("requirements", "edit_requirements"))


__all__ = ["command_of", "edit_packages", "edit_settings"]
