"""Which releases a situation's code is judged by: those of the atlas, and what is installed and is none of them, from its own source."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, places
from envdoctor.facts.fact import Skip
from envdoctor.files.kept import Seen
from envdoctor.files.paths import is_file

if TYPE_CHECKING:
    from envdoctor.atlas.binding import Bound
    from envdoctor.atlas.layered import Layered
    from envdoctor.sources.machine.interpreter import Installed
    from envdoctor.sources.machine.site_packages import Distribution

_SMALL = 1 << 20
_MAPPING = re.compile(r"^MAPPING(?:: [^=\n]+)? = (\{[^\n]*\})", re.MULTILINE)
_MOST_NAMED = 3


class Opener:
    """Opens packages for a stack; what is installed and was not read before is read from its source, as far as it is asked for."""

    def __init__(self, stack: Stack, installed: Installed | None) -> None:
        self.seen = Seen()
        """The installed files that were asked for, and by which it is told whether they were edited."""
        self._stack = stack
        self._installed = installed
        self._found: dict[str, Bound | None] = {}
        self._layered: dict[str, tuple[Layered, str]] = {}

    def __call__(self, name: str) -> Bound | None:
        if name not in self._found:
            self._found[name] = self._open(name)
        return self._found[name]

    def _open(self, name: str) -> Bound | None:
        below = open_package(name)
        one = self._distribution(name)
        if below is None or one is None or one.version is None:
            return below
        from envdoctor.atlas.installed import Source
        from envdoctor.atlas.layered import Layered

        why = self._why_whole(one, below)
        public = one.version.partition("+")[0] if one.version not in below.volume.places else one.version
        mapped = self._mapped(one) if one.editable else {}
        source = Source(name, [str(place) for place in self._roots(one)], mapped, _record(one), self.seen)
        found = Layered(below, public, source, whole=bool(why))
        self._layered[name] = found, why
        return found

    def _distribution(self, name: str) -> Distribution | None:
        """What is installed by a name, where the stack has this very release of it."""
        for one in () if self._installed is None else self._installed.distributions:
            if one.name == name:
                return one if one.version == self._stack.releases.get(name) else None
        return None

    def _roots(self, one: Distribution) -> list[Path]:
        own = [] if one.editable else [one.path.parent]
        return [*own, *(place for place in (() if self._installed is None else self._installed.site_dirs) if place not in own)]

    def told(self) -> tuple[str, ...]:
        """What was read, in sentences."""
        notes = []
        for name, (bound, why) in self._layered.items():
            files = bound.source.read
            if not files:
                continue
            shown = ", ".join(_short(file) for file in files[:_MOST_NAMED]) + (
                f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
            )
            notes.append(f"{name} {self._stack.releases[name]} ({why or 'edited after it was installed'}): read from its source: {shown}")
        return tuple(notes)

    def unread(self) -> tuple[Skip, ...]:
        """The releases of which nothing is known, and that were asked for."""
        skips = []
        for name, bound in self._found.items():
            release = self._stack.releases.get(name, "")
            if bound is not None and release and name not in self._layered and not places(bound.volume, release):
                skips.append(Skip(f"{name} {release}", say_unread(bound, release)))
        return tuple(skips)

    def identity(self) -> tuple[str, ...]:
        """What is installed of the stack, and where: with what was ``seen`` of it, all that its answers depend on."""
        if self._installed is None:
            return ()
        told = {one.name: f"{one.name} {one.version} {one.path} {one.editable}" for one in self._installed.distributions}
        sites = [str(place) for place in self._installed.site_dirs]
        return (*(told[name] for name in sorted(self._stack.releases) if name in told), *sites)

    def _why_whole(self, one: Distribution, below: Bound) -> str:
        """Why all of a distribution is read from its source; nothing where the atlas has read what is installed."""
        assert one.version is not None
        if one.editable:
            return "an editable install"
        self.seen.file(str(one.path / "direct_url.json"))
        if _is_from_elsewhere(one):
            return "installed from a URL or a folder"
        volume = below.volume
        if one.version.partition("+")[0] in volume.places:
            return ""
        return f"newer than {volume.releases[-1]}" if not places(volume, one.version) else "not in the atlas"

    def _mapped(self, one: Distribution) -> dict[str, str]:
        """The folders that the finder of an editable install maps top-level names to."""
        import ast

        found: dict[str, str] = {}
        self.seen.file(str(one.path.parent))
        for path in sorted(one.path.parent.glob(f"__editable___{one.name.replace('-', '_')}_*finder.py"))[:_MOST_NAMED]:
            self.seen.file(str(path))
            try:
                match = _MAPPING.search(path.read_text(encoding="utf-8", errors="replace")[:_SMALL])
                table = ast.literal_eval(match[1]) if match else {}
            except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            found.update({key: os.path.abspath(value) for key, value in table.items() if isinstance(key, str) and isinstance(value, str)})
        return found

    def save(self) -> None:
        """Keep what was read for the next run."""
        for bound, _ in self._layered.values():
            bound.source.save()


def say_unread(bound: Bound, release: str) -> str:
    """Why nothing is known of a release, and by which it is judged all the same."""
    volume = bound.volume
    where = places(volume, release)
    by = " and ".join(volume.releases[place] for place in where)
    told = f"judged by {by}{', where they agree' if len(where) > 1 else ''}" if by else "what is taken from it is not judged"
    return f"the atlas has not read this release (its newest is {volume.releases[-1]}); {told}"


def _is_from_elsewhere(one: Distribution) -> bool:
    import json

    try:
        text = (one.path / "direct_url.json").read_bytes()[:_SMALL]
        told = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and ("vcs_info" in told or "dir_info" in told)


def _record(one: Distribution) -> Path | None:
    path = one.path / "RECORD"
    return path if is_file(path) else None


def _short(file: str) -> str:
    parts = Path(file).parts
    start = max(
        (place + 1 for place, part in enumerate(parts) if part in ("site-packages", "dist-packages", "src")), default=max(len(parts) - 3, 0)
    )
    return "/".join(parts[start:])
