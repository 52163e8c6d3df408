"""Builds of PyTorch by their label, ``torch==2.0.1+cu118``, which the public package index has none of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from packaging.requirements import Requirement

from envdoctor.facts.names import canonical
from envdoctor.records import dataclass
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.package_index import Indexes
from envdoctor.world.torch_builds import other_variants, torch_beside

WITHOUT_INDEX = "build-label-without-its-index"

_NAMES = frozenset(("torch", "torchvision", "torchaudio", "torchtext", "torchdata"))
_PIN = re.compile(r"===?\s*[0-9][^+,*]*\+(cpu|cu[0-9]{2,3}|rocm[0-9.]+|xpu)", re.ASCII)
_PUBLIC = ("pypi.org", "pypi.python.org")
# The folder of one kind of build; torch_stable.html and the root have all of them.
_OF_ONE_KIND = re.compile(r"/whl/(?:test/)?(cpu|cu[0-9]{2,3}|rocm[0-9.]+|xpu)(?:/|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One line that names a build by its label, and where it stands."""

    requirement: Requirement
    file: str
    line: int

    @property
    def label(self) -> str:
        found = _PIN.fullmatch(str(self.requirement.specifier))
        return "" if found is None else found[1]


def is_labelled(requirement: Requirement) -> bool:
    """Whether a requirement pins a build by its label; of a build that was never made, no index is the cause."""
    specifier = str(requirement.specifier)
    if canonical(requirement.name) not in _NAMES or _PIN.fullmatch(specifier) is None:
        return False
    torch = torch_beside(canonical(requirement.name), specifier.lstrip("= "))
    return not torch or not other_variants(torch)


def say_without_index(lines: Iterable[Labelled], indexes: Indexes, declarations: Declarations) -> None:
    """Tell of the first line whose build no index of the files can have: one cause, and an installer ends at it."""
    if indexes.none:
        return
    urls = [url for url, _ in filter(None, (indexes.only, *indexes.more))]
    for one in lines:
        if all(_lacks(url, one.label) for url in urls):
            told = f"{one.requirement} is a build that the package index does not have"
            beside = f", and {_shown(urls)} has builds of another kind" if urls else " and no line names PyTorch's index"
            advice = f"put `--extra-index-url https://download.pytorch.org/whl/{one.label}` into the file"
            declarations.defect(WITHOUT_INDEX, told + beside, one.file, one.line, (canonical(one.requirement.name),), advice)
            return


def _lacks(url: str, label: str) -> bool:
    """Whether an index is known to have no build with the label."""
    try:
        host, path = urlsplit(url).hostname or "", urlsplit(url).path
    except ValueError:
        return False
    if host in _PUBLIC:
        return True
    kind = _OF_ONE_KIND.search(path) if host in ("download.pytorch.org", "download-r2.pytorch.org") else None
    return kind is not None and kind[1] != label


def _shown(urls: list[str]) -> str:
    return next((url for url in urls if (urlsplit(url).hostname or "") not in _PUBLIC), urls[0])
