"""Which torch the compiled part of a release is for, where metadata does not say: a table, and what wheels have in their labels."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

from envdoctor.records import dataclass
from envdoctor.world.releases import release_texts

_TABLE = Path(__file__).parent.parent / "data" / "built_for_torch.json"
# torch-scatter 2.1.1+pt20cu118, flash-attn 2.5.8+cu122torch2.2cxx11abifalse, natten 0.17.1+torch240cu121.
_LABEL = re.compile(r"(?:^|[^a-z])(?:pt|torch)_?([0-9]+(?:\.[0-9]+)*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class BuiltFor:
    """Some releases of a package, the torch that their compiled part is for, as a condition and in words, and where that stands.

    ``fails``: the package does not load with another one. Else what is compiled goes unused, or fails where it is used.
    """

    releases: str
    torch: str
    words: str
    fails: bool
    source: str


@lru_cache(maxsize=1)
def packages() -> frozenset[str]:
    """The packages that the table has."""
    return frozenset(_rows())


def built_for(package: str) -> tuple[BuiltFor, ...]:
    """What the table says of a package, by its normalised name."""
    return _rows().get(package, ())


def minors_in_label(label: str) -> tuple[tuple[int, int], ...]:
    """The first two numbers of the torch that the label of a build names, in all ways in which it can be read; empty where it names none.

    ``pt113`` is 1.13 and ``torch200`` 2.0.0; ``pt210`` may be either of 2.10 and 2.1.0.
    """
    found = _LABEL.search(label.lower())
    if found is None:
        return ()
    first, *others = found[1].split(".")
    if others:
        return ((int(first), int(others[0])),)
    read = [(first[0], first[1:]), *([(first[0], first[1:-1])] if len(first) > 2 else [])]
    return tuple((int(major), int(minor)) for major, minor in read if minor and _exists(f"{major}.{minor}."))


def _exists(start: str) -> bool:
    return any(release.startswith(start) for release in release_texts("torch"))


@lru_cache(maxsize=1)
def _rows() -> dict[str, tuple[BuiltFor, ...]]:
    table = json.loads(_TABLE.read_bytes())
    return {
        name: tuple(
            BuiltFor(releases, torch, words, (harm or [told["harm"]])[0] == "fails", table["sources"][told["sources"][0]]["url"])
            for releases, torch, words, *harm in told["rows"]
        )
        for name, told in table["packages"].items()
    }


__all__ = ["BuiltFor", "built_for", "minors_in_label", "packages"]
