"""Who reads the files that declare packages, and how each is told.

A reader's module is imported when a file of its kind is there: a run pays for what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from envdoctor.records import dataclass

if TYPE_CHECKING:
    from envdoctor.sources.declared.variant import Variant
    from envdoctor.world.installation import Installation

FileKind = Literal["requirements", "lock", "image", "script", "plan"]
Recognise: TypeAlias = Callable[[Path], bool]
Read: TypeAlias = "Callable[[Path, Installation | None], tuple[Variant, ...]]"


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a kind of file. ``read`` gives what is always there, then the choices that it offers.

    A file is told by what holds of its name, as far as it is said: it matches ``named`` as a whole, its suffix (in lower case) is one of
    ``suffixes``, or none of ``other_suffixes``; then ``recognise`` looks into it. ``example`` is a name by which the reader is chosen.
    """

    name: str
    kind: FileKind
    example: str
    read: Read
    named: str | None = None
    suffixes: tuple[str, ...] | None = None
    other_suffixes: tuple[str, ...] = ()
    recognise: Recognise | None = None

    def fits(self, path: Path) -> bool:
        """Whether this reader is for the file."""
        if self.named is not None and not re.fullmatch(self.named, path.name):
            return False
        suffix = path.suffix.lower()
        if suffix in self.other_suffixes or (self.suffixes is not None and suffix not in self.suffixes):
            return False
        return self.recognise is None or self.recognise(path)


def find_reader(path: Path, readers: Sequence[Reader]) -> Reader | None:
    """The reader of a file, by its name and what is in it; the first that fits, None where none does."""
    return next((reader for reader in readers if reader.fits(path)), None)


def _pyproject(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.pyproject import collect_pyproject

    return collect_pyproject(path, _somewhere(installation))


def _uv_lock(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.uv_lock import collect_uv_lock

    return collect_uv_lock(path, _somewhere(installation))


def _poetry_lock(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.poetry_lock import collect_poetry_lock

    return collect_poetry_lock(path, _somewhere(installation))


def _pdm_lock(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.pdm_lock import collect_pdm_lock

    return collect_pdm_lock(path, _somewhere(installation))


def _pylock(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.pylock import collect_pylock

    return collect_pylock(path, _somewhere(installation))


def _pipfile(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.pipfile import collect_pipfile

    return collect_pipfile(path, _somewhere(installation))


def _pipfile_lock(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.pipfile import collect_pipfile_lock

    return collect_pipfile_lock(path, _somewhere(installation))


def _setup_cfg(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.setup_cfg import collect_setup_cfg

    return collect_setup_cfg(path, _somewhere(installation))


def _setup_py(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.setup_py import collect_setup_py

    return collect_setup_py(path, _somewhere(installation))


def _is_conda(path: Path) -> bool:
    from envdoctor.sources.declared.conda import is_conda

    return is_conda(path)


def _conda(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.conda import collect_conda

    return collect_conda(path, _somewhere(installation))


def _is_requirements(path: Path) -> bool:
    from envdoctor.sources.declared.requirements import is_requirements

    return is_requirements(path)


def _requirements(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.declared.requirements import collect_requirements

    return collect_requirements(path, _somewhere(installation))


def _somewhere(installation: Installation | None) -> Installation:
    """Where packages are to be installed: as said, else this machine."""
    from envdoctor.world.installation import Installation

    return installation or Installation()


# Files whose names say what they are.
NAMED = (
    Reader("pyproject", "requirements", "pyproject.toml", _pyproject, r"pyproject\.toml"),
    Reader("uv.lock", "lock", "uv.lock", _uv_lock, r"uv\.lock|.+\.py\.lock"),
    Reader("poetry.lock", "lock", "poetry.lock", _poetry_lock, r"poetry\.lock"),
    Reader("pdm.lock", "lock", "pdm.lock", _pdm_lock, r"pdm\.(?:.+\.)?lock"),
    Reader("pylock", "lock", "pylock.toml", _pylock, r"pylock\.(?:[^.]+\.)?toml"),
    Reader("Pipfile", "requirements", "Pipfile", _pipfile, r"Pipfile"),
    Reader("Pipfile.lock", "lock", "Pipfile.lock", _pipfile_lock, r"Pipfile\.lock"),
    Reader("setup.cfg", "requirements", "setup.cfg", _setup_cfg, r"setup\.cfg"),
    Reader("setup.py", "requirements", "setup.py", _setup_py, r"setup\.py"),
)
CONDA = Reader("conda", "requirements", "environment.yml", _conda, suffixes=(".yaml", ".yml"), recognise=_is_conda)
REQUIREMENTS = Reader("requirements", "requirements", "requirements.txt", _requirements, recognise=_is_requirements)


__all__ = ["CONDA", "NAMED", "REQUIREMENTS", "FileKind", "Reader", "find_reader"]
