"""Every file of a model directory, found without reading any."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.hashing.digest import identity
from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import blob_places

LOCK_NAME = "envdoctor.lock"
MOST_FILES = 20_000
_MOST_SEEN = 5 * MOST_FILES
_IGNORED = (".git", ".cache/huggingface")


@dataclass(frozen=True, slots=True)
class Entry:
    """One regular file: its name relative to the directory with ``/``, where it really lies, and its size in bytes.

    ``blob`` is the name of the hub cache's blob that a link leads to: the digest that was promised for it.
    """

    name: str
    real: str
    size: int
    stat: os.stat_result
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What lies below a directory. ``entries`` are in the order of their names.

    ``left_out`` says by name why something is no entry; ``dangling`` names the links that lead to nothing. Where there were
    more than MOST_FILES files the rest was not looked at: then ``whole`` is False and a name that is no entry may yet exist. ``lost`` are
    directories among what was left out that could not be looked into.
    """

    path: Path
    root: str
    entries: tuple[Entry, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    dangling: tuple[str, ...] = ()
    whole: bool = True
    lost: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)

    @property
    def skips(self) -> tuple[Skip, ...]:
        return tuple(Skip(self.place(name), why, name in self.lost) for name, why in sorted(self.left_out.items()))

    def place(self, name: str) -> str:
        """A file's path as the user would write it."""
        return plain(str(self.path / name), 4096)


def inventory(path: Path, *, without: Path | None = None) -> Inventory:
    """The files below a directory, but for the lock, ``without``, and what `hf` leaves out as well: ``.git`` and ``.cache/huggingface``.

    A link is followed to a file inside the directory and, in a hub cache, into its blobs
    (https://huggingface.co/docs/huggingface_hub/guides/manage-cache); no link to a directory is, so that there are no loops.

    Raises:
        EnvdoctorError: no directory that can be listed.
    """
    root = str(real_path(path))
    excluded = {os.path.join(root, LOCK_NAME)}
    if without is not None:
        excluded.add(os.path.join(str(real_path(without.parent)), without.name))
    walk = _Walk(root, excluded, blob_places(root))
    try:
        walk.run()
    except OSError as error:
        raise EnvdoctorError(
            plain(str(path), 4096),
            found=error.strerror or type(error).__name__,
            expected="a model directory that can be listed",
            next_step="check the path",
        ) from None
    entries = tuple(sorted(walk.entries, key=lambda entry: entry.name))
    return Inventory(path, root, entries, walk.left_out, tuple(sorted(walk.dangling)), walk.whole, frozenset(walk.lost))


def moved(inventory: Inventory) -> dict[str, str]:
    """Why a file is no longer the one that was listed, by name: it was written, replaced or removed since."""
    found = {}
    for entry in inventory.entries:
        try:
            if identity(os.lstat(entry.real)) != identity(entry.stat):
                found[entry.name] = "it was written or replaced while the directory was read"
        except OSError as error:
            found[entry.name] = error.strerror or type(error).__name__
    return found


def hub_repository(root: str) -> str | None:
    """The folder of the repository in a hub cache that a real path lies in: the one with ``blobs``, ``snapshots`` and ``refs``."""
    head, found, _ = root.rpartition(f"{os.sep}snapshots{os.sep}")
    return head if found and os.path.basename(head).startswith("models--") else None


@dataclass(slots=True)
class _Walk:
    root: str
    excluded: set[str]
    blobs: tuple[str, ...]
    entries: list[Entry] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    dangling: list[str] = field(default_factory=list)
    whole: bool = True
    seen: int = 0

    def run(self) -> None:
        stack = [("", self.root)]
        while stack:
            prefix, directory = stack.pop()
            try:
                found = list(self._scan(directory))
            except OSError as error:
                if not prefix:
                    raise
                self._leave_out(_text(prefix[:-1]), error.strerror or type(error).__name__)
                self.lost.add(_text(prefix[:-1]))
                continue
            for item in found:
                name = prefix + item.name
                if _ignored(name):
                    continue
                if item.is_dir(follow_symlinks=False):
                    stack.append((f"{name}/", item.path))
                elif item.path not in self.excluded:
                    self._take(name, item)
            if not self.whole:
                self._leave_out("…", f"more than {MOST_FILES} files: the rest was not looked at")
                return

    def _scan(self, directory: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(directory) as items:
            for item in items:
                self.seen += 1
                if self.seen > _MOST_SEEN:
                    self.whole = False
                    return
                yield item

    def _leave_out(self, name: str, why: str) -> None:
        self.left_out[name] = plain(why)

    def _take(self, name: str, item: os.DirEntry[str]) -> None:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            self._leave_out(_text(name), "a name that is no UTF-8")
            return
        blob = None
        real = item.path
        try:
            status = item.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                real = os.path.realpath(item.path, strict=True)
                if not real.startswith((self.root + os.sep, *self.blobs)):
                    self._leave_out(name, f"a link that leaves the directory, to {real}")
                    return
                blob = self._blob_of(item.path)
                status = os.stat(real)
        except FileNotFoundError:
            if item.is_symlink():
                self.dangling.append(name)
            return
        except OSError as error:
            self._leave_out(name, error.strerror or type(error).__name__)
            return
        if stat.S_ISREG(status.st_mode) and len(self.entries) >= MOST_FILES:
            self.whole = False
        elif stat.S_ISREG(status.st_mode):
            self.entries.append(Entry(name, real, status.st_size, status, blob))
        else:
            self._leave_out(name, "a link to a directory: not followed" if stat.S_ISDIR(status.st_mode) else "not a regular file")

    def _blob_of(self, link: str) -> str | None:
        """The blob's own name: a blob may in turn be a link into a store that repositories share."""
        target = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
        folder, name = os.path.split(target)
        return name if self.blobs and folder + os.sep == self.blobs[0] else None


def _text(name: str) -> str:
    """The name as a text that can be written: bytes that are no UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _ignored(name: str) -> bool:
    return any(name == one or name.endswith(f"/{one}") for one in _IGNORED)
