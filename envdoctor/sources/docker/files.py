"""Which file of the build context lies where in an image, as far as COPY, ADD and mounts tell."""

from __future__ import annotations

import os.path
import posixpath
from fnmatch import fnmatchcase
from pathlib import Path

from envdoctor.files.paths import exists, real_path
from envdoctor.records import dataclass, field
from envdoctor.sources.declared.variant import Variant
from envdoctor.sources.shell.marks import is_known, shown
from envdoctor.sources.shell.text import Heredoc

_MOST_COPIES = 2000
_MOST_PARENTS = 4
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Copied:
    """One source of a COPY or ADD, or of a mount. ``origin`` is None for the build context, else another stage's files, or a name."""

    source: str
    target: str
    into: bool
    origin: Files | str | None = None


@dataclass(slots=True)
class Files:
    """What a stage was given, in order; ``altered`` are files that commands made or changed, and how.

    ``missing`` and ``read`` are shared with the stages built from it: paths that were needed, and what files were read as.
    """

    context: Path
    copied: list[Copied] = field(default_factory=list)
    inline: dict[str, Heredoc] = field(default_factory=dict)
    altered: dict[str, str] = field(default_factory=dict)
    elsewhere: str = ""
    missing: list[tuple[str, ...]] = field(default_factory=list)
    read: dict[tuple[object, ...], tuple[Variant, ...]] = field(default_factory=dict)

    def copy(self) -> Files:
        return Files(self.context, list(self.copied), dict(self.inline), dict(self.altered), self.elsewhere, self.missing, self.read)

    def add(self, sources: list[str], target: str, origin: Files | str | None = None) -> None:
        """Copy to an absolute path; one that ends in a slash, or takes several sources, is a directory."""
        for source in sources[: max(_MOST_COPIES - len(self.copied), 0)]:
            into = target.endswith("/") or len(sources) > 1 or not _WILD.isdisjoint(source)
            self.copied.append(Copied(source, posixpath.normpath(target), into, origin))

    def alter(self, path: str, how: str) -> None:
        self.altered[path] = how

    def find(self, path: str) -> Path | Heredoc | str:
        """The file that lies at an absolute path of the image: in the build context, or in the Dockerfile; else why nobody knows."""
        if not is_known(path):
            return f"{shown(path)}: where it lies is not known"
        path = posixpath.normpath(path)
        if path in self.altered:
            return f"{path} is {self.altered[path]}"
        if path in self.inline:
            return self.inline[path]
        for copied in reversed(self.copied):
            found = self._through(copied, path)
            if found is not None:
                return found
        known = self.relatives(path)
        if known:
            return f"{known[0]} is not in the build context{self.elsewhere}"
        return f"{path} is not copied from the build context{self.elsewhere}"

    def relatives(self, path: str) -> list[str]:
        """Where in the build context a path of the image would lie, by each COPY that covers it, the last first."""
        found: list[str] = []
        for copied in reversed(self.copied):
            inside = _inside(copied, path)
            if inside is None or copied.origin is not None or not is_known(copied.source) or not _WILD.isdisjoint(copied.source):
                continue
            source = posixpath.normpath("/" + copied.source).lstrip("/")
            if inside and inside != posixpath.basename(source) and os.path.isfile(self.context / source):
                continue
            found.append(source if not inside or inside == posixpath.basename(source) else posixpath.join(source, inside))
        return list(dict.fromkeys(found))

    def miss(self, *paths: str) -> None:
        """Say that one of several paths is needed and was found nowhere."""
        wanted = tuple(relative for path in paths if is_known(path) and path not in self.altered for relative in self.relatives(path))
        if wanted and len(self.missing) < _MOST_COPIES:
            self.missing.append(wanted)

    def _through(self, copied: Copied, path: str) -> Path | Heredoc | str | None:
        inside = _inside(copied, path)
        if inside is None:
            return None
        if isinstance(copied.origin, Files):
            name = posixpath.basename(copied.source)
            places = [posixpath.join(copied.source, inside)] if inside else [copied.source]
            places += [copied.source] if inside == name else []
            found = [copied.origin.find(posixpath.join("/", place)) for place in places]
            return next((one for one in found if not isinstance(one, str)), None)
        if copied.origin is not None:
            return None
        return self._in_context(copied.source, inside, into=copied.into)

    def _in_context(self, source: str, inside: str, *, into: bool) -> Path | None:
        relative = posixpath.normpath("/" + source).lstrip("/")
        if not _WILD.isdisjoint(relative):
            first, _, rest = inside.partition("/")
            candidate = posixpath.join(posixpath.dirname(relative), first)
            if rest or not first or not fnmatchcase(candidate, relative):
                return None
            return self._existing(candidate)
        here = self.context / relative
        if os.path.isdir(here):  # not Path.is_dir, which raises where a name is too long
            return self._existing(posixpath.join(relative, inside)) if inside else here
        if not inside:
            return None if into else self._existing(relative)
        return self._existing(relative) if inside == posixpath.basename(relative) else None

    def _existing(self, relative: str) -> Path | None:
        """A file or directory of the context; what a link leads out of it is none."""
        path = self.context / relative
        try:
            inside = real_path(path).is_relative_to(real_path(self.context))
            return path if inside and exists(path) else None
        except (OSError, RuntimeError, ValueError):
            return None


def _inside(copied: Copied, path: str) -> str | None:
    """What of a path lies below the target of a copy: nothing for the target itself; None where it does not lie there."""
    if not is_known(copied.source) or not is_known(copied.target):
        return None
    inside = path.removeprefix(copied.target.rstrip("/") + "/") if path != copied.target else ""
    return None if inside == path else inside


def context_of(dockerfile: Path, sources: list[str], missing: list[tuple[str, ...]]) -> Path:
    """The build context: the nearest directory, from the Dockerfile's own upward, that has what the image is made of.

    ``docker build -f docker/Dockerfile .`` is common, and COPY fails where its source is missing, as pip does without its
    requirements file. ``missing`` are such needs, each with alternatives. Without such a directory it is the Dockerfile's own;
    the search ends at the root of the repository.
    """
    own = dockerfile.parent
    named = [posixpath.normpath("/" + source).lstrip("/") for source in sources if is_known(source) and _WILD.isdisjoint(source)]
    needs = [(name,) for name in named if name and "://" not in name] + missing
    if not needs:
        return own
    candidate = own
    for _ in range(_MOST_PARENTS):
        try:
            if all(any(exists(candidate / name) for name in names) for names in needs):
                return candidate
            if exists(candidate / ".git"):
                break
        except (OSError, ValueError):
            break
        candidate = Path(os.path.normpath(candidate / ".."))
    return own
