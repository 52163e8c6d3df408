"""Which editor a file has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.edits.edit import Edited, Pin, Refusal, Set

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

Editor = Callable[[Path, Sequence[Pin], "Installation"], tuple[Edited, ...]]

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
    return _find_editor(path, kind)(path, pins, installation)


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


def _find_editor(path: Path, kind: str) -> Editor:
    """The editor of a file; its module is imported when a file of its kind is to be changed."""
    if kind == "image":
        from envdoctor.edits.dockerfile import edit_dockerfile

        return edit_dockerfile
    if path.suffix in (".yml", ".yaml"):
        from envdoctor.edits.environment import edit_environment

        return edit_environment
    if path.name == "pyproject.toml":
        from envdoctor.edits.pyproject import edit_pyproject

        return edit_pyproject
    if path.name == "setup.cfg":
        from envdoctor.edits.setup_cfg import edit_setup_cfg

        return edit_setup_cfg
    if path.name == "Pipfile":
        from envdoctor.edits.pipfile import edit_pipfile

        return edit_pipfile
    from envdoctor.edits.requirements import edit_requirements

    return edit_requirements


__all__ = ["command_of", "edit_packages", "edit_settings"]
