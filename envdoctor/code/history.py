"""Which releases of transformers had which member: a bundled table made from released wheels (scripts/refresh_surface.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from envdoctor.records import dataclass

_FILE = Path(__file__).parent.parent / "data" / "library_surface.json"


@dataclass(frozen=True, slots=True)
class History:
    """Members by surface (``model``, ``tokenizer``, ``config``, ``cache``, or ``module transformers.utils``).

    Each says in which ``releases`` it is, by position: ``-`` in all, ``3-`` from the fourth on, ``-7`` up to the eighth,
    ``3-7 9-9`` in two stretches.
    """

    releases: tuple[str, ...]
    texts: Mapping[str, Mapping[str, str]]

    def ever(self, surface: str, name: str) -> bool:
        """Whether any known release had it."""
        return name in self.texts.get(surface, {})

    def stretches(self, surface: str, name: str) -> tuple[tuple[int, int], ...]:
        """First and last position of every stretch of releases that had it; nothing for a name that none had."""
        text = self.texts.get(surface, {}).get(name)
        return () if text is None else _stretches(text, len(self.releases))

    def members(self, surface: str, release: str) -> frozenset[str]:
        """All that a known release has."""
        return frozenset(name for name in self.texts.get(surface, {}) if self.had(surface, name, release))

    def place(self, release: str) -> int | None:
        """The position of a release; None where the table lacks it."""
        return self.releases.index(release) if release in self.releases else None

    def had(self, surface: str, name: str, release: str) -> bool | None:
        """Whether a release has it; None for a release, a surface or a kind of name that the table does not keep."""
        place = self.place(release)
        if place is None or surface not in self.texts or (surface == "module transformers" and MODEL_NAME.search(name)):
            return None
        return any(first <= place <= last for first, last in self.stretches(surface, name))

    def words(self, surface: str, name: str) -> str:
        """``transformers 4.30.2 to 4.48.3 have it``; empty where no known release has it."""
        parts = [self._stretch(first, last) for first, last in self.stretches(surface, name)]
        single = len(parts) == 1 and parts[0] in self.releases
        return f"transformers {' and '.join(parts)} {'has' if single else 'have'} it" if parts else ""

    def _stretch(self, first: int, last: int) -> str:
        start, end = self.releases[first], self.releases[last]
        if first == last:
            return start
        return f"up to {end}" if first == 0 else f"from {start} on" if last == len(self.releases) - 1 else f"{start} to {end}"

    def pins(self, surface: str, name: str, installed: str) -> tuple[tuple[str, str], ...]:
        """Requirements of transformers under which the name is there, the nearest to the installed release first."""
        # Only a finding asks; packaging takes long to import.
        from packaging.version import InvalidVersion, Version

        try:
            now = Version(installed)
        except InvalidVersion:
            return ()
        found = []
        for first, last in self.stretches(surface, name):
            above = Version(self.releases[first]) > now
            parts = [f">={self.releases[first]}"] if first else []
            parts += [f"<={self.releases[last]}"] if last < len(self.releases) - 1 else []
            found.append((above, -last if not above else first, ",".join(parts)))
        return tuple(("transformers", specifier) for _, _, specifier in sorted(found))


# Names of models at the top of transformers come and go by the hundred, and are not kept.
MODEL_NAME = re.compile(
    r"[a-z0-9](?:Model|For[A-Z]\w+|Config|Tokenizer|TokenizerFast|Processor|FeatureExtractor|Pipeline)$|_ARCHIVE_(?:MAP|LIST)$|^[a-z0-9_]*[a-z0-9]$"
)
EMPTY = History(("0",), {})


@cache
def load_history(path: Path = _FILE) -> History:
    """The bundled table."""
    data = json.loads(path.read_bytes())
    return History(tuple(data["releases"]), data["surfaces"])


def _stretches(text: str, count: int) -> tuple[tuple[int, int], ...]:
    found = []
    for part in text.split(" "):
        first, _, last = part.partition("-")
        found.append((int(first or 0), int(last) if last else count - 1))
    return tuple(found)
