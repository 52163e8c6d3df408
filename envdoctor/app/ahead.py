"""Many scripts, read by two processes: half of them by a copy of this one, which ends with it and leaves what it read in a file.

Where a system has no such copies, or the copy is lost, this process reads them all: nothing but time depends on it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.scripts.kept import collect_script, read_before, rows_of, told_by
from envdoctor.sources.scripts.trees import taker

if TYPE_CHECKING:
    from envdoctor.facts.fact import Collected
    from envdoctor.world.installation import Installation

# Below this one process is done before a second has paid for itself.
_LEAST_BYTES = 2 * 2**20
_CODE = (".py", ".ipynb")
# Of each file how much the copy has written; nothing of one that cannot be read: it is read again where that is told.
_ROW = 8


@contextmanager
def reading_ahead(texts: Sequence[str], installation: Installation | None) -> Iterator[None]:
    """Have every other script among these files read by a second process, where they are many."""
    sizes = {str(Path(text)): size for text in texts if text.endswith(_CODE) and (size := _size(text))}
    share = _share(sizes) if sum(sizes.values()) >= _LEAST_BYTES and _has_room() else []
    copy = _Copy.of_this(share, installation) if share else None
    if copy is None:
        yield
        return
    try:
        with read_before(copy.told):
            yield
    finally:
        copy.end()


def _size(text: str) -> int:
    try:
        return os.path.getsize(text)
    except (OSError, ValueError):
        return 0


def _share(sizes: dict[str, int]) -> list[str]:
    """Half of the files by their size, such that both halves are gone through at one pace."""
    own = others = 0
    share = []
    for text, size in sizes.items():
        if own <= others:
            own += size
        else:
            others += size
            share.append(text)
    return share


def _has_room() -> bool:
    """Whether there is a second core, and a copy of this process has all that it needs: of several threads it would have one."""
    threading = sys.modules.get("threading")
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return hasattr(os, "fork") and cores > 1 and (threading is None or threading.active_count() == 1)


class _Copy:
    """What the second process has read, in the order of its files."""

    def __init__(self, files: Sequence[str], process: int, rows: int, content: IO[bytes]) -> None:
        self._left = list(reversed(files))
        self._wanted = frozenset(files)
        self._process, self._rows, self._content = process, rows, content
        self._read: dict[str, tuple[int, int]] = {}
        self._place = 0

    @classmethod
    def of_this(cls, files: Sequence[str], installation: Installation | None) -> _Copy | None:
        """Begin; None where the system refuses another process."""
        import tempfile

        try:
            content = tempfile.TemporaryFile()  # noqa: SIM115 - both processes have it open
            ours, theirs = os.pipe()
        except OSError:
            return None
        try:
            process = os.fork()
        except OSError:
            os.close(ours)
            os.close(theirs)
            content.close()
            return None
        if process == 0:
            # With the other end closed here, a row that nobody is there to read any more ends this process.
            os.close(ours)
            try:
                _read_all(files, installation, theirs, content)
            finally:
                os._exit(0)
        os.close(theirs)
        return cls(files, process, ours, content)

    def told(self, path: Path) -> Collected | None:
        """What a script says; None where it is to be read."""
        text = str(path)
        if text not in self._wanted:
            return None
        while text not in self._read and self._left:
            row = os.read(self._rows, _ROW)
            if len(row) < _ROW:
                self._left.clear()
                break
            size = int.from_bytes(row, "little")
            self._read[self._left.pop()] = self._place, size
            self._place += size
        place, size = self._read.pop(text, (0, 0))
        if not size:
            return None
        found, shown = json.loads(os.pread(self._content.fileno(), size, place))
        take = taker()
        if take is not None and shown is not None:
            take.put(text, shown)
        return told_by(found)

    def end(self) -> None:
        """Let go of the copy, whether it is done or not."""
        os.close(self._rows)
        self._content.close()
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)


def _read_all(files: Sequence[str], installation: Installation | None, progress: int, content: IO[bytes]) -> None:
    take = taker()
    place = 0
    for text in files:
        try:
            rows = rows_of(collect_script(Path(text), installation))
            data = b"" if rows is None else json.dumps((rows, None if take is None else take.give(text))).encode()
        except (EnvdoctorError, RecursionError, MemoryError):
            data = b""
        if os.pwrite(content.fileno(), data, place) < len(data):
            return
        place += len(data)
        os.write(progress, len(data).to_bytes(_ROW, "little"))
