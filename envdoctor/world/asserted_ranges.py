"""Which releases of others a package admits when it is imported, where an assert of its own says so and no metadata does."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

_TABLE = Path(__file__).parent.parent / "data" / "asserted_at_import.json"
# The packages that bring a module, where they are called otherwise or are several.
_BRINGS = {"mmcv": ("mmcv", "mmcv-full", "mmcv-lite"), "mmseg": ("mmsegmentation",)}


def asserted_ranges(name: str, release: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The companions that a release compares, each by all names of its package, with the range that is admitted."""
    return tuple((_BRINGS.get(module, (module,)), told) for module, told in _packages().get(name, {}).get(release, {}).items())


def asserting_packages() -> frozenset[str]:
    """The packages that compare."""
    return frozenset(_packages())


def releases_that_admit(name: str, companion: str) -> dict[str, str]:
    """What each release of a package admits of a companion; those that do not compare it are left out."""
    return {release: told for release in _packages().get(name, {}) for names, told in asserted_ranges(name, release) if companion in names}


@lru_cache(maxsize=1)
def _packages() -> dict[str, dict[str, dict[str, str]]]:
    table = json.loads(_TABLE.read_bytes())
    return {name: {release: told for told, releases in rows for release in releases.split()} for name, rows in table["packages"].items()}


__all__ = ["asserted_ranges", "asserting_packages", "releases_that_admit"]
