"""The Python that one target names decides the markers of the others: an image's, an environment file's, a project's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.files.paths import is_file

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

_ASK = ("python_version", "python_full_version")
_MOST = 2**20
# python=3.8 of conda, whose last number is left to it.
_ONE = re.compile(r"==(\d+\.\d+)\.\*")


def read_for_one_python(targets: Sequence[Target], installation: Installation | None) -> list[Target]:
    """The targets; lists whose markers ask for the Python are read once more for the one that another target names.

    Nothing changes where somebody states the Python, or two targets name different ones.
    """
    pythons = {told for target in targets if (told := _told(target)) is not None}
    if len(pythons) != 1 or (installation is not None and _ASK[0] in installation.stated):
        return list(targets)
    from envdoctor.world.installation import Installation

    where = (installation or Installation()).with_python(pythons.pop())
    return [_read(target, where) if _waits(target) else target for target in targets]


def _told(target: Target) -> str | None:
    value = next((fact.value for fact in target.collected.facts if fact.name == "python"), None)
    if isinstance(value, Ranged) and (one := _ONE.fullmatch(value.text)):
        return one[1]
    return value.text if isinstance(value, Exact) else None


def _waits(target: Target) -> bool:
    if target.kind != "requirements" or _told(target) is not None or not is_file(target.text):
        return False
    try:
        with open(target.text, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST)
    except OSError:
        return False
    return any(name in text for name in _ASK)


def _read(target: Target, where: Installation) -> Target:
    from envdoctor.sources.targets import read_target

    try:
        return read_target(target.text, where)
    except EnvdoctorError:
        return target


__all__ = ["read_for_one_python"]
