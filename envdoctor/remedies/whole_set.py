"""All that is to be installed together, before and with the pins of a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.records import dataclass
from envdoctor.uv.asking import named
from envdoctor.world.installation import Installation

_PACKAGE = "packages."
_PIN = re.compile(r"==\s*([^,*\s]+)")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class WholeSet:
    """All that is to be installed together.

    ``wanted`` and ``constraints`` are the requirements of the targets (``Collected``); without them, or where the stated packages are
    all there are (installed, frozen, locked), these are the set. ``indexes`` are lines of requirements files (``--extra-index-url URL``),
    ``day`` (YYYY-MM-DD) the last one whose releases count.
    """

    stated: Facts
    installation: Installation
    wanted: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    day: str | None = None

    @property
    def declared(self) -> bool:
        """Whether requirements were declared that an installer is still to choose releases for."""
        return bool(self.wanted) and not self.stated.closed

    def releases(self) -> dict[str, str]:
        """The stated packages of which one release is stated."""
        return {name: value.text for name, value in self._packages() if isinstance(value, Exact)}

    def constrained(self) -> dict[str, str]:
        """The packages that a constraint holds at one release."""
        pins = ((named(line), line[len(head(line)) :].strip()) for line in self.constraints)
        return {name: found[1] for name, pin in pins if (found := _PIN.fullmatch(pin))}

    def requirements(self) -> tuple[str, ...]:
        """The set as requirements, before any pin."""
        if self.declared:
            return self.wanted
        return tuple(f"{name}=={value.text}" if isinstance(value, Exact) else f"{name}{value.text}" for name, value in self._packages())

    def _packages(self) -> Iterator[tuple[str, Exact | Ranged]]:
        """The stated packages but those whose name is none: a line that begins with another sign is an option to uv."""
        for name, fact in self.stated.by_name.items():
            package = name.removeprefix(_PACKAGE)
            if name != package and isinstance(fact.value, (Exact, Ranged)) and _NAME.fullmatch(package):
                yield package, fact.value

    def where(self) -> str:
        """The Python and the platform that are resolved for, and the day, in words."""
        told = self.installation.environment()
        system = {"darwin": "macos", "win32": "windows"}.get(told["sys_platform"], told["sys_platform"])
        when = f", as of {self.day}" if self.day else ""
        return f"Python {told['python_version']}, {system} {told['platform_machine']}{when}"


def head(line: str) -> str:
    """The name of a requirement with its extras."""
    found = re.match(r"[A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?", line)
    return line if found is None else found[0].strip()


__all__ = ["WholeSet", "head"]
