"""The files of one model directory: what may be read, and why the rest is not."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Fact, FactValue, Origin, Skip
from envdoctor.files.json_file import CONFIG_LIMIT, UnreadableError, read_bounded
from envdoctor.files.paths import real_path
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field

if TYPE_CHECKING:
    import ast


@dataclass(slots=True)
class ModelDirectory:
    """A directory as given, and everything in it that was left unread.

    ``parsed`` are syntax trees of its code that were made before, ``marks`` what they take (see class_tree).

    Files are followed through links inside the directory and, in a hub cache, into its blobs; no other link is.
    """

    path: Path
    names: frozenset[str] = field(init=False)
    skips: list[Skip] = field(init=False, default_factory=list)
    parsed: dict[str, tuple[ast.Module, str] | None] = field(init=False, default_factory=dict)
    marks: int = field(init=False, default=0)
    _real: str = field(init=False)

    def __post_init__(self) -> None:
        self._real = str(real_path(self.path))
        self.names = frozenset(os.listdir(self._real))

    def place(self, name: str) -> str:
        """A file's path as the user would write it."""
        return plain(str(self.path / name))

    def origin(self, name: str, line: int | None = None) -> Origin:
        return Origin(self.place(name), self.place(name), line)

    def fact(self, name: str, value: FactValue, file: str, line: int | None = None) -> Fact:
        return Fact(name, value, self.origin(file, line))

    def skip(self, name: str, why: str, *, lost: bool = False) -> None:
        self.skips.append(Skip(self.place(name), plain(why), lost))

    def locate(self, name: str) -> str | None:
        """The real path of a regular file that may be read; None for one that is absent, or that was skipped.

        A link to nothing counts as absent: that is how a hub cache looks when a blob was not downloaded.
        """
        joined = os.path.join(self._real, name)
        try:
            status = os.lstat(joined)
            if stat.S_ISLNK(status.st_mode):
                target = os.path.realpath(joined, strict=True)
                if not self._allowed(target):
                    self.skip(name, f"a link that leaves the directory, to {target}")
                    return None
                joined, status = target, os.stat(target)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self.skip(name, f"{getattr(error, 'strerror', None) or 'a name that no file can have'}", lost=True)
            return None
        if not stat.S_ISREG(status.st_mode):
            self.skip(name, "a directory in the place of a file" if stat.S_ISDIR(status.st_mode) else "not a regular file")
            return None
        return joined

    def _allowed(self, target: str) -> bool:
        if target.startswith(self._real + os.sep):
            return True
        return target.startswith(blob_places(self._real))

    def hub_identity(self) -> tuple[str, str] | None:
        """Repository and commit, where the directory is a snapshot in a hub cache."""
        head, found, commit = self._real.rpartition(f"{os.sep}snapshots{os.sep}")
        folder = os.path.basename(head)
        if not found or not folder.startswith("models--") or os.sep in commit:
            return None
        return folder.removeprefix("models--").replace("--", "/"), commit

    def read(self, name: str, limit: int = CONFIG_LIMIT) -> bytes | None:
        """The bytes of a file, or None where there is none or it was skipped."""
        path = self.locate(name)
        if path is None:
            return None
        try:
            return read_bounded(path, limit)
        except UnreadableError as error:
            self.skip(name, str(error), lost=True)
            return None


def blob_places(root: str) -> tuple[str, ...]:
    """Where the links of a hub cache may lead: the blobs of the repository, and those that repositories of one cache share."""
    head, found, _ = root.rpartition(f"{os.sep}snapshots{os.sep}")
    if not found:
        return ()
    return (os.path.join(head, "blobs") + os.sep, os.path.join(os.path.dirname(head), "blobs") + os.sep)


def is_lfs_pointer(data: bytes) -> bool:
    """Whether bytes are the text that git leaves where a large file was not fetched.

    https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
    """
    return data.startswith((b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"))


def pointer_size(data: bytes) -> int | None:
    """The size in bytes of the file that a git-lfs pointer stands for."""
    for line in data[:1024].split(b"\n"):
        if line.startswith(b"size ") and line[5:].isdigit():
            return int(line[5:][:20])
    return None
