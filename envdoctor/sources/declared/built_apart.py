"""Packages whose ``setup.py`` imports torch and says so nowhere: an installer that builds them apart from the environment ends there.

Read in the projects' repositories at every tag: the first lines of ``setup.py``, and whether a ``pyproject.toml`` names torch under
``[build-system]``. None of them has a wheel on the package index but xformers, whose releases have none for some systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from envdoctor.facts.names import canonical
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import dataclass
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.package_index import Indexes, is_of_pytorch
from envdoctor.world.installation import Installation
from envdoctor.world.releases import releases
from envdoctor.world.wheel_pythons import wheels_beside_source

if TYPE_CHECKING:
    from packaging.requirements import Requirement

WITHOUT_TORCH = "built-apart-from-torch"

# The releases that name torch nowhere; empty: all.
_IMPORT_TORCH = {
    "flash-attn": "!=1.0.5",
    "mamba-ssm": "<2.2.3 || >=2.3.2",
    "causal-conv1d": "<1.5.1",
    "torch-scatter": ">=1.0.4",
    "torch-sparse": "",
    "torch-cluster": ">=1.1.4",
    "xformers": "<0.0.31",
}
# Only these have a pyproject.toml, by which every pip builds them apart; of the others pip does so from 25.3 on, which needs Python 3.9.
_ALWAYS_APART = frozenset(("mamba-ssm",))
_FIRST_WITH_PIP_25_3 = 9
_NO_WHEEL = {
    "windows": "has no wheel for Windows (0.0.16 to 0.0.27.post2 and 0.0.29.post2 on have one, and PyTorch's own index)",
    "macos": "has no wheel for macOS",
    "linux": "has no wheel for Linux",
}
_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}


@dataclass(frozen=True, slots=True)
class Line:
    """A requirement and where it stands."""

    requirement: Requirement
    file: str
    line: int | None


def needs_torch(requirement: Requirement, installation: Installation) -> bool:
    """Whether the release that an installer takes for a requirement is built with a torch that it does not ask for."""
    name, specifier = canonical(requirement.name), requirement.specifier
    if name not in _IMPORT_TORCH or requirement.url or "+" in str(specifier) or _is_built_in_place(name, installation):
        return False
    known = [one.version for one in releases(name) if not one.yanked]
    newest = next((text for text in reversed(known) if specifier.contains(text)), None)
    pins = [one.version for one in specifier if one.operator in ("==", "===") and "*" not in one.version]
    taken = newest or next(iter(pins), None)
    if taken is None:
        return not known and not _IMPORT_TORCH[name]
    if (wheels := wheels_beside_source(name, taken)) is not None or name == "xformers":
        system = _SYSTEMS.get(installation.stated.get("sys_platform", ""))
        if wheels is None or system is None or system in wheels.minors or system in wheels.since:
            return False
    return not _IMPORT_TORCH[name] or version_condition(_IMPORT_TORCH[name]).admits(exact(taken))


def _is_built_in_place(name: str, installation: Installation) -> bool:
    """Whether every pip of the stated Python builds a package where setuptools and wheel are, beside the torch that is there."""
    stated = re.match(r"3\.(\d+)", installation.stated.get("python_version", ""))
    return name not in _ALWAYS_APART and stated is not None and int(stated[1]) < _FIRST_WITH_PIP_25_3


def _where(name: str) -> str:
    """Where a package is built apart from what is installed: an older pip builds one that has no pyproject.toml in place, if it can."""
    return "it is built" if name == "mamba-ssm" else "uv or pip from 25.3 on builds it (nor under an older pip without setuptools or wheel)"


def say_built_apart(lines: Iterable[Line], indexes: Indexes, declarations: Declarations) -> None:
    """Tell of the first such line, where all indexes that are named are the public one and PyTorch's: another may have wheels."""
    urls = [url for url, _ in filter(None, (indexes.only, *indexes.more))]
    if indexes.none or not all(is_of_pytorch(url) for url in urls):
        return
    for one in lines:
        name = canonical(one.requirement.name)
        if name == "xformers" and any("pytorch.org" in url for url in urls):
            continue  # PyTorch's own index has wheels of it for Windows
        told = f"{one.requirement} is built when it is installed: its setup.py imports torch, which is not there where {_where(name)}"
        if name == "xformers":
            system = _SYSTEMS.get(declarations.installation.stated.get("sys_platform", ""), "")
            told = f"{one.requirement} {_NO_WHEEL[system]}: its setup.py imports torch, which is not there where it is built apart"
        declarations.defect(WITHOUT_TORCH, told, one.file, one.line, (name,))
        return
