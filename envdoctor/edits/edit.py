"""A change that is wished for, and what became of it in the bytes of one file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from envdoctor.records import dataclass

Setting: TypeAlias = "bool | int | float | str | tuple[str, ...]"


class RefusedError(Exception):
    """A wish that cannot be given without harm; the text says why."""


def as_setting(value: object) -> Setting:
    """The value of a fact as a plan file may hold it."""
    if isinstance(value, (bool, int, float, str)):
        return value
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@dataclass(frozen=True, slots=True)
class Pin:
    """What files are to say of a package.

    ``specifier`` is ``==0.12.0`` or ``==2.4.1+cu118``, a bound to add to what stands there (``<5``), or empty to take the package out.
    ``index`` is an index that has this build, where the default one does not. ``hashes`` (``sha256:<hex>``) are those of all files of the
    release, where they are known. ``added`` says that it is stated where nothing states it yet; without, only what holds it back is moved.
    """

    package: str
    specifier: str
    index: str = ""
    hashes: tuple[str, ...] = ()
    added: bool = True

    @property
    def exact(self) -> bool:
        return self.specifier.startswith("==")


@dataclass(frozen=True, slots=True)
class Set:
    """What a plan file is to say: a fact by its name (``plan.bf16``) and its value."""

    fact: str
    value: Setting


@dataclass(frozen=True, slots=True)
class Refusal:
    """A wish that a file cannot be given without harm, and why."""

    wish: Pin | Set
    why: str


@dataclass(frozen=True, slots=True)
class Edited:
    """One file before and after.

    ``lines`` are the numbers (from 1, in ``before``) of the lines that were changed, or after which one was added.

    A file that need not change has ``after == before``.
    """

    path: Path
    before: bytes
    after: bytes
    done: tuple[Pin | Set, ...] = ()
    refused: tuple[Refusal, ...] = ()
    lines: tuple[int, ...] = ()


__all__ = ["Edited", "Pin", "Refusal", "RefusedError", "Set", "Setting", "as_setting"]
