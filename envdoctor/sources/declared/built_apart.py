"""Packages whose ``setup.py`` imports torch and says so nowhere: an installer that builds them apart from the environment ends there.

Read in the projects' repositories at every tag: the first lines of ``setup.py``, and whether a ``pyproject.toml`` names torch under
``[build-system]``. None of them has a wheel on the package index.
"""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import Requirement

from envdoctor.facts.names import canonical
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import dataclass
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.package_index import Indexes, is_of_pytorch
from envdoctor.world.releases import releases

WITHOUT_TORCH = "built-apart-from-torch"

# The releases that name torch nowhere; empty: all.
_IMPORT_TORCH = {
    "flash-attn": "!=1.0.5",
    "mamba-ssm": "<2.2.3 || >=2.3.2",
    "causal-conv1d": "<1.5.1",
    "torch-scatter": ">=1.0.4",
    "torch-sparse": "",
    "torch-cluster": ">=1.1.4",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A requirement and where it stands."""

    requirement: Requirement
    file: str
    line: int | None


def needs_torch(requirement: Requirement) -> bool:
    """Whether the release that an installer takes for a requirement is built with a torch that it does not ask for."""
    name, specifier = canonical(requirement.name), requirement.specifier
    if name not in _IMPORT_TORCH or requirement.url or "+" in str(specifier):
        return False
    known = [one.version for one in releases(name) if not one.yanked]
    newest = next((text for text in reversed(known) if specifier.contains(text)), None)
    pins = [one.version for one in specifier if one.operator in ("==", "===") and "*" not in one.version]
    taken = newest or next(iter(pins), None)
    if taken is None:
        return not known and not _IMPORT_TORCH[name]
    return not _IMPORT_TORCH[name] or version_condition(_IMPORT_TORCH[name]).admits(exact(taken))


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
        told = f"{one.requirement} is built when it is installed: its setup.py imports torch, which is not there where {_where(name)}"
        declarations.defect(WITHOUT_TORCH, told, one.file, one.line, (name,))
        return
