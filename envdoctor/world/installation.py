"""Where packages are to be installed: the marker variables of PEP 508 for a machine that need not be this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from envdoctor.records import dataclass, field, replace
from envdoctor.world.markers import NotSimpleError, judge_simple

if TYPE_CHECKING:
    from packaging.markers import Marker

# The minor releases that a project may ask for, newest first; patch releases decide no marker that was ever seen.
_PYTHONS = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9", "3.8", "3.7", "3.6")

_SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}


@dataclass(frozen=True, slots=True)
class Installation:
    """What markers are evaluated for. ``stated`` are the variables that somebody named; the rest are this interpreter's."""

    stated: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> str:
        """The minor release of Python, ``3.11``."""
        return self.stated.get("python_version") or _known_here()["python_version"]

    def environment(self, extra: str = "") -> dict[str, str]:
        return {**_here(), **self.stated, "extra": extra}

    def applies(self, marker: Marker | None, extra: str = "") -> bool:
        """Whether a requirement with this marker is installed, with at most one extra asked for."""
        return marker is None or marker.evaluate(self.environment(extra))

    def holds(self, marker: str) -> bool:
        """Whether a marker holds, without extras; one that cannot be read does not."""
        try:
            return judge_simple(marker, {**_known_here(), **self.stated}) is True
        except NotSimpleError:
            from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

        try:
            return self.applies(Marker(marker))
        except (ValueError, UndefinedComparison, UndefinedEnvironmentName):
            return False

    def on(self, system: str | None, machine: str | None) -> Installation:
        """This installation on an operating system (``linux``, ``windows``, ``macos``) and a processor; None leaves what is."""
        told = dict(self.stated)
        if system is not None:
            told |= _SYSTEMS.get(system, {})
        if machine is not None:
            told["platform_machine"] = "AMD64" if machine == "x86_64" and system == "windows" else machine
        return replace(self, stated=told)

    def with_python(self, version: str) -> Installation:
        """This installation under a Python, given as ``3.11`` or ``3.11.7``."""
        short = ".".join(version.split(".")[:2])
        full = version if version.count(".") > 1 else f"{version}.0"
        return replace(self, stated={**self.stated, "python_version": short, "python_full_version": full})

    def admitted_by(self, requires_python: str) -> Installation:
        """This installation; under the newest Python that a project admits, where none was named and ours is not admitted.

        A range that cannot be read, or admits none that is known, changes nothing.
        """
        if "python_version" in self.stated:
            return self
        from packaging.specifiers import SpecifierSet

        try:
            admitted = SpecifierSet(requires_python)
            if admitted.contains(_here()["python_full_version"], prereleases=True):
                return self
            newest = next((python for python in _PYTHONS if admitted.contains(f"{python}.99") or admitted.contains(f"{python}.0")), None)
        except ValueError:  # no specifier, or a number without end in one
            return self
        return self if newest is None else self.with_python(newest)


@lru_cache(maxsize=1)
def _known_here() -> Mapping[str, str]:
    """Of the variables of this interpreter those that most markers ask for."""
    if os.name != "posix":
        return _here()
    system, name = os.uname(), sys.implementation.name
    return {
        "implementation_name": name,
        "os_name": os.name,
        "platform_machine": system.machine,
        "platform_system": system.sysname,
        "python_full_version": sys.version.split()[0],
        "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "sys_platform": sys.platform,
        **({"platform_python_implementation": "CPython"} if name == "cpython" else {}),
    }


@lru_cache(maxsize=1)
def _here() -> dict[str, str]:
    from packaging.markers import default_environment

    return {name: str(value) for name, value in default_environment().items()}
